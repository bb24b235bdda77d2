/* SPDX-License-Identifier: BSD-3-Clause */

/* Arrays of C that a function enlarges where a rank gets more blocks than it has slots, blocks of
 * different sizes among them; a function that fails on one rank; blocks that are dropped; rows that
 * are arrays in any strides, in tiles, in several arrays and behind pointers. Exit code 0 only if
 * all of it is right. */

#include "require.h"
#include <valet/valet.h>

#include <stdlib.h>
#include <string.h>

enum { count = 5 };

static int rank = 0, size = 1;

/* Numbers of this rank, as they are now. */
typedef struct Numbers {
  int64_t* values;
  uint64_t slots;
  Valet_Storage* storage;
  int calls, fails;
} Numbers;

static const Valet_Storage* grown_numbers(void* data, uint64_t slots);

/* A storage of the values, which may be enlarged. */
static void describe(Numbers* numbers) {
  Valet_Storage_free(numbers->storage);
  numbers->storage = Valet_Storage_create();
  require(Valet_Storage_add_field(numbers->storage, numbers->values, numbers->slots,
                                  sizeof *numbers->values, sizeof *numbers->values,
                                  "number") == VALET_SUCCESS &&
              Valet_Storage_grow_by(numbers->storage, grown_numbers, numbers) == VALET_SUCCESS,
          "a storage that grows");
}

static const Valet_Storage* grown_numbers(void* data, uint64_t slots) {
  Numbers* const numbers = data;
  int64_t* const larger =
      numbers->fails ? NULL : realloc(numbers->values, slots * sizeof *numbers->values);
  ++numbers->calls;
  if (larger == NULL) return NULL;
  numbers->values = larger;
  numbers->slots = slots;
  describe(numbers);
  return numbers->storage;
}

static void make_numbers(Numbers* numbers) {
  memset(numbers, 0, sizeof *numbers);
  numbers->slots = count;
  numbers->values = malloc(count * sizeof *numbers->values);
  for (int k = 0; k < count; ++k) numbers->values[k] = 10 * rank + k;
  describe(numbers);
}

static void free_numbers(Numbers* numbers) {
  Valet_Storage_free(numbers->storage);
  free(numbers->values);
}

/* Moves all to the last rank. */
static int migrate(Numbers* numbers, uint64_t* blocks_after) {
  int ranks[count];
  Valet_Plan* plan = NULL;
  for (int k = 0; k < count; ++k) ranks[k] = size - 1;
  int code = Valet_Plan_to_ranks(MPI_COMM_WORLD, numbers->storage, count, NULL, ranks, NULL, &plan);
  require(code == VALET_SUCCESS, "a plan");
  *blocks_after = Valet_Plan_blocks_after(plan);
  code = Valet_Execute(plan, numbers->storage, NULL);
  Valet_Plan_free(plan);
  return code;
}

static void check_blocks(void) {
  Numbers numbers;
  make_numbers(&numbers);
  uint64_t after = 0;
  const int has_all = rank == size - 1;
  require(migrate(&numbers, &after) == VALET_SUCCESS, "a migration that grows");
  require(numbers.calls == (has_all && size > 1 ? 1 : 0), "calls on the rank that needs room");
  require(numbers.slots == (has_all ? (uint64_t)count * (uint64_t)size : count), "slots");
  int64_t sum = 0;
  for (uint64_t k = 0; k < after; ++k) sum += numbers.values[k];
  require(!has_all || sum == (int64_t)count * size * (5 * (size - 1) + 2), "the numbers");
  free_numbers(&numbers);
}

