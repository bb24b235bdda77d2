/* SPDX-License-Identifier: BSD-3-Clause */

/* Uses the C interface as an application would: a ring shift of two fields, once to ranks and once
 * to slots, an error that every rank must get, an all-to-all, and an array between layouts. Exit
 * code 0 only if all of it is right. */

#include "oracle.h"
#include "require.h"
#include <valet/valet.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { slots = 100, most_ranks = 5 };

static uint64_t ids[slots];
static double values[slots][3];

/* What a callback got last. */
static Valet_Progress heard_progress;
static char heard_log[256];

static void hear_progress(const Valet_Progress* progress, void* data) {
  heard_progress = *progress;
  ++*(int*)data;
}

static void hear_log(int level, const char* message, void* data) {
  if (level == VALET_LOG_WARNING) snprintf(heard_log, sizeof heard_log, "%s", message);
  ++*(int*)data;
}

static void fill(int rank) {
  for (int s = 0; s < slots; ++s) {
    ids[s] = (uint64_t)rank * 1000 + (uint64_t)s;
    for (int d = 0; d < 3; ++d) values[s][d] = (double)ids[s] + 0.25 * d;
  }
}

static void check_block(int s, int from, uint64_t slot) {
  const uint64_t id = (uint64_t)from * 1000 + slot;
  require(ids[s] == id && values[s][2] == (double)id + 0.5, "a block is not where it belongs");
}

/* In the slots of rank `from`. */
static void check(int from) {
  for (int s = 0; s < slots; ++s) check_block(s, from, (uint64_t)s);
}

/* All blocks of all ranks went to the next rank, in Valet's order. */
static void check_ring(int rank, int size) {
  uint64_t counts[most_ranks], from_slots[slots];
  int to[most_ranks * slots], from_ranks[slots];
  for (int r = 0; r < size; ++r) {
    counts[r] = slots;
    for (int s = 0; s < slots; ++s) to[r * slots + s] = (r + 1) % size;
  }
  require(
      oracle_blocks(size, counts, to, VALET_ORDER_ANY, 32, rank, from_ranks, from_slots) == slots,
      "the ring");
  for (int s = 0; s < slots; ++s) check_block(s, from_ranks[s], from_slots[s]);
}

/* One migration of fresh blocks; `what` says which. */
static void migrate(int rank, const Valet_Storage* storage, const int* ranks,
                    const Valet_Options* options, Valet_Report* report, const char* what) {
  Valet_Plan* plan = NULL;
  fill(rank);
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, options, &plan) == 0 &&
              Valet_Execute(plan, storage, report) == VALET_SUCCESS,
          what);
  Valet_Plan_free(plan);
}

/* One report for all ranks, its text and its JSON; a buffer that is too short gets what fits. */
static void check_texts(int size, const Valet_Report* report) {
  char text[2048], start[8];
  Valet_Report total = Valet_Report_default();
  require(Valet_Summed_over_ranks(MPI_COMM_WORLD, report, &total) == VALET_SUCCESS, "a sum");
  require(total.ranks == size && total.blocks_before == (uint64_t)size * slots &&
              total.budget_bytes == report->budget_bytes,
          "the numbers of the sum");
  require(Valet_Report_to_json(&total, text, sizeof text) == strlen(text), "the length of JSON");
  snprintf(start, sizeof start, "%d", size * slots);
  require(strstr(text, "\"blocks_before\":") != NULL && strstr(text, start) != NULL, "JSON");
  require(Valet_Report_to_string(&total, text, sizeof text) == strlen(text) &&
              Valet_Report_to_string(&total, NULL, 0) == strlen(text) &&
              strncmp(text, total.method, strlen(total.method)) == 0,
          "the text of a report");
  require(Valet_Report_to_string(&total, start, sizeof start) == strlen(text) &&
              strlen(start) == sizeof start - 1 && strncmp(text, start, strlen(start)) == 0,
          "the start of the text");
  total.struct_size = 3;
  require(Valet_Report_to_json(&total, text, sizeof text) == 0 && text[0] == 0 &&
              strstr(Valet_Error_message(), "struct_size of Valet_Report is 3") != NULL,
          "a report of a wrong size has no text");
}

