/* SPDX-License-Identifier: BSD-3-Clause */

/* Gives the functions of valet.h arguments that one rank alone has wrong: every rank must get the
 * same code and the same text, which names that rank, and all data must stay as it was. Exit code 0
 * only if all of it is right; a rank that is left behind ends in the timeout of the test. */

#include <valet/valet.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { slots = 12 };

static int failures = 0;
static int rank = 0;
static int size = 1;

/* What this rank gives. */
static Valet_Storage* storage;
static Valet_Options options;
static int values[slots];
static int target[slots];
static int ranks[slots];
static Valet_Address addresses[slots];
static int64_t* counts;

static void fill(void) {
  for (int s = 0; s < slots; ++s) {
    values[s] = 100 * rank + s;
    target[s] = -1;
    ranks[s] = (rank + 1) % size;
    addresses[s].rank = ranks[s];
    addresses[s].slot = (uint64_t)s;
  }
  for (int r = 0; r < size; ++r) counts[r] = slots / size;
  options = Valet_Options_default();
}

/* The text is that of rank `from`; -1: found by each rank without communication. */
static void expect_refusal_of(int expected, const char* call, int code, int from,
                              const char* text) {
  char named[32];
  snprintf(named, sizeof named, from < 0 ? "valet: " : "valet: rank %d: ", from);
  const char* const message = Valet_Error_message();
  if (code != expected || strncmp(message, named, strlen(named)) != 0 ||
      strstr(message, text) == NULL) {
    fprintf(stderr, "c_errors: %s on rank %d: code %d, '%s' in place of '%s... %s...'\n", call,
            rank, code, message, named, text);
    ++failures;
  }
  for (int s = 0; s < slots; ++s)
    if (values[s] != 100 * rank + s || target[s] != -1) {
      fprintf(stderr, "c_errors: %s on rank %d changed the data\n", call, rank);
      ++failures;
      return;
    }
}

static void expect_refusal(const char* call, int code, int from, const char* text) {
  expect_refusal_of(VALET_INVALID_ARGUMENT, call, code, from, text);
}

/* The collective functions, each with what this rank gives. */
typedef int Call(void);

static int plan_to_ranks(void) {
  Valet_Plan* plan = NULL;
  const int code =
      Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, &options, &plan);
  failures += plan != NULL;
  return code;
}

static int plan_to_slots(void) {
  Valet_Plan* plan = NULL;
  const int code =
      Valet_Plan_to_slots(MPI_COMM_WORLD, storage, slots, NULL, addresses, &options, &plan);
  failures += code != VALET_SUCCESS && plan != NULL;
  Valet_Plan_free(plan);
  return code;
}

/* Has no options, so it is not among the calls below. */
static void check_repair(int odd) {
  fill();
  expect_refusal(
      "Valet_Repair",
      Valet_Repair(MPI_COMM_WORLD, slots, NULL, rank == odd ? NULL : ranks, slots, NULL, NULL), odd,
      "the map is a null pointer");
}

static int plan_to_layout(void) {
  const Valet_Object_layout to = {.block_size = 1};
  Valet_Plan* plan = NULL;
  const int code = Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL, &to, &options, &plan);
  failures += plan != NULL;
  return code;
}

static int alltoall(void) {
  return Valet_Alltoallv_in_place(MPI_COMM_WORLD, values, sizeof values, counts, NULL,
                                  sizeof values[0], 0, &options, NULL);
}

