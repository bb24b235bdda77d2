/* SPDX-License-Identifier: BSD-3-Clause */

/* A thread loads the library, migrates with it and ends; the library is closed, and only then is
 * the communicator freed that the library has attached what it keeps to: MPI must still find the
 * code. */

#include <valet/valet.h>

#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dlfcn.h>

enum { blocks = 50, slots = 200 };

static const char* library;
static MPI_Comm communicator;
static void* handle;

static void require(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "%s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* A function of the library; the sizes of pointers to objects and functions are the same here. */
static void find(const char* name, void* function) {
  void* const found = dlsym(handle, name);
  require(found != NULL, name);
  memcpy(function, &found, sizeof found);
}

static void* migrate(void* nothing) {
  int rank, size, destination[blocks];
  double values[slots];
  Valet_Storage* (*create)(void);
  int (*add_field)(Valet_Storage*, void*, uint64_t, size_t, ptrdiff_t, const char*);
  void (*free_storage)(Valet_Storage*);
  int (*plan_to_ranks)(MPI_Comm, const Valet_Storage*, uint64_t, const uint8_t*, const int*,
                       const Valet_Options*, Valet_Plan**);
  int (*execute)(Valet_Plan*, const Valet_Storage*, Valet_Report*);
  void (*free_plan)(Valet_Plan*);
  Valet_Storage* storage;
  Valet_Plan* plan = NULL;
  handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  require(handle != NULL, "the library is not loaded");
  find("Valet_Storage_create", &create);
  find("Valet_Storage_add_field", &add_field);
  find("Valet_Storage_free", &free_storage);
  find("Valet_Plan_to_ranks", &plan_to_ranks);
  find("Valet_Execute", &execute);
  find("Valet_Plan_free", &free_plan);
  MPI_Comm_rank(communicator, &rank);
  MPI_Comm_size(communicator, &size);
  for (int k = 0; k < blocks; ++k) {
    values[k] = 100 * rank + k;
    destination[k] = (rank + 1) % size;
  }
  storage = create();
  require(add_field(storage, values, slots, sizeof *values, sizeof *values, "x") == VALET_SUCCESS,
          "add_field");
  require(
      plan_to_ranks(communicator, storage, blocks, NULL, destination, NULL, &plan) == VALET_SUCCESS,
      "plan");
  require(execute(plan, storage, NULL) == VALET_SUCCESS, "execute");
  require(values[0] == 100 * ((rank + size - 1) % size), "a block did not arrive");
  free_plan(plan);
  free_storage(storage);
  return nothing;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  require(argc == 2, "usage: closed_plugin LIBRARY");
  library = argv[1];
  MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
  require(pthread_create(&thread, NULL, migrate, NULL) == 0, "no thread");
  pthread_join(thread, NULL);
  require(dlclose(handle) == 0, "the library is not closed");
  require(dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL,
          "the library is gone, but MPI calls it back");
  MPI_Comm_free(&communicator);
  MPI_Finalize();
  return EXIT_SUCCESS;
}
