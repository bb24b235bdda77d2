/* SPDX-License-Identifier: BSD-3-Clause */

/* Compiled for another MPI than Valet. Arguments: "mpi" uses only MPI, "core" calls Valet, to which
 * it is linked then, and "zoltan" calls Zoltan where there is one. Says what comes back. */

#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include <dlfcn.h>

#ifdef LINKED_TO_VALET
#include <valet/valet.h>

static void call_core(void) {
  int value = 7, rank = 0;
  Valet_Plan* plan = NULL;
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, &value, 1, sizeof value, sizeof value, "value");
  const int code = Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, 1, NULL, &rank, NULL, &plan);
  Valet_Storage_free(storage);
  printf("code %d: %s\n", code, Valet_Error_message());
}
#else
static void call_core(void) {}
#endif

/* Without zoltan.h, which is for one MPI. */
static void call_zoltan(void) {
  void* (*const create)(MPI_Comm) = (void* (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "Zoltan_Create");
  printf("calls Zoltan\n");
  printf(create != NULL && create(MPI_COMM_WORLD) != NULL ? "has a handle\n" : "has none\n");
}

int main(int argc, char** argv) {
  int rank = -1, sum = -1;
  const char* const what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "core") == 0) call_core();
  if (strcmp(what, "zoltan") == 0) call_zoltan();
  MPI_Finalize();
  printf("sum %d\n", sum);
  return 0;
}