/* What AUTO chose, and why; nothing of that where a method is named. */
static void check_report(int rank, int size, const Valet_Storage* storage, const int* ranks) {
  Valet_Report report = Valet_Report_default();
  Valet_Options options = Valet_Options_default();
  options.verify = 1;
  migrate(rank, storage, ranks, &options, &report, "a migration by the method that AUTO chooses");
  require(strncmp(report.reason, "stream brings", 13) == 0 && strcmp(report.method, "stream") == 0,
          "the reason");
  require(report.verified == 1 && report.verify_seconds > 0, "the verification");
  require(report.block_bytes == 32 && report.budget_bytes == options.budget_bytes &&
              report.neighbours == (uint64_t)(size > 2 ? 2 : size - 1),
          "the numbers of the call");
  check_texts(size, &report);
  options.method = VALET_METHOD_STREAM;
  options.verify = 0;
  migrate(rank, storage, ranks, &options, &report, "a migration by STREAM");
  require(strcmp(report.method, "stream") == 0 && strcmp(report.reason, "") == 0 &&
              report.verified == 0,
          "a named method has no reason");
}

static size_t count_bytes(void* data) {
  ++*(int*)data;
  return 64;
}

/* The memory of a phase comes from the application. */
static void check_callers_numbers(int rank, int size, const Valet_Storage* storage,
                                  const int* ranks) {
  int asked = 0;
  Valet_Report report = Valet_Report_default();
  Valet_Options options = Valet_Options_default();
  options.method = VALET_METHOD_PHASED;
  options.phased.available_bytes = count_bytes;
  options.phased.available_bytes_data = &asked;
  migrate(rank, storage, ranks, &options, &report, "a migration that asks for memory");
  check_ring(rank, size);
  require(size == 1 || (asked > 1 && report.phases >= slots / 2), "two blocks in a phase");
}

/* What was compiled with an older valet.h gives shorter options and gets a shorter report. */
static void check_sizes(int rank, const Valet_Storage* storage, const int* ranks) {
  Valet_Report report = Valet_Report_default();
  Valet_Options options = Valet_Options_default();
  report.struct_size = offsetof(Valet_Report, method);
  memset(report.method, 'x', sizeof report.method);
  options.struct_size = offsetof(Valet_Options, trace);
  options.trace = "/nowhere/at/all/trace.json";
  options.progress_data = NULL;
  migrate(rank, storage, ranks, &options, &report, "a migration with shorter structs");
  require(report.method[0] == 'x' && report.blocks_before == slots, "a shorter report");
  Valet_Options_init(&options, offsetof(Valet_Options, trace));
  require(options.struct_size == offsetof(Valet_Options, trace) && options.trace != NULL,
          "the defaults of shorter options");
}

/* Rank i sends j + 1 numbers to rank j; they name both. */
static void check_alltoall(int rank, int size) {
  int64_t* const send_counts = malloc((size_t)size * sizeof *send_counts);
  int64_t* const recv_counts = malloc((size_t)size * sizeof *recv_counts);
  const size_t before = (size_t)size * ((size_t)size + 1) / 2;
  const size_t after = (size_t)size * ((size_t)rank + 1);
  const size_t room = before > after ? before : after;
  int* const numbers = malloc(room * sizeof *numbers);
  size_t at = 0;
  for (int j = 0; j < size; ++j) {
    send_counts[j] = j + 1;
    recv_counts[j] = rank + 1;
    for (int k = 0; k <= j; ++k) numbers[at++] = rank * 1000 + j;
  }
  Valet_Report report = Valet_Report_default();
  require(Valet_Alltoallv_in_place(MPI_COMM_WORLD, numbers, room * sizeof *numbers, send_counts,
                                   recv_counts, sizeof *numbers, 0, NULL, &report) == 0,
          "all-to-all");
  require(report.blocks_after == after, "elements of the all-to-all");
  for (size_t k = 0; k < after; ++k)
    require(numbers[k] == (int)(k / ((size_t)rank + 1)) * 1000 + rank, "an element is misplaced");
  recv_counts[0] -= 1;
  require(Valet_Alltoallv_in_place(MPI_COMM_WORLD, numbers, room * sizeof *numbers, send_counts,
                                   recv_counts, sizeof *numbers, 0, NULL, NULL) != 0 &&
              strstr(Valet_Error_message(), "recv_counts[0]") != NULL,
          "wrong counts are refused");
  free(numbers);
  free(recv_counts);
  free(send_counts);
}

