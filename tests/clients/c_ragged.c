/* SPDX-License-Identifier: BSD-3-Clause */

/* Blocks of different sizes from C, as an application would use them: an arena with lengths, one
 * with offsets and a column under one map, arenas that grow between plan and execution, and what
 * one rank alone has wrong. Exit code 0 only if all of it is right. */

#include "oracle.h"
#include "require.h"
#include <valet/valet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_blocks = 60, alignment = 16, most_ranks = 5 };

static int rank = 0;
static int size = 1;
static int to_first = 0; /* all blocks go to rank 0 */

/* The blocks that ranks have before: rank 1 of many has none. */
static int count_of(int from) { return size > 2 && from == 1 ? 0 : 30 + 5 * from; }
static int name_of(int from, int k) { return 1000 * from + k; }
static int destination_of(int from, int k) {
  return to_first ? 0 : k % 2 == 0 ? from : (k / 2 + from) % size;
}
static uint64_t length_of(int name) { return (uint64_t)(name % 1000 % 7 * 61 + name / 1000 * 13); }
static uint64_t values_of(int name) { return (uint64_t)(name % 5); }
static unsigned char byte_of(int name, uint64_t b) {
  return (unsigned char)((uint64_t)name * 31 + b * 7);
}
static double value_of(int name, uint64_t v) { return name + 0.125 * (double)v; }
static uint64_t padded(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/* What this rank has, or must have. */
typedef struct Expected {
  int names[most_ranks * most_blocks];
  uint64_t count, bytes, values;
} Expected;

static void expect(Expected* all, int name) {
  all->names[all->count++] = name;
  all->bytes += padded(length_of(name));
  all->values += values_of(name);
}

static void expect_before(Expected* all) {
  memset(all, 0, sizeof *all);
  for (int k = 0; k < count_of(rank); ++k) expect(all, name_of(rank, k));
}

static void expect_after(Expected* all) {
  uint64_t counts[most_ranks], slots[most_ranks * most_blocks], next = 0;
  int to[most_ranks * most_blocks], ranks[most_ranks * most_blocks];
  for (int r = 0; r < size; ++r) {
    counts[r] = (uint64_t)count_of(r);
    for (int k = 0; k < count_of(r); ++k) to[next++] = destination_of(r, k);
  }
  memset(all, 0, sizeof *all);
  const uint64_t count = oracle_blocks(size, counts, to, VALET_ORDER_STABLE, 1, rank, ranks, slots);
  for (uint64_t k = 0; k < count; ++k) expect(all, name_of(ranks[k], (int)slots[k]));
}

/* The arrays of this rank. */
typedef struct Arrays {
  uint64_t capacity, blocks, values;
  unsigned char* bytes; /* at a multiple of the alignment */
  uint64_t* lengths;
  double* numbers;
  uint64_t* offsets;
  int* names;
  int* ranks;
} Arrays;

static void* memory_of(uint64_t bytes) {
  void* memory = aligned_alloc(alignment, (size_t)padded(bytes) + alignment);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

static Arrays make_arrays(const Expected* before, uint64_t capacity, uint64_t blocks,
                          uint64_t values) {
  Arrays arrays = {capacity, blocks, values, NULL, NULL, NULL, NULL, NULL, NULL};
  arrays.bytes = memory_of(capacity);
  arrays.lengths = memory_of(blocks * sizeof *arrays.lengths);
  arrays.numbers = memory_of(values * sizeof *arrays.numbers);
  arrays.offsets = memory_of((blocks + 1) * sizeof *arrays.offsets);
  arrays.names = memory_of(blocks * sizeof *arrays.names);
  arrays.ranks = memory_of(before->count * sizeof *arrays.ranks);
  uint64_t begin = 0, value = 0;
  arrays.offsets[0] = 0;
  for (uint64_t k = 0; k < before->count; ++k) {
    const int name = before->names[k];
    arrays.names[k] = name;
    arrays.ranks[k] = destination_of(rank, (int)k);
    arrays.lengths[k] = length_of(name);
    for (uint64_t b = 0; b < length_of(name); ++b) arrays.bytes[begin + b] = byte_of(name, b);
    begin += padded(length_of(name));
    for (uint64_t v = 0; v < values_of(name); ++v) arrays.numbers[value++] = value_of(name, v);
    arrays.offsets[k + 1] = value * sizeof *arrays.numbers;
  }
  return arrays;
}

static void free_arrays(Arrays* arrays) {
  free(arrays->bytes);
  free(arrays->lengths);
  free(arrays->numbers);
  free(arrays->offsets);
  free(arrays->names);
  free(arrays->ranks);
}

static Valet_Ragged_storage* storage_of(const Arrays* arrays) {
  Valet_Ragged_storage* storage = Valet_Ragged_storage_create();
  require(Valet_Ragged_storage_add_field(storage, arrays->bytes, arrays->capacity, arrays->lengths,
                                         arrays->blocks, alignment, "bytes") == VALET_SUCCESS,
          "an arena with lengths");
  require(Valet_Ragged_storage_add_field_by_offsets(
              storage, arrays->numbers, arrays->values * sizeof *arrays->numbers, arrays->offsets,
              arrays->blocks, sizeof *arrays->numbers, NULL) == VALET_SUCCESS,
          "an arena with offsets");
  require(Valet_Ragged_storage_add_column(storage, arrays->names, arrays->blocks,
                                          sizeof *arrays->names, "names") == VALET_SUCCESS,
          "a column");
  return storage;
}

static void check_arrays(const Arrays* arrays, const Expected* all, const char* what) {
  uint64_t begin = 0, value = 0, wrong = arrays->offsets[0] != 0;
  for (uint64_t k = 0; k < all->count; ++k) {
    const int name = all->names[k];
    wrong += arrays->names[k] != name || arrays->lengths[k] != length_of(name);
    for (uint64_t b = 0; b < length_of(name); ++b)
      wrong += arrays->bytes[begin + b] != byte_of(name, b);
    begin += padded(length_of(name));
    for (uint64_t v = 0; v < values_of(name); ++v)
      wrong += arrays->numbers[value++] != value_of(name, v);
    wrong += arrays->offsets[k + 1] != value * sizeof *arrays->numbers;
  }
  require(wrong == 0, what);
}

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Arrays that are exactly full, before or afterwards. */
static void check_migrate(void) {
  Expected before, after;
  expect_before(&before);
  expect_after(&after);
  Arrays arrays =
      make_arrays(&before, larger(before.bytes, after.bytes), larger(before.count, after.count),
                  larger(before.values, after.values));
  Valet_Ragged_storage* storage = storage_of(&arrays);
  Valet_Options options = Valet_Options_default();
  options.order = VALET_ORDER_STABLE;
  options.verify = 1;
  Valet_Report report = Valet_Report_default();
  uint64_t count = before.count;
  require(Valet_Ragged_migrate(MPI_COMM_WORLD, storage, &count, arrays.ranks, &options, &report) ==
              VALET_SUCCESS,
          "a migration");
  require(count == after.count && report.blocks_before == before.count &&
              report.blocks_after == after.count && report.verified &&
              report.peak_extra_bytes <= report.extra_bytes_bound,
          "its report");
  check_arrays(&arrays, &after, "blocks that were migrated");
  Valet_Ragged_storage_free(storage);
  free_arrays(&arrays);
}

/* All blocks go to rank 0, which learns from the plan what it lacks. */
static void check_growing(void) {
  Expected before, after;
  to_first = 1;
  expect_before(&before);
  expect_after(&after);
  Arrays arrays = make_arrays(&before, before.bytes, before.count, before.values);
  Valet_Ragged_storage* storage = storage_of(&arrays);
  Valet_Ragged_plan* plan = NULL;
  require(Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, storage, before.count, arrays.ranks, NULL,
                                     &plan) == VALET_SUCCESS,
          "a plan");
  require(Valet_Ragged_plan_blocks_after(plan) == after.count &&
              Valet_Ragged_plan_required_bytes(plan, 0) == after.bytes &&
              Valet_Ragged_plan_required_bytes(plan, 1) == after.values * sizeof(double),
          "what a plan requires");
  if (size > 1) {
    require(Valet_Ragged_execute(plan, storage, arrays.ranks, NULL) == VALET_INFEASIBLE &&
                strstr(Valet_Error_message(), "ragged field 'bytes'") != NULL &&
                strstr(Valet_Error_message(), "required_bytes = ") != NULL,
            "an arena that is too small");
    check_arrays(&arrays, &before, "blocks that were refused");
  }
  Arrays grown =
      make_arrays(&before, larger(before.bytes, Valet_Ragged_plan_required_bytes(plan, 0)),
                  larger(before.count, Valet_Ragged_plan_blocks_after(plan)),
                  larger(before.values, after.values));
  Valet_Ragged_storage_free(storage);
  storage = storage_of(&grown);
  require(Valet_Ragged_execute(plan, storage, grown.ranks, NULL) == VALET_SUCCESS,
          "an execution in arenas that have grown");
  check_arrays(&grown, &after, "blocks in arenas that have grown");
  Valet_Ragged_plan_free(plan);
  Valet_Ragged_storage_free(storage);
  free_arrays(&arrays);
  free_arrays(&grown);
  to_first = 0;
}

/* The same code and text on all ranks, which names rank `odd`; -1: found without communication. */
static void expect_refusal(const char* call, int code, int wanted, int odd, const char* text) {
  char named[32];
  snprintf(named, sizeof named, odd < 0 ? "valet: " : "valet: rank %d: ", odd);
  const char* const message = Valet_Error_message();
  if (code == wanted && strncmp(message, named, strlen(named)) == 0 &&
      strstr(message, text) != NULL)
    return;
  fprintf(stderr, "c_ragged: %s on rank %d: code %d, '%s' in place of '%s... %s...'\n", call, rank,
          code, message, named, text);
  ++failures;
}

/* What this rank gives in check_errors(). */
typedef struct Call {
  Valet_Ragged_storage* storage;
  uint64_t* count;
  const int* ranks;
  Valet_Options options;
  Valet_Report* report;
} Call;

/* Both functions that plan refuse what they are given, but for what only one of them takes. */
static void expect_no_plan(const Call* call, int wanted, int odd, const char* text) {
  Valet_Ragged_plan* none = NULL;
  expect_refusal("Valet_Ragged_plan_to_ranks",
                 Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, call->storage, *call->count,
                                            call->ranks, &call->options, &none),
                 wanted, odd, text);
  require(none == NULL, "no plan after an error");
  expect_refusal("Valet_Ragged_migrate",
                 Valet_Ragged_migrate(MPI_COMM_WORLD, call->storage, call->count, call->ranks,
                                      &call->options, call->report),
                 wanted, odd, text);
}