/* A vector from blocks to single elements, `slots` of them on each rank. */
static int redistributed(int in_place) {
  const int64_t extents[] = {(int64_t)slots * size}, blocks[] = {slots}, ones[] = {1};
  const int grid[] = {size};
  const Valet_Layout from = {1, extents, blocks, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Layout to = {1, extents, ones, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Array before = {values, sizeof values, VALET_ROW_MAJOR, NULL};
  const Valet_Array after = {target, sizeof target, VALET_ROW_MAJOR, NULL};
  if (in_place)
    return Valet_Redistribute_in_place(MPI_COMM_WORLD, &from, &to, sizeof values[0], &before,
                                       &options, NULL);
  return Valet_Redistribute(MPI_COMM_WORLD, &from, &to, sizeof values[0], &before, &after, &options,
                            NULL);
}

static int redistribute(void) { return redistributed(0); }
static int redistribute_in_place(void) { return redistributed(1); }

static const struct {
  const char* name;
  Call* call;
} calls[] = {{"Valet_Plan_to_ranks", plan_to_ranks},
             {"Valet_Plan_to_slots", plan_to_slots},
             {"Valet_Plan_to_layout", plan_to_layout},
             {"Valet_Alltoallv_in_place", alltoall},
             {"Valet_Redistribute", redistribute},
             {"Valet_Redistribute_in_place", redistribute_in_place}};
enum { all_calls = sizeof calls / sizeof calls[0] };

/* Every wrong choice in Valet_Options, on one rank alone. */
static void check_options(int odd) {
  const struct {
    int* member;
    int value;
    const char* text;
  } wrong[] = {{&options.method, 99, "unknown method 99"},
               {&options.method, -1, "unknown method -1"},
               {&options.order, 3, "unknown order 3"},
               {&options.phased.heuristic, 6, "unknown heuristic 6"},
               {&options.phased.scheduler, -7, "unknown scheduler -7"},
               {&options.cyclic.edge_order, 2, "unknown edge_order 2"}};
  for (int c = 0; c < all_calls; ++c)
    for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
      fill();
      if (rank == odd) *wrong[w].member = wrong[w].value;
      expect_refusal(calls[c].name, calls[c].call(), odd, wrong[w].text);
    }
  const size_t sizes[] = {0, sizeof(size_t), sizeof(Valet_Options) - 1, sizeof(Valet_Options) + 8};
  for (int c = 0; c < all_calls; ++c)
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
      fill();
      if (rank == odd) options.struct_size = sizes[s];
      expect_refusal(calls[c].name, calls[c].call(), odd, "struct_size of Valet_Options is ");
    }
  /* Numbers, which only some of the functions use. */
  fill();
  if (rank == odd) options.alltoall_method = 17;
  expect_refusal("Valet_Alltoallv_in_place", alltoall(), odd, "unknown all-to-all method 17");
  for (int c = 0; c < 3; ++c) {
    fill();
    if (rank == odd) options.stream.window = -3;
    expect_refusal(calls[c].name, calls[c].call(), odd, "a window of -3 messages");
    fill();
    if (rank == odd) options.phased.parking = -5;
    expect_refusal(calls[c].name, calls[c].call(), odd, "a parking interval of -5");
  }
}