/* All blocks of all ranks in a row are dealt to the ranks one by one, and go back. */
static void check_object_layouts(int rank, int size, const Valet_Storage* storage) {
  const Valet_Object_layout cyclic = {.block_size = 1}, balanced = {.block_size = 0};
  Valet_Plan* plan = NULL;
  Valet_Report report = Valet_Report_default();
  fill(rank);
  require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL, &cyclic, NULL, &plan) == 0 &&
              Valet_Execute(plan, storage, &report) == VALET_SUCCESS,
          "to a cyclic layout");
  uint64_t numbers[slots];
  require(oracle_layout(1, (uint64_t)(size * slots), size, rank, numbers) == slots, "a layout");
  for (int s = 0; s < slots; ++s) check_block(s, (int)(numbers[s] / slots), numbers[s] % slots);
  require(report.plan_from_layout && report.periods == slots &&
              report.segments == 2 * (uint64_t)(size - 1),
          "a plan from a layout");
  Valet_Plan_free(plan);
  require(
      Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, &cyclic, &balanced, NULL, &plan) == 0 &&
          Valet_Execute(plan, storage, NULL) == VALET_SUCCESS,
      "from a cyclic layout");
  check(rank);
  Valet_Plan_free(plan);
}

/* Columns of a matrix for each rank are what dealing is, however its elements are numbered; from
 * there they are shared out. */
static void check_tiles(int rank, int size, const Valet_Storage* storage, int numbering) {
  const int is_row_major = numbering == VALET_ROW_MAJOR;
  const int64_t extents[] = {is_row_major ? slots : size, is_row_major ? size : slots};
  const int64_t blocks[] = {is_row_major ? slots : 1, is_row_major ? 1 : slots};
  const int grid[] = {is_row_major ? 1 : size, is_row_major ? size : 1};
  const Valet_Layout tiling = {2, extents, blocks, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Object_layout tiles = {.tiling = &tiling, .numbering = numbering};
  const Valet_Object_layout balanced = {.block_size = 0};
  Valet_Plan* plan = NULL;
  fill(rank);
  require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, NULL, &tiles, NULL, &plan) == 0 &&
              Valet_Execute(plan, storage, NULL) == VALET_SUCCESS,
          "to tiles");
  for (int s = 0; s < slots; ++s) {
    const int number = s * size + rank;
    check_block(s, number / slots, (uint64_t)(number % slots));
  }
  Valet_Plan_free(plan);
  require(Valet_Plan_to_layout(MPI_COMM_WORLD, storage, slots, &tiles, &balanced, NULL, &plan) ==
                  VALET_SUCCESS &&
              Valet_Execute(plan, storage, NULL) == VALET_SUCCESS,
          "from tiles");
  check(rank);
  Valet_Plan_free(plan);
}

/* A vector of 1000 numbers, in blocks of 7 over all ranks, is handed to the last rank, then
 * distributed one by one inside its memory. An element is its global index. */