static void check_failure(void) {
  if (size == 1) return;
  Numbers numbers;
  make_numbers(&numbers);
  uint64_t after = 0;
  numbers.fails = rank == size - 1;
  require(
      migrate(&numbers, &after) == VALET_CALLBACK_FAILED &&
          strstr(Valet_Error_message(), "it returned a null pointer; nothing has moved") != NULL,
      "a function that fails");
  for (int k = 0; k < count; ++k) require(numbers.values[k] == 10 * rank + k, "untouched");
  require(Valet_Storage_grow_by(NULL, grown_numbers, NULL) == VALET_INVALID_ARGUMENT,
          "a null pointer");
  require(Valet_Storage_grow_by(numbers.storage, NULL, NULL) == VALET_SUCCESS &&
              migrate(&numbers, &after) == VALET_INFEASIBLE,
          "a storage that does not grow any more");
  free_numbers(&numbers);
}

/* An arena of 8 * (rank + 1) bytes in one block. */
typedef struct Lists {
  uint64_t *values, *lengths, blocks, bytes;
  Valet_Ragged_storage* storage;
} Lists;

static const Valet_Ragged_storage* grown_lists(void* data, uint64_t blocks, const uint64_t* bytes);

static void describe_lists(Lists* lists) {
  Valet_Ragged_storage_free(lists->storage);
  lists->storage = Valet_Ragged_storage_create();
  require(
      Valet_Ragged_storage_add_field(lists->storage, lists->values, lists->bytes, lists->lengths,
                                     lists->blocks, 8, "list") == VALET_SUCCESS &&
          Valet_Ragged_storage_grow_by(lists->storage, grown_lists, lists) == VALET_SUCCESS,
      "arenas that grow");
}

static const Valet_Ragged_storage* grown_lists(void* data, uint64_t blocks, const uint64_t* bytes) {
  Lists* const lists = data;
  lists->values = realloc(lists->values, bytes[0]);
  lists->lengths = realloc(lists->lengths, blocks * sizeof *lists->lengths);
  lists->blocks = blocks;
  lists->bytes = bytes[0];
  describe_lists(lists);
  return lists->storage;
}

static void check_lists(void) {
  const uint64_t values = (uint64_t)rank + 1, all = (uint64_t)size;
  Lists lists = {malloc(8 * values), malloc(sizeof(uint64_t)), 1, 8 * values, NULL};
  lists.lengths[0] = 8 * values;
  for (uint64_t k = 0; k < values; ++k) lists.values[k] = values;
  describe_lists(&lists);
  const int last = size - 1;
  uint64_t held = 1;
  require(Valet_Ragged_migrate(MPI_COMM_WORLD, lists.storage, &held, &last, NULL, NULL) ==
              VALET_SUCCESS,
          "lists that grow");
  if (rank == last) {
    require(held == all && lists.blocks == all && lists.bytes == 4 * all * (all + 1),
            "just the room");
    uint64_t sum = 0;
    for (uint64_t k = 0; k < lists.bytes / 8; ++k) sum += lists.values[k];
    require(sum == all * (all + 1) * (2 * all + 1) / 6, "the values");
  }
  Valet_Ragged_storage_free(lists.storage);
  free(lists.values);
  free(lists.lengths);
}

static void check_dropping(void) {
  Numbers numbers;
  make_numbers(&numbers);
  const int ranks[count] = {rank, -1, rank, -1, rank};
  Valet_Options options = Valet_Options_default();
  Valet_Report report = Valet_Report_default();
  Valet_Plan* plan = NULL;
  require(options.negative_rank == VALET_NEGATIVE_RANK_REFUSE &&
              Valet_Plan_to_ranks(MPI_COMM_WORLD, numbers.storage, count, NULL, ranks, &options,
                                  &plan) == VALET_RANK_OUT_OF_RANGE,
          "a rank below 0");
  options.negative_rank = VALET_NEGATIVE_RANK_DROP + 1;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, numbers.storage, count, NULL, ranks, &options,
                              &plan) == VALET_INVALID_ARGUMENT,
          "an unknown choice");
  options.negative_rank = VALET_NEGATIVE_RANK_DROP;
  options.order = VALET_ORDER_STABLE;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, numbers.storage, count, NULL, ranks, &options,
                              &plan) == VALET_SUCCESS &&
              Valet_Execute(plan, numbers.storage, &report) == VALET_SUCCESS,
          "blocks that are dropped");
  require(report.blocks_before == count && report.blocks_dropped == 2 && report.blocks_after == 3 &&
              numbers.values[1] == 10 * rank + 2 && numbers.values[2] == 10 * rank + 4,
          "those that are left");
  Valet_Plan_free(plan);
  free_numbers(&numbers);
}