/* A storage, a map, counts, a layout or the place for a plan that one rank alone does not have. */
static void check_null_pointers(int odd) {
  Valet_Storage* const whole = storage;
  Valet_Plan* plan = NULL;
  fill();
  if (rank == odd) storage = NULL;
  expect_refusal("Valet_Plan_to_ranks", plan_to_ranks(), odd, "the storage is a null pointer");
  expect_refusal("Valet_Plan_to_slots", plan_to_slots(), odd, "the storage is a null pointer");
  expect_refusal("Valet_Plan_to_layout", plan_to_layout(), odd, "the storage is a null pointer");
  storage = whole;
  expect_refusal("Valet_Plan_to_ranks",
                 Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, NULL,
                                     rank == odd ? NULL : &plan),
                 odd, "the place for the plan is a null pointer");
  expect_refusal("Valet_Plan_to_slots",
                 Valet_Plan_to_slots(MPI_COMM_WORLD, storage, slots, NULL, addresses, NULL,
                                     rank == odd ? NULL : &plan),
                 odd, "the place for the plan is a null pointer");
  expect_refusal("Valet_Plan_to_ranks",
                 Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL,
                                     rank == odd ? NULL : ranks, NULL, &plan),
                 odd, "the map is a null pointer");
  expect_refusal("Valet_Plan_to_slots",
                 Valet_Plan_to_slots(MPI_COMM_WORLD, storage, slots, NULL,
                                     rank == odd ? NULL : addresses, NULL, &plan),
                 odd, "the map is a null pointer");
  const Valet_Object_layout layout = {.block_size = 1};
  expect_refusal("Valet_Plan_to_layout",
                 Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL,
                                      rank == odd ? NULL : &layout, NULL, &plan),
                 odd, "the layout after is a null pointer");
  const int64_t twos[] = {2, 2};
  const int ones[] = {1, 1}, first[] = {0};
  const Valet_Layout elsewhere = {2, twos, twos, ones, VALET_ROW_MAJOR, NULL, first};
  const Valet_Object_layout tiles = {.tiling = &elsewhere};
  expect_refusal("Valet_Plan_to_layout",
                 Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL,
                                      rank == odd ? &tiles : &layout, NULL, &plan),
                 odd, "has a list of ranks; give NULL");
  expect_refusal("Valet_Plan_to_layout",
                 Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL, &layout, NULL,
                                      rank == odd ? NULL : &plan),
                 odd, "the place for the plan is a null pointer");
  expect_refusal(
      "Valet_Alltoallv_in_place",
      Valet_Alltoallv_in_place(MPI_COMM_WORLD, values, sizeof values, rank == odd ? NULL : counts,
                               NULL, sizeof values[0], 0, NULL, NULL),
      odd, "send_counts is a null pointer");

  /* The plan is there on all ranks, the storage is not. */
  if (Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, NULL, &plan) !=
      VALET_SUCCESS)
    ++failures;
  expect_refusal("Valet_Execute", Valet_Execute(plan, rank == odd ? NULL : storage, NULL), odd,
                 "a block storage without fields");
  Valet_Report report = Valet_Report_default();
  Valet_Report total = Valet_Report_default();
  expect_refusal("Valet_Summed_over_ranks",
                 Valet_Summed_over_ranks(MPI_COMM_WORLD, rank == odd ? NULL : &report, &total), odd,
                 "the report is a null pointer");
  if (rank == odd) report.struct_size = 1;
  expect_refusal("Valet_Execute", Valet_Execute(plan, storage, rank == odd ? &report : NULL), odd,
                 "struct_size of Valet_Report is 1");
  expect_refusal("Valet_Summed_over_ranks",
                 Valet_Summed_over_ranks(MPI_COMM_WORLD, &total, &report), odd,
                 "struct_size of Valet_Report is 1");
  expect_refusal("Valet_Alltoallv_in_place",
                 Valet_Alltoallv_in_place(MPI_COMM_WORLD, values, sizeof values, counts, NULL,
                                          sizeof values[0], 0, NULL, &report),
                 odd, "struct_size of Valet_Report is 1");
  Valet_Plan_free(plan);
}

/* Fields that one rank alone has wrong. */
static void check_fields(int odd) {
  const ptrdiff_t row = sizeof values[0];
  const struct {
    ptrdiff_t first, stride; /* of the second field, in values */
    const char* text;
  } wrong[] = {{0, 1,
                "field 1 (rows of 4 bytes, 4 apart) shares memory with field 'values' (rows of 4 "
                "bytes, 4 apart), which starts at the same address; give every array once"},
               {slots - 1, 1, "shares memory with field 'values'"},
               {slots - 1, -1, "shares memory with field 'values'"},
               {0, 0, "field 1 (rows of 4 bytes, 0 apart) has rows that overlap; give strides"}};
  Valet_Storage* const whole = storage;
  int other[slots];
  for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w) {
    const int is_odd = rank == odd;
    fill();
    storage = Valet_Storage_create();
    Valet_Storage_add_field(storage, values, slots, sizeof values[0], row, "values");
    Valet_Storage_add_field(storage, is_odd ? values + wrong[w].first : other, slots,
                            sizeof values[0], is_odd ? wrong[w].stride * row : row, NULL);
    expect_refusal("Valet_Plan_to_ranks", plan_to_ranks(), odd, wrong[w].text);
    Valet_Storage_free(storage);
  }
  storage = whole;
}