/* What rank `odd` alone has wrong; it has blocks. */
static void check_errors(int odd) {
  const int is_odd = rank == odd;
  Expected before, after;
  expect_before(&before);
  expect_after(&after);
  Arrays arrays =
      make_arrays(&before, larger(before.bytes, after.bytes), larger(before.count, after.count),
                  larger(before.values, after.values));
  uint64_t count = before.count;
  Valet_Report report = Valet_Report_default();
  Valet_Ragged_plan* plan = NULL;
  const Call right = {storage_of(&arrays), &count, arrays.ranks, Valet_Options_default(), &report};
  Call call = right;
  if (is_odd) call.storage = NULL;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "the storage is a null pointer");
  call = right;
  if (is_odd) call.ranks = NULL;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "the map is a null pointer");
  call = right;
  if (is_odd) call.options.struct_size = 3;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "struct_size of Valet_Options is 3");
  call = right;
  if (is_odd) call.options.method = 77;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "unknown method 77");
  call = right;
  if (is_odd) arrays.ranks[3] = size;
  expect_no_plan(&call, VALET_RANK_OUT_OF_RANGE, odd, "block 3 is sent to rank");
  if (is_odd) arrays.ranks[3] = destination_of(rank, 3);
  uint64_t negative = is_odd ? (uint64_t)-1 : count;
  call.count = &negative;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "count is -1; give 0 or more");
  call = right;
  if (is_odd) arrays.lengths[2] = UINT64_MAX;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd,
                 "block 2 of 18446744073709551615 (negative: -1) bytes would start");
  if (is_odd) arrays.lengths[2] = length_of(before.names[2]);
  if (is_odd) arrays.offsets[1] += 4;
  expect_no_plan(&call, VALET_INVALID_ARGUMENT, odd, "no multiple of its alignment of 8 bytes");
  if (is_odd) arrays.offsets[1] -= 4;
  if (is_odd) call.options.budget_bytes = 100;
  expect_no_plan(&call, VALET_BUDGET_TOO_SMALL, odd, "set budget_bytes to at least");
  call = right;

  expect_refusal("Valet_Ragged_plan_to_ranks",
                 Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, right.storage, count, arrays.ranks,
                                            NULL, is_odd ? NULL : &plan),
                 VALET_INVALID_ARGUMENT, odd, "the place for the plan is a null pointer");
  expect_refusal("Valet_Ragged_migrate",
                 Valet_Ragged_migrate(MPI_COMM_WORLD, right.storage, is_odd ? NULL : &count,
                                      arrays.ranks, NULL, NULL),
                 VALET_INVALID_ARGUMENT, odd, "the number of blocks is a null pointer");
  require(Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, right.storage, count, arrays.ranks, NULL,
                                     &plan) == VALET_SUCCESS,
          "a plan");
  expect_refusal("Valet_Ragged_execute",
                 Valet_Ragged_execute(plan, is_odd ? NULL : right.storage, arrays.ranks, &report),
                 VALET_INVALID_ARGUMENT, odd, "the storage is a null pointer");
  expect_refusal("Valet_Ragged_execute",
                 Valet_Ragged_execute(plan, right.storage, is_odd ? NULL : arrays.ranks, &report),
                 VALET_INVALID_ARGUMENT, odd, "the map is a null pointer");
  if (is_odd) report.struct_size = 1;
  expect_refusal("Valet_Ragged_execute",
                 Valet_Ragged_execute(plan, right.storage, arrays.ranks, &report),
                 VALET_INVALID_ARGUMENT, odd, "struct_size of Valet_Report is 1");
  expect_refusal(
      "Valet_Ragged_migrate",
      Valet_Ragged_migrate(MPI_COMM_WORLD, right.storage, &count, arrays.ranks, NULL, &report),
      VALET_INVALID_ARGUMENT, odd, "struct_size of Valet_Report is 1");
  require(count == before.count, "the number of blocks after an error");
  check_arrays(&arrays, &before, "blocks after errors");
  require(Valet_Ragged_execute(plan, right.storage, arrays.ranks, NULL) == VALET_SUCCESS,
          "an execution after errors");
  check_arrays(&arrays, &after, "blocks that were executed after errors");
  Valet_Ragged_plan_free(plan);
  Valet_Ragged_storage_free(right.storage);
  free_arrays(&arrays);
}

