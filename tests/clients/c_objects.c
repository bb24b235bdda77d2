/* SPDX-License-Identifier: BSD-3-Clause */

/* Objects that functions of the application move, from C: a linked list of cells with 0 to 59
 * bytes, all of which go to the next rank; functions that are missing or fail are an error of all
 * ranks. Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/valet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most = 60 };

typedef struct Cell {
  struct Cell* next;
  uint64_t bytes;
  unsigned char values[];
} Cell;

/* The cells, and those of them that the call has numbers for. */
typedef struct Mesh {
  Cell* first;
  Cell* numbered[most];
  const char* fails;
} Mesh;

static int rank = 0;
static int size = 1;

static int fails(const Mesh* mesh, const char* function) {
  return strcmp(mesh->fails, function) == 0 ? 77 : 0;
}

static unsigned char* add_cell(Mesh* mesh, uint64_t bytes) {
  Cell* const cell = malloc(sizeof *cell + bytes);
  cell->next = mesh->first;
  cell->bytes = bytes;
  mesh->first = cell;
  return cell->values;
}

static int size_of(void* data, uint64_t object, uint64_t* bytes) {
  const Mesh* const mesh = data;
  *bytes = mesh->numbered[object]->bytes;
  return fails(mesh, "size");
}

static int pack(void* data, uint64_t object, void* packed, uint64_t bytes) {
  const Mesh* const mesh = data;
  memcpy(packed, mesh->numbered[object]->values, bytes);
  return fails(mesh, "pack");
}

static int unpack(void* data, int source, const void* packed, uint64_t bytes) {
  Mesh* const mesh = data;
  require(source == (rank + size - 1) % size, "where an object comes from");
  memcpy(add_cell(mesh, bytes), packed, bytes);
  return fails(mesh, "unpack");
}

static int left(void* data, uint64_t object) {
  Mesh* const mesh = data;
  Cell** link = &mesh->first;
  while (*link != mesh->numbered[object]) link = &(*link)->next;
  *link = (*link)->next;
  free(mesh->numbered[object]);
  return fails(mesh, "left");
}

static Valet_Object_functions all_functions(void) {
  Valet_Object_functions functions = Valet_Object_functions_default();
  functions.size = size_of;
  functions.pack = pack;
  functions.unpack = unpack;
  functions.left = left;
  return functions;
}

static void fill(Mesh* mesh) {
  for (uint64_t k = 0; k < most; ++k) {
    memset(add_cell(mesh, k), rank, k);
    mesh->numbered[k] = mesh->first;
  }
}

/* Frees them. Whether there is one of each size, all of `owner`. */
static int take(Mesh* mesh, int owner) {
  int right = 0, found[most] = {0};
  while (mesh->first != NULL) {
    Cell* const cell = mesh->first;
    int good = cell->bytes < most && ++found[cell->bytes] == 1;
    for (uint64_t k = 0; good && k < cell->bytes; ++k) good = cell->values[k] == owner;
    right += good ? 1 : -most;
    mesh->first = cell->next;
    free(cell);
  }
  return right == most;
}

static int move(Mesh* mesh, const Valet_Object_functions* functions, Valet_Report* report) {
  int ranks[most];
  for (int k = 0; k < most; ++k) ranks[k] = (rank + 1) % size;
  Valet_Options options = Valet_Options_default();
  options.budget_bytes = 1024;
  options.verify = 1;
  return Valet_Migrate_objects(MPI_COMM_WORLD, most, ranks, functions, mesh, &options, report);
}

static void move_all(void) {
  Mesh mesh = {NULL, {NULL}, "nothing"};
  const Valet_Object_functions functions = all_functions();
  Valet_Report report = Valet_Report_default();
  fill(&mesh);
  require(move(&mesh, &functions, &report) == VALET_SUCCESS, "moving");
  require(report.blocks_after == most && report.verified, "the report");
  require(report.peak_extra_bytes <= report.extra_bytes_bound, "the memory");
  require(take(&mesh, (rank + size - 1) % size), "every object is where it should be");
}

/* One rank's function fails; all are told the same. */
static void fail(const char* function) {
  Mesh mesh = {NULL, {NULL}, rank == size - 1 ? function : "nothing"};
  const Valet_Object_functions functions = all_functions();
  char text[512] = "", first[512] = "";
  if (size == 1) return;
  fill(&mesh);
  require(move(&mesh, &functions, NULL) == VALET_CALLBACK_FAILED, function);
  require(strstr(Valet_Error_message(), function) != NULL, "which one has failed");
  require(strstr(Valet_Error_message(), "returned 77") != NULL, "what it returned");
  strncpy(text, Valet_Error_message(), sizeof text - 1);
  memcpy(first, text, sizeof first);
  MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
  require(strcmp(first, text) == 0, "the same text on all ranks");
  require(take(&mesh, rank) || strcmp(function, "size") != 0, "nothing has moved");
}

/* One rank has its functions wrong, all are told. */
static void refuse(const Valet_Object_functions* wrong, const char* text) {
  Mesh mesh = {NULL, {NULL}, "nothing"};
  const Valet_Object_functions functions = all_functions();
  fill(&mesh);
  require(move(&mesh, rank == size - 1 ? wrong : &functions, NULL) == VALET_INVALID_ARGUMENT,
          "wrong functions");
  require(strstr(Valet_Error_message(), text) != NULL, text);
  require(take(&mesh, rank), "nothing has moved");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  move_all();
  fail("size");
  fail("pack");
  fail("unpack");
  fail("left");
  refuse(NULL, "null pointer");
  Valet_Object_functions wrong = all_functions();
  wrong.unpack = NULL;
  refuse(&wrong, "size, pack and unpack");
  wrong = all_functions();
  wrong.struct_size = 3;
  refuse(&wrong, "struct_size");
  int all_failures = 0;
  MPI_Allreduce(&failures, &all_failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  return all_failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