/* A block that is dropped needs no slot; others do. */
static void check_negative_slots(int odd) {
  const int is_odd = rank == odd;
  fill();
  if (is_odd) addresses[2].slot = (uint64_t)-5;
  expect_refusal("Valet_Plan_to_slots", plan_to_slots(), odd,
                 "the slot that the block in slot 2 goes to is -5;");
  if (is_odd) addresses[2].rank = -1;
  expect_refusal_of(VALET_RANK_OUT_OF_RANGE, "Valet_Plan_to_slots", plan_to_slots(), odd,
                    "the block in slot 2 is sent to rank -1");
  options.negative_rank = VALET_NEGATIVE_RANK_DROP;
  if (plan_to_slots() != VALET_SUCCESS) {
    fprintf(stderr, "c_errors: a block without a slot is not dropped: %s\n", Valet_Error_message());
    ++failures;
  }
}

/* Counts and sizes that were negative before they became unsigned. */
static void check_negative_numbers(int odd) {
  const int is_odd = rank == odd;
  const uint64_t count = is_odd ? (uint64_t)-1 : slots;
  const Valet_Object_layout single = {.block_size = 1}, negative = {.block_size = (uint64_t)-3};
  const double weights[slots] = {0};
  uint64_t resized = count;
  void* memory = NULL;
  Valet_Plan* plan = NULL;
  fill();
  expect_refusal("Valet_Plan_to_ranks",
                 Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, ranks, NULL, &plan), odd,
                 "count is -1; give 0 or more");
  expect_refusal("Valet_Plan_to_slots",
                 Valet_Plan_to_slots(MPI_COMM_WORLD, storage, count, NULL, addresses, NULL, &plan),
                 odd, "count is -1;");
  expect_refusal("Valet_Plan_to_layout",
                 Valet_Plan_to_layout(MPI_COMM_WORLD, storage, count, NULL, &single, NULL, &plan),
                 odd, "count is -1;");
  expect_refusal("Valet_Plan_to_layout",
                 Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL,
                                      is_odd ? &negative : &single, NULL, &plan),
                 odd, "the block_size of a Valet_Object_layout is -3;");
  expect_refusal("Valet_Repair",
                 Valet_Repair(MPI_COMM_WORLD, count, NULL, ranks, slots, NULL, NULL), odd,
                 "count is -1;");
  expect_refusal("Valet_Repair",
                 Valet_Repair(MPI_COMM_WORLD, slots, NULL, ranks, count, NULL, NULL), odd,
                 "slots is -1;");
  expect_refusal("Valet_Resize",
                 Valet_Resize(MPI_COMM_WORLD, storage, &resized, size, size, VALET_BALANCE_COUNT,
                              weights, NULL, NULL, NULL, NULL),
                 odd, "count is -1;");
  expect_refusal("Valet_Node_alloc",
                 Valet_Node_alloc(MPI_COMM_WORLD, is_odd ? (size_t)-8 : 8, &memory), odd,
                 "bytes is -8;");
  expect_refusal("Valet_Node_resize", Valet_Node_resize(NULL, (size_t)-8), -1, "bytes is -8;");
  expect_refusal("Valet_Alltoallv_in_place",
                 Valet_Alltoallv_in_place(MPI_COMM_WORLD, values, is_odd ? (size_t)-4 : 48, counts,
                                          NULL, sizeof values[0], 0, NULL, NULL),
                 odd, "buffer_bytes is -4;");
  expect_refusal("Valet_Alltoallv_in_place",
                 Valet_Alltoallv_in_place(MPI_COMM_WORLD, values, sizeof values, counts, NULL,
                                          is_odd ? (size_t)-4 : 4, 0, NULL, NULL),
                 odd, "element_bytes is -4;");
  for (int c = 0; c < all_calls; ++c) {
    fill();
    if (is_odd) options.budget_bytes = (size_t)-4096;
    expect_refusal(calls[c].name, calls[c].call(), odd, "the budget (budget_bytes) is -4096;");
    fill();
    if (is_odd) options.message_bytes = (size_t)-1;
    expect_refusal(calls[c].name, calls[c].call(), odd, "message_bytes is -1;");
  }
}

