/* SPDX-License-Identifier: BSD-3-Clause */

/* Two groups of ranks that pass arrays and blocks to each other from C, as two applications would:
 * in layouts that the other side does not know, there and back, and what one side or one rank alone
 * has wrong. Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/valet.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { rows = 12, columns = 10, objects = 20, most = 64 };

static int rank = 0, size = 1;
static int is_first, own_rank, own_ranks, other_ranks;
static MPI_Comm between;
static Valet_Junction* junction;
static int calls = 0; /* of watch() */

static void watch(const Valet_Progress* progress, void* data) {
  require(data == &calls && progress->blocks_done <= progress->blocks_total, "progress");
  ++calls;
}

/* The first `count` ranks are one side. */
static void split(int count) {
  MPI_Comm own;
  is_first = rank < count;
  MPI_Comm_split(MPI_COMM_WORLD, is_first ? 0 : 1, 0, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_first ? count : 0, 7, &between);
  MPI_Comm_rank(own, &own_rank);
  MPI_Comm_size(own, &own_ranks);
  MPI_Comm_free(&own);
  other_ranks = size - own_ranks;
}

/* The matrix of a side: the first one has blocks of 3 rows, the other one single columns. */
static const int64_t extents[] = {rows, columns};
static const int64_t row_blocks[] = {3, columns}, single_columns[] = {rows, 1};
static int grid[2];

static Valet_Layout own_layout(void) {
  grid[0] = is_first ? own_ranks : 1;
  grid[1] = is_first ? 1 : own_ranks;
  const Valet_Layout layout = {
      2, extents, is_first ? row_blocks : single_columns, grid, VALET_ROW_MAJOR, NULL, NULL};
  return layout;
}

/* Sets this rank's part, or counts what is wrong in it. */
static int each_element(double* part, double first, int is_check) {
  int wrong = 0, k = 0;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      if ((is_first ? i / 3 : j) % own_ranks != own_rank) continue;
      if (is_check) wrong += part[k] != first + columns * i + j;
      part[k++] = first + columns * i + j;
    }
  return wrong;
}

/* With a handle, or in a call that waits. */
static void check_array(int puts, int has_handle, double first) {
  double part[rows * columns];
  const Valet_Layout layout = own_layout();
  const Valet_Array array = {part, sizeof part, VALET_ROW_MAJOR, NULL};
  Valet_Junction_transfer* transfer = NULL;
  Valet_Report report = Valet_Report_default();
  int done = -1;
  memset(part, 0, sizeof part);
  if (puts) each_element(part, first, 0);
  require((puts ? Valet_Junction_put_array : Valet_Junction_get_array)(
              junction, &array, &layout, sizeof(double), "matrix", has_handle ? &transfer : NULL) ==
              VALET_SUCCESS,
          "an array");
  require((transfer != NULL) == has_handle, "a handle");
  if (has_handle) {
    require(Valet_Junction_is_ready(transfer, &done) == VALET_SUCCESS && (done == 0 || done == 1),
            "progress of an array");
    while (!done) Valet_Junction_is_ready(transfer, &done);
    require(Valet_Junction_is_ready(transfer, NULL) == VALET_SUCCESS, "progress without an answer");
    require(Valet_Junction_wait(transfer, &report) == VALET_SUCCESS && report.verified,
            "the end of an array");
  }
  require(each_element(part, first, 1) == 0, puts ? "what was put" : "what was got");
}

/* Blocks in memory that grows. */
typedef struct Blocks {
  int* values;
  Valet_Storage* storage;
} Blocks;

static const Valet_Storage* grow(void* data, uint64_t count) {
  Blocks* blocks = data;
  Valet_Storage_free(blocks->storage);
  blocks->values = realloc(blocks->values, (count + 1) * sizeof(int));
  blocks->storage = Valet_Storage_create();
  Valet_Storage_add_field(blocks->storage, blocks->values, count, sizeof(int), sizeof(int), "x");
  return blocks->storage;
}

static void free_blocks(Blocks* blocks) {
  Valet_Storage_free(blocks->storage);
  free(blocks->values);
}

/* Block k of rank r of the side that puts goes to rank k + r in turn: by source rank and slot. */
static int count_of(int from) { return 5 + from; }

