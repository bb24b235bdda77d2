/* SPDX-License-Identifier: BSD-3-Clause */

/* Uses p4est.h as a code in C would: transfers of all kinds, in one part and in two, and mistakes
 * of the last rank, of which all ranks must be told. Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/p4est.h>

#include <stdlib.h>
#include <string.h>

enum { quadrants = 60, most_items = 3, room = most_items * quadrants };

static int rank = 0, size = 1;
static int64_t *before, *after;
static int64_t data[room];
static int numbers[quadrants], new_numbers[quadrants];
static Valet_Execution* execution = NULL;
static Valet_Report report;

/* Of a quadrant. */
static int count_of(int64_t quadrant) { return (int)(quadrant % (most_items + 1)); }

/* What quadrants have: `bytes` for each of their items, or for themselves if these are none. */
static void fill(int bytes) {
  int at = 0;
  for (int64_t q = before[rank]; q < before[rank + 1]; ++q) {
    numbers[q - before[rank]] = bytes * count_of(q);
    for (int k = 0; k < (bytes > 0 ? count_of(q) : 1); ++k) data[at++] = 10 * q + k;
  }
  for (int64_t q = after[rank]; q < after[rank + 1]; ++q)
    new_numbers[q - after[rank]] = bytes * count_of(q);
  report = Valet_Report_default();
}

static void check(int code, int has_items, uint64_t elements, const char* what) {
  int at = 0;
  require(code == VALET_SUCCESS, what);
  for (int64_t q = after[rank]; q < after[rank + 1]; ++q)
    for (int k = 0; k < (has_items ? count_of(q) : 1); ++k) require(data[at++] == 10 * q + k, what);
  require(report.blocks_after == elements, "the report of a transfer");
}

/* Ends what has begun well; `code` is what beginning said. */
static int ended(int code) {
  int done = 0;
  if (code != VALET_SUCCESS) return code;
  while (!done)
    if (Valet_Execution_progress(execution, &done) != VALET_SUCCESS) break;
  code = Valet_Execution_wait(execution, &report);
  execution = NULL;
  return code;
}

static void check_transfers(const Valet_Options* options) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  uint64_t items = 0;
  for (int64_t q = after[rank]; q < after[rank + 1]; ++q) items += (uint64_t)count_of(q);
  const uint64_t own = (uint64_t)(after[rank + 1] - after[rank]);
  fill(0);
  check(Valet_P4est_transfer_fixed(after, before, comm, data, sizeof data, 8, options, &report), 0,
        own, "a transfer of one size");
  fill(0);
  check(ended(Valet_P4est_transfer_fixed_begin(after, before, comm, data, sizeof data, 8, options,
                                               &execution)),
        0, own, "a transfer of one size in two parts");
  fill(8);
  check(Valet_P4est_transfer_custom(after, before, comm, data, sizeof data, numbers, new_numbers,
                                    options, &report),
        1, 8 * items, "a transfer of many sizes");
  fill(8);
  check(ended(Valet_P4est_transfer_custom_begin(after, before, comm, data, sizeof data, numbers,
                                                new_numbers, options, &execution)),
        1, 8 * items, "a transfer of many sizes in two parts");
  fill(1);
  check(Valet_P4est_transfer_items(after, before, comm, data, sizeof data, numbers, new_numbers, 8,
                                   options, &report),
        1, items, "a transfer of items");
  fill(1);
  check(ended(Valet_P4est_transfer_items_begin(after, before, comm, data, sizeof data, numbers,
                                               new_numbers, 8, options, &execution)),
        1, items, "a transfer of items in two parts");
}

/* All ranks have the code, and a text that names the odd rank. */
static void check_refusal(int code, int expected, const char* text) {
  char named[32];
  snprintf(named, sizeof named, "rank %d: ", size - 1);
  require(code == expected, "the code of an error");
  require(strstr(Valet_Error_message(), named) != NULL, "the rank of an error");
  require(strstr(Valet_Error_message(), text) != NULL, text);
  require(execution == NULL, "an execution that was refused");
  for (int64_t q = before[rank]; q < before[rank + 1]; ++q)
    require(data[q - before[rank]] == 10 * q, "the data after an error");
}

static void check_errors(void) {
  const MPI_Comm comm = MPI_COMM_WORLD;
  const int is_odd = rank == size - 1;
  Valet_Options options = Valet_Options_default();
  Valet_Report small = Valet_Report_default();
  fill(0);
  if (is_odd) options.alltoall_method = 99;
  if (is_odd) small.struct_size = 3;
  check_refusal(Valet_P4est_transfer_fixed(is_odd ? NULL : after, before, comm, data, sizeof data,
                                           8, NULL, NULL),
                VALET_INVALID_ARGUMENT, "dest_gfq is a null pointer");
  check_refusal(
      Valet_P4est_transfer_fixed(after, before, comm, data, sizeof data, 8, &options, NULL),
      VALET_INVALID_ARGUMENT, "99");
  check_refusal(Valet_P4est_transfer_fixed(after, before, comm, data, sizeof data, 8, NULL, &small),
                VALET_INVALID_ARGUMENT, "struct_size of Valet_Report is 3");
  check_refusal(Valet_P4est_transfer_custom(after, before, comm, data, sizeof data,
                                            is_odd ? NULL : numbers, new_numbers, NULL, NULL),
                VALET_INACCESSIBLE_MEMORY, "src_sizes is a null pointer");
  check_refusal(Valet_P4est_transfer_items(after, before, comm, is_odd ? NULL : data, sizeof data,
                                           numbers, new_numbers, 8, NULL, NULL),
                VALET_INACCESSIBLE_MEMORY, "a null pointer for");
  check_refusal(Valet_P4est_transfer_fixed_begin(after, before, comm, data,
                                                 is_odd ? 7 : sizeof data, 8, NULL, &execution),
                VALET_INFEASIBLE, "capacity_bytes is 7");
  check_refusal(Valet_P4est_transfer_custom_begin(after, before, comm, data, sizeof data, numbers,
                                                  new_numbers, &options, &execution),
                VALET_INVALID_ARGUMENT, "99");
  check_refusal(Valet_P4est_transfer_items_begin(after, before, comm, data, sizeof data, numbers,
                                                 new_numbers, 8, NULL, is_odd ? NULL : &execution),
                VALET_INVALID_ARGUMENT, "the place for the execution is a null pointer");
}

int main(int argc, char** argv) {
  Valet_Options options = Valet_Options_default();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  before = malloc(sizeof *before * ((size_t)size + 1));
  after = malloc(sizeof *after * ((size_t)size + 1));
  for (int r = 0; r <= size; ++r) {
    before[r] = quadrants * r / size;
    after[r] = r == 0 ? 0 : quadrants; /* all to rank 0 */
  }
  check_transfers(NULL);
  options.alltoall_method = VALET_ALLTOALL_PAIRWISE;
  for (int r = 1; r < size; ++r) after[r] = 0; /* all to the last one */
  check_transfers(&options);
  check_errors();
  free(before);
  free(after);
  MPI_Finalize();
  return failures == 0 ? 0 : 1;
}