/* The same where a storage is described: it is refused when it is used. */
static void check_negative_storages(int odd) {
  Valet_Storage* const whole = storage;
  const uint64_t count = rank == odd ? (uint64_t)-1 : slots;
  void* const starts[] = {values, values + 2};
  const uint64_t rows[] = {2, rank == odd ? (uint64_t)-2 : slots - 2};
  const ptrdiff_t row = sizeof values[0];
  const char* const texts[] = {"slots of field 'values' is -1; give 0 or more",
                               "the bytes of an element of field 0 is -4;", "slots_per_tile is -1;",
                               "slots of array 1 is -2;"};
  for (int wrong = 0; wrong < 4; ++wrong) {
    fill();
    storage = Valet_Storage_create();
    Valet_Storage_add_field(storage, values, wrong == 0 ? count : slots,
                            wrong == 1 && rank == odd ? (size_t)-4 : sizeof values[0], row,
                            wrong == 1 ? NULL : "values");
    if (wrong == 2) Valet_Storage_in_tiles(storage, count, slots * row);
    if (wrong == 3) Valet_Storage_in_segments(storage, 2, starts, rows);
    expect_refusal("Valet_Plan_to_ranks", plan_to_ranks(), odd, texts[wrong]);
    Valet_Storage_free(storage);
  }
  storage = whole;
  expect_refusal("Valet_Storage_in_segments",
                 Valet_Storage_in_segments(storage, (size_t)-2, starts, rows), -1,
                 "segments is -2;");
}

/* Of one rank alone, which no other waits for. */
static void check_group(void) {
  uint32_t segments[slots] = {0};
  const uint64_t room[] = {slots}, none[] = {(uint64_t)-1};
  uint64_t blocks = 0;
  fill();
  expect_refusal("Valet_Group",
                 Valet_Group(storage, (uint64_t)-1, NULL, segments, 1, room, NULL, &blocks), 0,
                 "count is -1;");
  expect_refusal("Valet_Group",
                 Valet_Group(storage, slots, NULL, segments, (size_t)-1, room, NULL, &blocks), 0,
                 "segment_count is -1;");
  expect_refusal("Valet_Group", Valet_Group(storage, slots, NULL, segments, 1, none, NULL, &blocks),
                 0, "slots of segment 0 is -1;");
  segments[3] = (uint32_t)-1;
  expect_refusal("Valet_Group", Valet_Group(storage, slots, NULL, segments, 1, room, NULL, &blocks),
                 -1, "the block in slot 3 belongs to segment -1, but there are 1");
}