static void move(const Valet_Storage* storage, const int* ranks, const char* what) {
  Valet_Plan* plan = NULL;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, ranks, NULL, &plan) ==
                  VALET_SUCCESS &&
              Valet_Execute(plan, storage, NULL) == VALET_SUCCESS,
          what);
  Valet_Plan_free(plan);
}

/* A member in tiles of two slots beside rows in two arrays beside a pointer for each slot. */
static void check_tiles(void) {
  struct Tile {
    int64_t numbers[2];
    double others[2];
  } tiles[(count + 1) / 2];
  int64_t first[2], others[count - 2], behind[count];
  void* const starts[] = {first, others};
  const uint64_t slots[] = {2, count - 2};
  void* pointers[count];
  int ranks[count];
  for (int k = 0; k < count; ++k) {
    ranks[k] = (rank + 1) % size;
    pointers[k] = &behind[count - 1 - k];
    tiles[k / 2].numbers[k % 2] = behind[count - 1 - k] = 10 * rank + k;
    *(k < 2 ? &first[k] : &others[k - 2]) = 10 * rank + k;
  }
  Valet_Storage* const storage = Valet_Storage_create();
  const size_t bytes = sizeof(int64_t);
  require(Valet_Storage_in_tiles(storage, 2, 8) == VALET_INVALID_ARGUMENT, "tiles of no field");
  require(Valet_Storage_add_field(storage, tiles, count, bytes, 8, "tiles") == VALET_SUCCESS &&
              Valet_Storage_in_tiles(storage, 2, sizeof(struct Tile)) == VALET_SUCCESS &&
              Valet_Storage_add_field(storage, NULL, 0, bytes, 8, "arrays") == VALET_SUCCESS &&
              Valet_Storage_in_segments(storage, 2, starts, slots) == VALET_SUCCESS &&
              Valet_Storage_add_field(storage, NULL, count, bytes, 8, "nodes") == VALET_SUCCESS &&
              Valet_Storage_by_pointers(storage, pointers) == VALET_SUCCESS,
          "a storage of tiles");
  Valet_Plan* plan = NULL;
  move(storage, ranks, "tiles that move");
  int seen = 0;
  for (int k = 0; k < count; ++k) {
    const int64_t number = tiles[k / 2].numbers[k % 2];
    seen |= 1 << number % 10;
    require(number / 10 == (rank + size - 1) % size && number == *(int64_t*)pointers[k] &&
                number == *(k < 2 ? &first[k] : &others[k - 2]),
            "a block in its tile, its array and behind its pointer");
  }
  require(seen == (1 << count) - 1, "all blocks");
  /* Even numbers, of which there are three, belong to the second array. */
  uint32_t segments[count];
  uint64_t blocks[2] = {0, 0};
  for (int k = 0; k < count; ++k) segments[k] = *(int64_t*)pointers[k] % 2 == 0;
  require(Valet_Group(storage, count, NULL, segments, 2, slots, NULL, blocks) == VALET_SUCCESS &&
              blocks[0] == 2 && blocks[1] == 3,
          "groups");
  for (int k = 0; k < count; ++k)
    require((k < 2 ? first[k] : others[k - 2]) % 2 == (k < 2), "a block in the array of its kind");
  require(
      Valet_Group(storage, count, NULL, NULL, 2, slots, NULL, blocks) == VALET_INVALID_ARGUMENT &&
          Valet_Group(storage, count, NULL, segments, 2, slots, NULL, NULL) ==
              VALET_INVALID_ARGUMENT &&
          Valet_Group(storage, count, NULL, segments, 1, slots, NULL, blocks) ==
              VALET_INVALID_ARGUMENT,
      "groups without lists or segments");
  require(Valet_Storage_in_segments(storage, 1, NULL, slots) == VALET_INVALID_ARGUMENT &&
              Valet_Storage_in_segments(storage, 1, starts, NULL) == VALET_INVALID_ARGUMENT &&
              Valet_Storage_by_pointers(NULL, pointers) == VALET_INVALID_ARGUMENT,
          "null pointers");
  require(rank > 0 || Valet_Storage_by_pointers(storage, NULL) == VALET_SUCCESS, "no pointers");
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, ranks, NULL, &plan) ==
                  VALET_INACCESSIBLE_MEMORY &&
              strstr(Valet_Error_message(), "rank 0: field 'nodes' has no memory") != NULL,
          "an error of all ranks");
  Valet_Storage_free(storage);
}