static void check_fields(int odd) {
  uint64_t lengths[4] = {8, 8, 8, 8}, count = 2;
  const int ranks[2] = {rank, rank};
  _Alignas(64) unsigned char bytes[64];
  const struct {
    size_t alignment;
    ptrdiff_t at;
    uint64_t blocks;
    int code;
    const char* text;
  } wrong[] = {
      {3, 0, 4, VALET_INVALID_ARGUMENT, "ragged field 'u' has an alignment of 3 bytes"},
      {8, 4, 4, VALET_INVALID_ARGUMENT, "not a multiple of its alignment of 8 bytes"},
      {8, 0, 1, VALET_INVALID_ARGUMENT, "has lengths for 1 blocks, but holds 2"},
      {8, -1, 4, VALET_INACCESSIBLE_MEMORY, "has no memory for its bytes"},
  };
  for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
    const int is_odd = rank == odd;
    Valet_Ragged_storage* storage = Valet_Ragged_storage_create();
    Valet_Ragged_storage_add_field(
        storage, is_odd ? (wrong[w].at < 0 ? NULL : bytes + wrong[w].at) : bytes, 32, lengths,
        is_odd ? wrong[w].blocks : 4, is_odd ? wrong[w].alignment : 8, "u");
    expect_refusal("Valet_Ragged_migrate",
                   Valet_Ragged_migrate(MPI_COMM_WORLD, storage, &count, ranks, NULL, NULL),
                   wrong[w].code, odd, wrong[w].text);
    Valet_Ragged_storage_free(storage);
  }
  Valet_Ragged_storage* const nothing = Valet_Ragged_storage_create();
  expect_refusal("Valet_Ragged_migrate",
                 Valet_Ragged_migrate(MPI_COMM_WORLD, nothing, &count, ranks, NULL, NULL),
                 VALET_INVALID_ARGUMENT, 0, "the storage has no ragged field");
  Valet_Ragged_storage_free(nothing);
}