static void check_null_junctions(void) {
  const char* const text = "the junction is a null pointer";
  const struct {
    const char* name;
    int code;
  } refused[] = {
      {"put_array", Valet_Junction_put_array(NULL, NULL, NULL, 8, NULL, NULL)},
      {"get_array", Valet_Junction_get_array(NULL, NULL, NULL, 8, NULL, NULL)},
      {"put_blocks", Valet_Junction_put_blocks(NULL, storage, 0, ranks, NULL, NULL)},
      {"get_blocks", Valet_Junction_get_blocks(NULL, storage, NULL, NULL, NULL)},
      {"get_blocks_into", Valet_Junction_get_blocks_into(NULL, NULL, NULL, NULL, NULL)},
      {"put_numbered", Valet_Junction_put_numbered(NULL, storage, 0, NULL, NULL, NULL)},
      {"get_numbered", Valet_Junction_get_numbered(NULL, storage, NULL, NULL, NULL)},
      {"put_numbered_ragged", Valet_Junction_put_numbered_ragged(NULL, NULL, 0, NULL, NULL, NULL)},
      {"get_numbered_ragged", Valet_Junction_get_numbered_ragged(NULL, NULL, NULL, NULL, NULL)},
      {"put_ragged", Valet_Junction_put_ragged(NULL, NULL, 0, ranks, NULL, NULL)},
      {"get_ragged", Valet_Junction_get_ragged(NULL, NULL, NULL, NULL, NULL)},
      {"ranks", Valet_Junction_ranks(NULL) == 0 ? VALET_INVALID_ARGUMENT : -1},
      {"other_ranks", Valet_Junction_other_ranks(NULL) == 0 ? VALET_INVALID_ARGUMENT : -1},
      {"close", Valet_Junction_close(NULL)}};
  for (size_t k = 0; k < sizeof refused / sizeof refused[0]; ++k)
    expect_refusal(refused[k].name, refused[k].code, -1, text);
  expect_refusal("Valet_Junction_is_ready", Valet_Junction_is_ready(NULL, NULL), -1,
                 "the transfer is a null pointer");
  expect_refusal("Valet_Junction_wait", Valet_Junction_wait(NULL, NULL), -1,
                 "the transfer is a null pointer");
}

/* What a rank finds without the others. */
static void check_null_handles(void) {
  fill();
  expect_refusal(
      "Valet_Storage_add_field",
      Valet_Storage_add_field(NULL, values, slots, sizeof values[0], sizeof values[0], "values"),
      -1, "the storage is a null pointer");
  expect_refusal("Valet_Execute", Valet_Execute(NULL, storage, NULL), -1,
                 "the plan is a null pointer");
  Valet_Execution* execution = NULL;
  expect_refusal("Valet_Plan_bind", Valet_Plan_bind(NULL, storage), -1,
                 "the plan is a null pointer");
  expect_refusal("Valet_Execute_bound", Valet_Execute_bound(NULL, NULL), -1,
                 "the plan is a null pointer");
  expect_refusal("Valet_Execution_start", Valet_Execution_start(NULL, storage, &execution), -1,
                 "the plan is a null pointer");
  expect_refusal("Valet_Execution_start_bound", Valet_Execution_start_bound(NULL, NULL), -1,
                 "the place for the execution is a null pointer");
  expect_refusal("Valet_Execution_progress", Valet_Execution_progress(NULL, NULL), -1,
                 "the execution is a null pointer");
  expect_refusal("Valet_Execution_wait", Valet_Execution_wait(NULL, NULL), -1,
                 "the execution is a null pointer");
  check_null_junctions();
  if (Valet_Storage_add_field(NULL, NULL, 0, 0, 0, NULL) == VALET_SUCCESS) ++failures;
  expect_refusal("Valet_Plan_blocks_after",
                 Valet_Plan_blocks_after(NULL) == 0 ? VALET_INVALID_ARGUMENT : -1, -1,
                 "the plan is a null pointer");
  if (Valet_Storage_add_field(NULL, NULL, 0, 0, 0, NULL) == VALET_SUCCESS) ++failures;
  expect_refusal("Valet_Plan_required_slots",
                 Valet_Plan_required_slots(NULL) == 0 ? VALET_INVALID_ARGUMENT : -1, -1,
                 "the plan is a null pointer");
  Valet_Plan_free(NULL);
  Valet_Storage_free(NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts = malloc((size_t)size * sizeof *counts);
  storage = Valet_Storage_create();
  if (Valet_Storage_add_field(storage, values, slots, sizeof values[0], sizeof values[0],
                              "values") != VALET_SUCCESS)
    ++failures;

  check_options(size - 1);
  check_options(0);
  check_repair(size - 1);
  check_null_pointers(size - 1);
  check_null_pointers(0);
  check_fields(size - 1);
  check_fields(0);
  check_negative_slots(size - 1);
  check_negative_numbers(size - 1);
  check_negative_storages(size - 1);
  check_group();
  check_null_handles();

  Valet_Storage_free(storage);
  free(counts);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
