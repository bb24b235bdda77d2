/* SPDX-License-Identifier: BSD-3-Clause */

/* Memory that ranks of a node share from C, as an application would use it: blocks that go round,
 * in memory that grows in place between plan and execution; memory that is refused, and other
 * memory. Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/valet.h>

#include <string.h>

enum { slots = 1000, row = 3 * sizeof(double) };

static int rank = 0;
static int size = 1;

static int has_words(const char* words) { return strstr(Valet_Error_message(), words) != NULL; }

static Valet_Storage* storage_of(double* x, uint64_t rows) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, x, rows, row, row, "x");
  return storage;
}

/* All to rank 0, which makes room for them. */
static void check_growing(void) {
  void* memory = NULL;
  require(Valet_Node_alloc(MPI_COMM_WORLD, slots * row, &memory) == VALET_SUCCESS, "allocation");
  double* const x = memory;
  for (int k = 0; k < 3 * slots; ++k) {
    require(x[k] == 0, "memory is not zero");
    x[k] = 1e6 * rank + k;
  }
  int ranks[slots] = {0};
  Valet_Storage* storage = storage_of(x, slots);
  Valet_Plan* plan = NULL;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, NULL, &plan) ==
              VALET_SUCCESS,
          "plan");
  Valet_Storage_free(storage);
  const uint64_t required = Valet_Plan_required_slots(plan);
  const uint64_t rows = required > slots ? required : slots;
  require(Valet_Node_resize(memory, rows * row) == VALET_SUCCESS, "resize");
  storage = storage_of(x, rows);
  require(Valet_Execute(plan, storage, NULL) == VALET_SUCCESS, "execution");
  const uint64_t count = Valet_Plan_blocks_after(plan);
  require(count == (uint64_t)(rank == 0 ? slots * size : 0), "the number of blocks");
  double sum = 0, expected = 0;
  for (uint64_t k = 0; k < 3 * count; ++k) sum += x[k];
  for (int from = 0; from < size; ++from)
    for (int k = 0; k < 3 * slots; ++k) expected += 1e6 * from + k;
  require(sum == (rank == 0 ? expected : 0), "the blocks");
  Valet_Plan_free(plan);
  Valet_Storage_free(storage);
  require(Valet_Node_resize(memory, count * row) == VALET_SUCCESS, "giving the rest back");
  require(Valet_Node_free(memory) == VALET_SUCCESS, "freeing");
  require(Valet_Node_free(memory) == VALET_INVALID_ARGUMENT && has_words("it has been freed"),
          "freeing twice");
}

static void check_errors(void) {
  const int odd = size - 1;
  void* memory = NULL;
  require(Valet_Node_alloc(MPI_COMM_WORLD, rank == odd ? SIZE_MAX / 2 : 100, &memory) ==
                  VALET_OUT_OF_MEMORY &&
              memory == NULL && has_words("the system refused a node array of"),
          "memory that there is not");
  require(Valet_Node_alloc(MPI_COMM_WORLD, 100, rank == odd ? NULL : &memory) ==
                  VALET_INVALID_ARGUMENT &&
              memory == NULL && has_words("the place for the memory"),
          "no place");
  require(Valet_Node_alloc(MPI_COMM_WORLD, 0, &memory) == VALET_SUCCESS && memory != NULL,
          "no bytes");
  require(Valet_Node_resize((char*)memory + 8, 100) == VALET_INVALID_ARGUMENT &&
              has_words("no node memory begins at this address"),
          "an address inside");
  require(
      Valet_Node_resize(memory, SIZE_MAX / 2) == VALET_OUT_OF_MEMORY && has_words("can grow to"),
      "a size that there is not");
  require(Valet_Node_free(NULL) == VALET_SUCCESS, "freeing nothing");
  require(Valet_Node_free(&memory) == VALET_INVALID_ARGUMENT, "freeing other memory");
  require(Valet_Node_free(memory) == VALET_SUCCESS, "freeing no bytes");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_growing();
  check_errors();
  MPI_Finalize();
  return failures > 0;
}