static int has_words(const char* words) { return strstr(Valet_Error_message(), words) != NULL; }

/* Rows of 2 x 3 values by columns, the other way round on odd ranks; and what is refused. */
static void check_arrays(void) {
  double values[count * 6];
  const size_t extents[] = {2, 3};
  const ptrdiff_t by_rows[] = {3 * sizeof(double), sizeof(double)},
                  by_columns[] = {sizeof(double), 2 * sizeof(double)};
  const ptrdiff_t* const strides = rank % 2 == 0 ? by_rows : by_columns;
  const size_t row = rank % 2 == 0 ? 3 : 1, column = rank % 2 == 0 ? 1 : 2;
  int ranks[count];
  for (size_t k = 0; k < count; ++k) {
    ranks[k] = (rank + 1) % size;
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j)
        values[6 * k + row * i + column * j] = 100 * rank + 10 * (double)i + (double)j;
  }
  Valet_Storage* const storage = Valet_Storage_create();
  require(Valet_Storage_add_array(storage, values, count, 6 * sizeof(double), sizeof(double), 2,
                                  extents, strides, "matrix") == VALET_SUCCESS,
          "an array of matrices");
  Valet_Plan* plan = NULL;
  move(storage, ranks, "matrices that move");
  const int from = (rank + size - 1) % size;
  for (size_t k = 0; k < count; ++k)
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j)
        require(values[6 * k + row * i + column * j] == 100 * from + 10 * (double)i + (double)j,
                "an entry of a matrix");
  require(Valet_Storage_add_array(storage, values, 1, 8, 8, 8, extents, strides, NULL) ==
                  VALET_INVALID_ARGUMENT &&
              has_words("rows of 8 dimensions; give 0 to 7"),
          "too many dimensions");
  require(Valet_Storage_add_array(storage, values, 1, 8, 8, 1, NULL, strides, NULL) ==
                  VALET_INVALID_ARGUMENT &&
              has_words("the extents is a null pointer"),
          "no extents");
  require(Valet_Storage_refuse(storage, NULL) == VALET_INVALID_ARGUMENT, "no text");
  Numbers none;
  make_numbers(&none);
  require(Valet_Storage_grow_by(storage, grown_numbers, &none) == VALET_SUCCESS, "growth");
  require(rank != size - 1 || Valet_Storage_refuse(storage, "not today") == VALET_SUCCESS,
          "a storage that is refused");
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, ranks, NULL, &plan) ==
                  VALET_INVALID_ARGUMENT &&
              has_words("not today"),
          "an error of all ranks");
  for (size_t k = 0; k < count; ++k) ranks[k] = 0;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, none.storage, count, NULL, ranks, NULL, &plan) ==
              VALET_SUCCESS,
          "a plan");
  require(Valet_Storage_refuse(none.storage, "no numbers today") == VALET_SUCCESS &&
              Valet_Execute(plan, none.storage, NULL) == VALET_INVALID_ARGUMENT &&
              has_words("no numbers today") && none.calls == 0,
          "a refusal that growth does not undo");
  Valet_Plan_free(plan);
  free_numbers(&none);
  Valet_Storage_free(storage);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_blocks();
  check_failure();
  check_lists();
  check_dropping();
  check_arrays();
  check_tiles();
  MPI_Finalize();
  return failures > 0;
}