/* What a rank finds without the others. */
static void check_null_handles(void) {
  uint64_t lengths[2] = {0, 0};
  const char* const no_storage = "the storage is a null pointer";
  const char* const no_plan = "the plan is a null pointer";
  const int wanted = VALET_INVALID_ARGUMENT;
  expect_refusal("Valet_Ragged_storage_add_field",
                 Valet_Ragged_storage_add_field(NULL, NULL, 0, lengths, 2, 1, "u"), wanted, -1,
                 no_storage);
  expect_refusal("Valet_Ragged_execute", Valet_Ragged_execute(NULL, NULL, NULL, NULL), wanted, -1,
                 no_plan);
  expect_refusal("Valet_Ragged_storage_add_field_by_offsets",
                 Valet_Ragged_storage_add_field_by_offsets(NULL, NULL, 0, lengths, 1, 1, NULL),
                 wanted, -1, no_storage);
  expect_refusal("Valet_Ragged_plan_blocks_after",
                 Valet_Ragged_plan_blocks_after(NULL) == 0 ? wanted : -1, wanted, -1, no_plan);
  expect_refusal("Valet_Ragged_storage_add_column",
                 Valet_Ragged_storage_add_column(NULL, NULL, 0, 4, NULL), wanted, -1, no_storage);
  expect_refusal("Valet_Ragged_plan_required_bytes",
                 Valet_Ragged_plan_required_bytes(NULL, 0) == 0 ? wanted : -1, wanted, -1, no_plan);
  Valet_Ragged_plan* plan = NULL;
  Valet_Ragged_storage* const storage = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(storage, NULL, 0, lengths, 2, 1, NULL);
  require(
      Valet_Ragged_plan_to_ranks(MPI_COMM_WORLD, storage, 0, NULL, NULL, &plan) == VALET_SUCCESS &&
          Valet_Ragged_execute(plan, storage, NULL, NULL) == VALET_SUCCESS,
      "a plan of no blocks");
  expect_refusal("Valet_Ragged_plan_required_bytes",
                 Valet_Ragged_plan_required_bytes(plan, 1) == 0 ? wanted : -1, wanted, -1,
                 "the plan has 1 arenas, but bytes of arena 1 are asked for");
  Valet_Ragged_plan_free(plan);
  Valet_Ragged_storage_free(storage);
  Valet_Ragged_plan_free(NULL);
  Valet_Ragged_storage_free(NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  check_migrate();
  check_growing();
  check_errors(size - 1);
  check_errors(0);
  check_fields(size - 1);
  check_null_handles();
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