static void check_blocks(int puts, int grows) {
  Blocks blocks = {NULL, NULL};
  int ranks[most];
  Valet_Junction_transfer* transfer = NULL;
  Valet_Report report = Valet_Report_default();
  const int count = puts ? count_of(own_rank) : grows ? 0 : most;
  grow(&blocks, (uint64_t)count);
  for (int k = 0; k < count; ++k) {
    blocks.values[k] = puts ? 1000 * own_rank + k : -1;
    ranks[k] = (k + own_rank) % other_ranks;
  }
  int code = VALET_SUCCESS;
  if (puts)
    code = Valet_Junction_put_blocks(junction, blocks.storage, (uint64_t)count, ranks, NULL,
                                     &transfer);
  else if (grows)
    code = Valet_Junction_get_blocks_into(junction, grow, &blocks, NULL, &transfer);
  else
    code = Valet_Junction_get_blocks(junction, blocks.storage, NULL, NULL, &transfer);
  require(code == VALET_SUCCESS, "blocks");
  require(Valet_Junction_wait(transfer, &report) == VALET_SUCCESS, "the end of blocks");
  uint64_t next = 0;
  int wrong = 0;
  for (int from = 0; from < (puts ? own_ranks : other_ranks); ++from)
    for (int k = 0; k < count_of(from); ++k)
      if (puts ? from == own_rank : (k + from) % own_ranks == own_rank)
        wrong += blocks.values[next++] != 1000 * from + k;
  require(wrong == 0, puts ? "blocks that were put" : "blocks that were got");
  require(puts || report.blocks_after == next, "the number of blocks");
  free_blocks(&blocks);
}

/* Rounded to the nearest, as the layout has it. */
static int begin_of(int to) { return (2 * objects * to + own_ranks) / (2 * own_ranks); }

/* From one piece for each rank to one after the other: of one size, then as lists of one number or
 * none. */
static void check_numbered(int puts, int are_lists) {
  const Valet_Object_layout pieces = {.block_size = 0}, in_turn = {.block_size = 1};
  int values[objects], wrong = 0, next = 0;
  uint64_t lengths[objects] = {0};
  const int begin = begin_of(own_rank), piece = begin_of(own_rank + 1) - begin;
  const int count = puts ? piece : (objects - own_rank + own_ranks - 1) / own_ranks;
  for (int k = 0; k < objects; ++k) values[k] = -1;
  for (int k = 0; puts && k < count; ++k) {
    lengths[k] = are_lists && (begin + k) % 3 == 0 ? 0 : sizeof(int);
    if (lengths[k] > 0) values[next++] = begin + k;
  }
  Valet_Storage* const storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, values, objects, sizeof(int), sizeof(int), "number");
  Valet_Ragged_storage* const lists = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(lists, values, sizeof values, lengths, objects, sizeof(int), "l");
  const uint64_t all = (uint64_t)count;
  const int code =
      !are_lists ? (puts ? Valet_Junction_put_numbered(junction, storage, all, &pieces, NULL, NULL)
                         : Valet_Junction_get_numbered(junction, storage, &in_turn, NULL, NULL))
      : puts     ? Valet_Junction_put_numbered_ragged(junction, lists, all, &pieces, "l", NULL)
                 : Valet_Junction_get_numbered_ragged(junction, lists, &in_turn, "l", NULL);
  require(code == VALET_SUCCESS, "numbered blocks");
  next = 0;
  for (int k = 0; k < count; ++k) {
    const int number = puts ? begin + k : own_rank + k * own_ranks;
    const int is_there = !are_lists || number % 3 != 0;
    if (are_lists) wrong += lengths[k] != (is_there ? sizeof(int) : 0);
    if (is_there) wrong += values[next++] != number;
  }
  require(wrong == 0, "numbers");
  Valet_Ragged_storage_free(lists);
  Valet_Storage_free(storage);
}