static void check_layouts(int rank, int size) {
  enum { extent = 1000 };
  const int64_t extents[] = {extent};
  const int64_t sevens[] = {7}, whole[] = {extent};
  int64_t ones[] = {1};
  const int all[] = {size}, one[] = {1}, last[] = {size - 1};
  const Valet_Layout blocks = {1, extents, sevens, all, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Layout on_last = {1, extents, whole, one, VALET_ROW_MAJOR, NULL, last};
  const Valet_Layout cyclic = {1, extents, ones, all, VALET_ROW_MAJOR, NULL, NULL};
  int source[extent], target[extent];
  int count = 0;
  for (int i = 0; i < extent; ++i) {
    if (i / 7 % size == rank) source[count++] = i;
    target[i] = -1;
  }
  const Valet_Array from = {source, (size_t)count * sizeof *source, VALET_ROW_MAJOR, NULL};
  const Valet_Array to = {target, sizeof target, VALET_ROW_MAJOR, NULL};
  Valet_Report report = Valet_Report_default();
  require(Valet_Redistribute(MPI_COMM_WORLD, &blocks, &on_last, sizeof(int), &from,
                             rank == size - 1 ? &to : NULL, NULL, &report) == VALET_SUCCESS,
          "redistribute");
  require(report.blocks_before == (uint64_t)count, "elements of the redistribution");
  for (int i = 0; i < extent; ++i)
    require(target[i] == (rank == size - 1 ? i : -1), "an element is not where it belongs");
  require(Valet_Redistribute_in_place(MPI_COMM_WORLD, &on_last, &cyclic, sizeof(int), &to, NULL,
                                      &report) == VALET_SUCCESS,
          "redistribute in place");
  for (uint64_t k = 0; k < report.blocks_after; ++k)
    require(target[k] == rank + (int)k * size, "an element is not where it belongs");
  /* Made on one rank only, and known to all. */
  if (rank == size - 1) ones[0] = 0;
  require(Valet_Redistribute(MPI_COMM_WORLD, &blocks, &cyclic, sizeof(int), &from, &to, NULL,
                             NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "block size 0 in dimension 0") != NULL,
          "a block size of zero is refused on all ranks");
  require(Valet_Redistribute_in_place(MPI_COMM_WORLD, &blocks, NULL, sizeof(int), &to, NULL,
                                      NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "null pointer") != NULL,
          "no layout is refused");
}

/* What this rank of blocks of 7 shares with every rank of single elements, by each algorithm, for
 * all ranks and for one: every element, exactly once. */
static void check_intersection(int rank, int size) {
  enum { extent = 1000 };
  const int64_t extents[] = {extent}, sevens[] = {7}, ones[] = {1}, longer[] = {extent + 1};
  const int grid[] = {size};
  const Valet_Layout blocks = {1, extents, sevens, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Layout cyclic = {1, extents, ones, grid, VALET_ROW_MAJOR, NULL, NULL};
  const Valet_Layout another = {1, longer, ones, grid, VALET_ROW_MAJOR, NULL, NULL};
  Valet_Index_family families[100];
  Valet_Index_families all;
  for (int peer = VALET_ALL_PEERS; peer < size; ++peer)
    for (int algorithm = VALET_INTERSECTION_ASPEN; algorithm <= VALET_INTERSECTION_CLASSICAL;
         ++algorithm) {
      int found[extent] = {0};
      families[1].length = -5;
      require(Valet_Intersect(&blocks, rank, &cyclic, peer, 0, algorithm, families, 1, &all) ==
                      VALET_SUCCESS &&
                  families[1].length == -5 && all.families <= 100,
              "no more is written than there is room for");
      require(Valet_Intersect(&blocks, rank, &cyclic, peer, 0, algorithm, families, 100, &all) ==
                  VALET_SUCCESS,
              "an intersection");
      for (int64_t begin = 0, local = 0; begin < all.extent;
           begin += all.period, local += all.local_period)
        for (const Valet_Index_family* f = families; f < families + all.families; ++f)
          for (int64_t k = 0; k < f->count; ++k) {
            const int64_t at = begin + f->position + k * all.stride;
            const int64_t place = local + f->local + k * all.local_stride;
            for (int64_t j = at; j < at + f->length && j < extent; ++j) {
              require(j / 7 % size == rank && j % size == f->peer, "a shared element");
              require(place + (j - at) == j / 7 / size * 7 + j % 7, "its local index");
              ++found[j];
            }
          }
      for (int j = 0; j < extent; ++j)
        require(found[j] == (j / 7 % size == rank && (peer == VALET_ALL_PEERS || j % size == peer)),
                "each shared element once");
    }
  const struct {
    const Valet_Layout* theirs;
    int peer, dimension, algorithm;
    const char* text;
  } wrong[] = {{&another, 0, 0, 0, "extent 1000 and 1001 in dimension 0"},
               {&cyclic, size, 0, 0, "is not in the other layout's grid"},
               {&cyclic, 0, 1, 0, "dimension 1 is not one of 0 to 0"},
               {&cyclic, 0, 0, 7, "unknown intersection algorithm 7"},
               {NULL, 0, 0, 0, "give both layouts"}};
  for (size_t w = 0; w < sizeof wrong / sizeof wrong[0]; ++w)
    require(Valet_Intersect(&blocks, rank, wrong[w].theirs, wrong[w].peer, wrong[w].dimension,
                            wrong[w].algorithm, families, 100, &all) == VALET_INVALID_ARGUMENT &&
                strstr(Valet_Error_message(), wrong[w].text) != NULL,
            wrong[w].text);
  require(
      Valet_Intersect(&blocks, size, &cyclic, 0, 0, 0, NULL, 0, &all) == VALET_INVALID_ARGUMENT &&
          strstr(Valet_Error_message(), "is not in the layout's grid") != NULL,
      "a rank too many is refused");
  require(
      Valet_Intersect(&blocks, rank, &cyclic, 0, 0, 0, NULL, 1, &all) == VALET_INVALID_ARGUMENT &&
          strstr(Valet_Error_message(), "allocate it, or give no room") != NULL,
      "no memory is refused");
}

/* A trace to a place that cannot be written is a warning, and the blocks move all the same. */
static void check_what_is_seen(int rank, int size, const Valet_Storage* storage, const int* ranks) {
  int progress_calls = 0, messages = 0;
  Valet_Report report = Valet_Report_default();
  Valet_Options options = Valet_Options_default();
  require(options.method == VALET_METHOD_AUTOMATIC && options.trace == NULL &&
              options.progress == NULL && options.progress_bar == 1,
          "defaults");
  options.trace = "/nowhere/at/all/trace.json";
  options.progress = hear_progress;
  options.progress_data = &progress_calls;
  Valet_Set_log_callback(hear_log, &messages);
  migrate(rank, storage, ranks, &options, &report, "a migration that is watched");
  check_ring(rank, size);
  const uint64_t moving = size > 1 ? 2 * slots : 0;
  require(progress_calls > 0 && heard_progress.blocks_done == moving &&
              heard_progress.blocks_total == moving && heard_progress.bytes_total == 32 * moving,
          "progress");
  require(messages == (rank == 0 ? 2 : 1), "a line at the end, and a warning of rank 0");
  require(rank != 0 || strstr(heard_log, "/nowhere/at/all/trace.json") != NULL, "the warning");
  require(report.waiting_seconds >= 0 && report.waiting_seconds <= report.exchange_seconds,
          "time spent waiting");
  Valet_Set_log_callback(NULL, NULL);
}

/* All blocks want to be on rank 0, which keeps half of its slots' worth. */
static void check_repair(int rank, int size) {
  int ranks[slots] = {0};
  uint8_t mask[slots];
  uint64_t changed = 77, changed_in_all = 77, kept = 0;
  memset(mask, 1, sizeof mask);
  require(Valet_Repair(MPI_COMM_WORLD, slots, NULL, ranks, rank == 0 ? slots / 2 : 2 * slots,
                       &changed, &changed_in_all) == (size > 1 ? VALET_SUCCESS : VALET_INFEASIBLE),
          "a repair");
  for (int s = 0; s < slots; ++s) kept += ranks[s] == 0;
  require(size == 1 ||
              (changed == slots - kept && changed_in_all == (uint64_t)(size * slots - slots / 2)),
          "what a repair changed");
  require(size > 1 || (changed == 77 && strstr(Valet_Error_message(), "too few") != NULL),
          "a repair that there is not");
  mask[slots - 1] = 0;
  ranks[slots - 1] = -5;
  require(Valet_Repair(MPI_COMM_WORLD, slots, mask, ranks, 2 * slots, NULL, NULL) == VALET_SUCCESS,
          "a repair with a mask");
}

int main(int argc, char** argv) {
  int rank = 0;
  int size = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  Valet_Storage* storage = Valet_Storage_create();
  require(Valet_Storage_add_field(storage, ids, slots, sizeof ids[0], sizeof ids[0], "ids") == 0 &&
              Valet_Storage_add_field(storage, values, slots, sizeof values[0], sizeof values[0],
                                      "values") == 0,
          "fields");
  Valet_Options options = Valet_Options_default();
  options.budget_bytes = 32; /* one block */

  int ranks[slots];
  Valet_Address addresses[slots];
  for (int s = 0; s < slots; ++s) {
    ranks[s] = (rank + 1) % size;
    addresses[s].rank = ranks[s];
    addresses[s].slot = (uint64_t)s;
  }
  Valet_Plan* plan = NULL;
  Valet_Report report = Valet_Report_default();
  fill(rank);
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, &options, &plan) == 0,
          "plan to ranks");
  require(Valet_Plan_blocks_after(plan) == slots && Valet_Plan_required_slots(plan) == slots,
          "counts of the plan");
  require(Valet_Execute(plan, storage, &report) == VALET_SUCCESS, "execute");
  require(report.peak_extra_bytes <= report.extra_bytes_bound, "memory bound");
  check_ring(rank, size);
  Valet_Plan_free(plan);

  check_what_is_seen(rank, size, storage, ranks);
  check_report(rank, size, storage, ranks);
  check_callers_numbers(rank, size, storage, ranks);
  check_sizes(rank, storage, ranks);

  options.phased.heuristic = VALET_HEURISTIC_MIN_MAX;
  options.phased.parking = 1;
  options.cyclic.edge_order = VALET_EDGE_ORDER_ROTATED;
  for (int method = VALET_METHOD_STREAM; method <= VALET_METHOD_CYCLIC; ++method) {
    if (method == VALET_METHOD_DIRECT) continue; /* needs more than one block of scratch */
    options.method = method;
    fill(rank);
    plan = NULL;
    require(
        Valet_Plan_to_slots(MPI_COMM_WORLD, storage, slots, NULL, addresses, &options, &plan) == 0,
        "plan to slots");
    require(Valet_Execute(plan, storage, &report) == VALET_SUCCESS, "execute");
    require(size == 1 || (report.phases > 0) == (method == VALET_METHOD_PHASED), "phases");
    check((rank + size - 1) % size);
    Valet_Plan_free(plan);
  }

  plan = NULL;
  options.phased.heuristic = VALET_HEURISTIC_CONTINUOUS + 1;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, &options, &plan) ==
                  VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "unknown heuristic") != NULL,
          "an unknown heuristic is refused");
  options.phased.heuristic = VALET_HEURISTIC_FIRST_FIT;

  options.cyclic.edge_order = 7;
  plan = NULL;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, &options, &plan) ==
                  VALET_INVALID_ARGUMENT &&
              plan == NULL && strstr(Valet_Error_message(), "Valet_Options_default") != NULL,
          "an unknown edge order is refused");
  options.cyclic.edge_order = VALET_EDGE_ORDER_ASCENDING;

  ranks[7] = rank == size - 1 ? size + 3 : 0;
  plan = NULL;
  require(Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, slots, NULL, ranks, &options, &plan) ==
                  VALET_RANK_OUT_OF_RANGE &&
              plan == NULL && strstr(Valet_Error_message(), "slot 7") != NULL,
          "a bad rank is refused on all ranks");

  check_alltoall(rank, size);
  check_layouts(rank, size);
  check_intersection(rank, size);
  check_repair(rank, size);
  check_object_layouts(rank, size, storage);
  check_tiles(rank, size, storage, VALET_ROW_MAJOR);
  check_tiles(rank, size, storage, VALET_COLUMN_MAJOR);

  Valet_Storage_free(storage);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