/* Block k of rank r has k doubles, and goes to rank k. */
static void check_ragged(int puts) {
  double values[most];
  uint64_t lengths[most] = {0};
  int ranks[most], count = puts ? 4 : 0, next = 0;
  for (int k = 0; k < count; ++k) {
    lengths[k] = (uint64_t)k * sizeof(double);
    ranks[k] = k % other_ranks;
    for (int v = 0; v < k; ++v) values[next++] = 100 * own_rank + k;
  }
  Valet_Ragged_storage* storage = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(storage, values, sizeof values, lengths, most, sizeof(double),
                                 "values");
  Valet_Junction_transfer* transfer = NULL;
  Valet_Report report = Valet_Report_default();
  require(
      (puts ? Valet_Junction_put_ragged(junction, storage, (uint64_t)count, ranks, NULL, &transfer)
            : Valet_Junction_get_ragged(junction, storage, NULL, NULL, &transfer)) == VALET_SUCCESS,
      "blocks of different sizes");
  require(Valet_Junction_wait(transfer, &report) == VALET_SUCCESS, "their end");
  uint64_t blocks = 0;
  int wrong = 0;
  next = 0;
  for (int from = 0; !puts && from < other_ranks; ++from)
    for (int k = own_rank; k < 4; k += own_ranks) {
      wrong += lengths[blocks++] != (uint64_t)k * sizeof(double);
      for (int v = 0; v < k; ++v) wrong += values[next++] != 100 * from + k;
    }
  require(wrong == 0 && report.blocks_after == blocks, "lists");
  Valet_Ragged_storage_free(storage);
}

/* The same on all ranks of both sides. */
static void expect(int code, int wanted, const char* one, const char* two) {
  require(code == wanted && strstr(Valet_Error_message(), one) != NULL &&
              strstr(Valet_Error_message(), two) != NULL,
          one);
}

static const Valet_Storage* no_storage(void* data, uint64_t blocks) {
  return blocks == 0 ? data : NULL;
}

/* What the two sides contradict each other in, or rank `odd` alone has wrong. */
static void check_errors(int odd) {
  double part[rows * columns];
  int values[most] = {0}, ranks[most] = {0};
  const int is_odd = rank == odd;
  const Valet_Layout layout = own_layout();
  Valet_Layout unknown = layout;
  unknown.rank_order = 5;
  const Valet_Array array = {part, sizeof part, VALET_ROW_MAJOR, NULL};
  const Valet_Array ordered = {part, sizeof part, is_odd ? 7 : VALET_ROW_MAJOR, NULL};
  int (*const move)(Valet_Junction*, const Valet_Array*, const Valet_Layout*, size_t, const char*,
                    Valet_Junction_transfer**) =
      is_first ? Valet_Junction_put_array : Valet_Junction_get_array;
  expect(move(junction, &array, &layout, 8, is_first ? "density" : "pressure", NULL),
         VALET_INVALID_ARGUMENT, "'density'", "'pressure'");
  expect(move(junction, &array, &layout, 8, is_first ? NULL : "pressure", NULL),
         VALET_INVALID_ARGUMENT, "an array without a label", "'pressure'");
  expect(move(junction, &array, is_odd ? NULL : &layout, 8, "matrix", NULL), VALET_INVALID_ARGUMENT,
         "the layout is a null pointer", "rank");
  expect(move(junction, &array, is_odd ? &unknown : &layout, 8, "matrix", NULL),
         VALET_INVALID_ARGUMENT, "unknown order 5", "rank");
  expect(move(junction, &ordered, &layout, 8, "matrix", NULL), VALET_INVALID_ARGUMENT,
         "unknown order 7", "rank");

  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, values, is_first ? 3 : 0, sizeof(int), sizeof(int), "x");
  Valet_Storage* const given = is_odd ? NULL : storage;
  expect(is_first ? Valet_Junction_put_blocks(junction, storage, 3, ranks, NULL, NULL)
                  : Valet_Junction_get_blocks(junction, storage, NULL, NULL, NULL),
         VALET_INFEASIBLE, "slots", "rank");
  expect(is_first ? Valet_Junction_put_blocks(junction, given, 3, ranks, NULL, NULL)
                  : Valet_Junction_get_blocks(junction, given, NULL, NULL, NULL),
         VALET_INVALID_ARGUMENT, "a block storage without fields", "rank");
  expect(is_first ? Valet_Junction_put_blocks(junction, storage, 3, NULL, NULL, NULL)
                  : Valet_Junction_get_blocks(junction, storage, NULL, NULL, NULL),
         VALET_INVALID_ARGUMENT, "gives none", "rank");
  expect(is_first ? Valet_Junction_put_blocks(junction, storage, 3, ranks, NULL, NULL)
                  : Valet_Junction_get_blocks_into(junction, NULL, NULL, NULL, NULL),
         VALET_INVALID_ARGUMENT, "the function that makes storage is a null pointer", "rank");
  expect(is_first ? Valet_Junction_put_blocks(junction, storage, 3, ranks, NULL, NULL)
                  : Valet_Junction_get_blocks_into(junction, no_storage, storage, NULL, NULL),
         VALET_CALLBACK_FAILED, "it returned a null pointer", "nothing has moved");
  const Valet_Object_layout pieces = {.block_size = 0};
  expect(
      is_first
          ? Valet_Junction_put_numbered(junction, storage, 3, is_odd ? NULL : &pieces, NULL, NULL)
          : Valet_Junction_get_numbered(junction, storage, is_odd ? NULL : &pieces, NULL, NULL),
      VALET_INVALID_ARGUMENT, "the layout is a null pointer", "give a Valet_Object_layout");
  expect(is_first
             ? Valet_Junction_put_numbered_ragged(junction, NULL, (uint64_t)-3, &pieces, NULL, NULL)
             : Valet_Junction_get_numbered_ragged(junction, NULL, &pieces, NULL, NULL),
         VALET_INVALID_ARGUMENT, "count is -3; give 0 or more", "rank");
  expect(is_first ? Valet_Junction_put_numbered_ragged(junction, NULL, 3, &pieces, NULL, NULL)
                  : Valet_Junction_get_numbered_ragged(junction, NULL, &pieces, NULL, NULL),
         VALET_INVALID_ARGUMENT, "the storage is a null pointer", "rank");
  expect(is_first ? Valet_Junction_put_ragged(junction, NULL, 3, ranks, NULL, NULL)
                  : Valet_Junction_get_ragged(junction, NULL, NULL, NULL, NULL),
         VALET_INVALID_ARGUMENT, "the storage is a null pointer", "rank");
  Valet_Storage_free(storage);
}

/* Before there is a junction: agreed on over both sides. */
static void check_connecting(int odd) {
  Valet_Junction_options options = Valet_Junction_options_default();
  Valet_Junction* none = NULL;
  if (rank == odd) options.struct_size = 3;
  expect(Valet_Junction_connect(between, "test", &options, &none), VALET_INVALID_ARGUMENT,
         "struct_size of Valet_Junction_options is 3", "rank");
  expect(Valet_Junction_connect(between, rank == odd ? NULL : "test", NULL, &none),
         VALET_INVALID_ARGUMENT, "the name is a null pointer", "rank");
  expect(Valet_Junction_connect(between, "test", NULL, rank == odd ? NULL : &none),
         VALET_INVALID_ARGUMENT, "the place for the junction is a null pointer", "rank");
  require(none == NULL, "no junction");
}

static void check_sides(int count) {
  split(count);
  check_connecting(0);
  check_connecting(size - 1);
  Valet_Junction_options options = Valet_Junction_options_default();
  require(options.timeout_seconds == 600 && options.budget_bytes == 4U << 20U &&
              options.verify == 0 && options.share_memory == 1 && options.keep_memory == 1 &&
              options.progress_bar == 1 && options.folder == NULL,
          "defaults");
  options.budget_bytes = 64U << 10U;
  options.verify = 1;
  options.progress = watch;
  options.progress_data = &calls;
  require(Valet_Junction_connect(between, "test", &options, &junction) == VALET_SUCCESS,
          "a junction");
  MPI_Comm_free(&between);
  require(Valet_Junction_ranks(junction) == own_ranks &&
              Valet_Junction_other_ranks(junction) == other_ranks,
          "ranks");
  for (int step = 0; step < 2; ++step) { /* there and back */
    const int puts = is_first == (step == 0);
    calls = 0;
    check_array(puts, 1, 1000);
    require(calls > 0, "calls about progress");
    check_array(puts, 0, 2000);
    check_blocks(puts, 0);
    check_blocks(puts, 1);
    check_numbered(puts, 0);
    check_numbered(puts, 1);
    check_ragged(puts);
    check_errors(0);
    check_errors(size - 1);
  }
  require(Valet_Junction_close(junction) == VALET_SUCCESS, "closing");
}

/* A storage of numbers. */
static Valet_Storage* storage_of(double* values, uint64_t room) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, values, room, sizeof *values, sizeof *values, "value");
  return storage;
}

/* Two kinds of blocks of one file, by their labels and in the order in which they were not put:
 * rank r puts the values 10*r + 0, 1, 2 twice, the second ones as negative numbers. All get the
 * last two blocks of the first, then equal shares of the second; then lists of which rank 0 alone
 * gets the first one. */
static void check_file(void) {
  char path[32];
  double values[3], got[8];
  uint64_t length = sizeof *values;
  snprintf(path, sizeof path, "c_junction_%d.valet", size);
  Valet_Storage* const storage = storage_of(values, 3);
  Valet_Ragged_storage* const lists = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(lists, values, sizeof *values, &length, 1, sizeof *values, "list");
  require(Valet_Junction_create(MPI_COMM_WORLD, path, NULL, &junction) == VALET_SUCCESS, "a file");
  for (int sign = 1; sign >= -1; sign -= 2) {
    for (int k = 0; k < 3; ++k) values[k] = sign * (10 * rank + k);
    require(Valet_Junction_put_blocks(junction, storage, 3, NULL, sign > 0 ? "plus" : "minus",
                                      NULL) == VALET_SUCCESS,
            "blocks for a file");
  }
  require(Valet_Junction_put_ragged(junction, lists, 1, NULL, "lists", NULL) == VALET_SUCCESS,
          "lists for a file");
  require(Valet_Junction_close(junction) == VALET_SUCCESS, "the end of a file");
  Valet_Storage_free(storage);

  Valet_Storage* const room = storage_of(got, 8);
  Valet_Report report = Valet_Report_default();
  Valet_Junction_transfer* transfer = NULL;
  const Valet_Block_range last_two = {3 * (uint64_t)size - 2, 2}, beyond = {3 * (uint64_t)size, 1},
                          first_one = {0, rank == 0 ? 1 : 0};
  require(Valet_Junction_open(MPI_COMM_WORLD, path, NULL, &junction) == VALET_SUCCESS, "the file");
  expect(Valet_Junction_get_blocks(junction, room, "plus", &beyond, NULL), VALET_INVALID_ARGUMENT,
         "blocks", "rank 0");
  expect(Valet_Junction_get_blocks(junction, room, "neither", NULL, NULL), VALET_INVALID_ARGUMENT,
         "'neither'", "");
  require(Valet_Junction_get_blocks(junction, room, "minus", NULL, NULL) == VALET_SUCCESS &&
              got[0] == -10 * rank && got[2] == -10 * rank - 2,
          "an equal share of the second blocks");
  require(
      Valet_Junction_get_blocks(junction, room, "plus", &last_two, &transfer) == VALET_SUCCESS &&
          Valet_Junction_wait(transfer, &report) == VALET_SUCCESS && report.blocks_after == 2 &&
          got[0] == 10 * (size - 1) + 1 && got[1] == 10 * (size - 1) + 2,
      "a range of the first blocks");
  values[0] = 1;
  require(
      Valet_Junction_get_ragged(junction, lists, "lists", &first_one, &transfer) == VALET_SUCCESS &&
          Valet_Junction_wait(transfer, &report) == VALET_SUCCESS &&
          report.blocks_after == first_one.count && values[0] == (rank == 0 ? 0 : 1),
      "a range of lists");
  require(Valet_Junction_close(junction) == VALET_SUCCESS, "the file closed");
  Valet_Storage_free(room);
  Valet_Ragged_storage_free(lists);
  if (rank == 0) remove(path);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  Valet_Junction* none = NULL;
  expect(Valet_Junction_accept(MPI_COMM_WORLD, NULL, NULL, &none), VALET_INVALID_ARGUMENT,
         "the name is a null pointer", "rank 0");
  expect(Valet_Junction_connect(MPI_COMM_NULL, "test", NULL, &none), VALET_INVALID_COMMUNICATOR,
         "MPI_COMM_NULL", "");
  for (int count = 1; count < size; ++count) check_sides(count);
  check_file();
  MPI_Finalize();
  return failures > 0;
}
