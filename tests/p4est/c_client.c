/* SPDX-License-Identifier: BSD-3-Clause */

/* Uses p4est.h as a code in C would: transfers of all kinds, in one part and in two, and mistakes
 * of the last rank, of which all ranks must be told. Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/p4est.h>

#include <stdlib.h>
#include <string.h>

enum { quadrants = 60, most_particles = 3 * quadrants };

static MPI_Comm comm = MPI_COMM_WORLD;
static int rank = 0, size = 1;
static int64_t *before, *after;
static int64_t cells[quadrants];
static double particles[most_particles];
static char bytes[most_particles];
static int counts[quadrants], new_counts[quadrants];
static Valet_Report report;

/* Particles and bytes of a quadrant. */
static int count_of(int64_t quadrant) { return (int)(quadrant % 4); }

static void fill(void) {
  int count = 0;
  for (int64_t q = before[rank]; q < before[rank + 1]; ++q) {
    cells[q - before[rank]] = 10 * q;
    counts[q - before[rank]] = new_counts[q - before[rank]] = count_of(q);
    for (int k = 0; k < count_of(q); ++k, ++count) {
      particles[count] = (double)q + 0.25 * k;
      bytes[count] = (char)q;
    }
  }
  report = Valet_Report_default();
}

static void check(int code, const char* what) {
  int count = 0;
  require(code == VALET_SUCCESS, what);
  for (int64_t q = after[rank]; q < after[rank + 1]; ++q) {
    require(cells[q - after[rank]] == 10 * q, what);
    require(new_counts[q - after[rank]] == count_of(q), what);
    for (int k = 0; k < count_of(q); ++k, ++count)
      require(particles[count] == (double)q + 0.25 * k && bytes[count] == (char)q, what);
  }
  require(report.blocks_after == (uint64_t)count, "the report counts items");
}

static int in_one_part(const Valet_Options* options) {
  int code = Valet_P4est_transfer_fixed(after, before, comm, cells, sizeof cells, sizeof *cells,
                                        options, NULL);
  if (code == VALET_SUCCESS)
    code = Valet_P4est_transfer_fixed(after, before, comm, new_counts, sizeof new_counts,
                                      sizeof *new_counts, options, NULL);
  if (code == VALET_SUCCESS)
    code = Valet_P4est_transfer_custom(after, before, comm, bytes, sizeof bytes, counts, new_counts,
                                       options, NULL);
  if (code == VALET_SUCCESS)
    code = Valet_P4est_transfer_items(after, before, comm, particles, sizeof particles, counts,
                                      new_counts, sizeof *particles, options, &report);
  return code;
}

static int in_two_parts(const Valet_Options* options) {
  Valet_Execution* going[3] = {NULL, NULL, NULL};
  Valet_Execution* sizes_go = NULL;
  int code = Valet_P4est_transfer_fixed_begin(after, before, comm, new_counts, sizeof new_counts,
                                              sizeof *new_counts, options, &sizes_go);
  int done = 0;
  while (code == VALET_SUCCESS && !done) code = Valet_Execution_progress(sizes_go, &done);
  if (code == VALET_SUCCESS) code = Valet_Execution_wait(sizes_go, NULL);
  if (code != VALET_SUCCESS) return code;

  code = Valet_P4est_transfer_fixed_begin(after, before, comm, cells, sizeof cells, sizeof *cells,
                                          options, &going[0]);
  if (code == VALET_SUCCESS)
    code = Valet_P4est_transfer_custom_begin(after, before, comm, bytes, sizeof bytes, counts,
                                             new_counts, options, &going[1]);
  if (code == VALET_SUCCESS)
    code =
        Valet_P4est_transfer_items_begin(after, before, comm, particles, sizeof particles, counts,
                                         new_counts, sizeof *particles, options, &going[2]);
  for (int k = 0; k < 3; ++k)
    if (going[k] != NULL) Valet_Execution_wait(going[k], &report);
  return code;
}

static void check_transfers(const Valet_Options* options) {
  fill();
  check(in_one_part(options), "transfers in one part");
  fill();
  check(in_two_parts(options), "transfers in two parts");
}

/* All ranks have the code, and a text that names the odd rank. */
static void check_refusal(int code, int expected, const char* text) {
  char named[32];
  snprintf(named, sizeof named, "rank %d: ", size - 1);
  require(code == expected, "the code of an error");
  require(strstr(Valet_Error_message(), named) != NULL, "the rank of an error");
  require(strstr(Valet_Error_message(), text) != NULL, text);
  for (int64_t q = before[rank]; q < before[rank + 1]; ++q)
    require(cells[q - before[rank]] == 10 * q, "the data after an error");
}

static void check_errors(void) {
  const int is_odd = rank == size - 1;
  Valet_Options options = Valet_Options_default();
  Valet_Report small = Valet_Report_default();
  Valet_Execution* execution = NULL;
  fill();
  if (is_odd) options.alltoall_method = 99;
  if (is_odd) small.struct_size = 3;
  check_refusal(Valet_P4est_transfer_fixed(is_odd ? NULL : after, before, comm, cells, sizeof cells,
                                           8, NULL, NULL),
                VALET_INVALID_ARGUMENT, "dest_gfq is a null pointer");
  check_refusal(
      Valet_P4est_transfer_fixed(after, before, comm, cells, sizeof cells, 8, &options, NULL),
      VALET_INVALID_ARGUMENT, "99");
  check_refusal(
      Valet_P4est_transfer_fixed(after, before, comm, cells, sizeof cells, 8, NULL, &small),
      VALET_INVALID_ARGUMENT, "struct_size of Valet_Report is 3");
  check_refusal(Valet_P4est_transfer_custom(after, before, comm, bytes, sizeof bytes,
                                            is_odd ? NULL : counts, new_counts, NULL, NULL),
                VALET_INACCESSIBLE_MEMORY, "src_sizes is a null pointer");
  check_refusal(Valet_P4est_transfer_items(after, before, comm, is_odd ? NULL : particles,
                                           sizeof particles, counts, new_counts, 8, NULL, NULL),
                VALET_INACCESSIBLE_MEMORY, "a null pointer for");
  check_refusal(Valet_P4est_transfer_fixed_begin(after, before, comm, cells,
                                                 is_odd ? 7 : sizeof cells, 8, NULL, &execution),
                VALET_INFEASIBLE, "capacity_bytes is 7");
  check_refusal(Valet_P4est_transfer_custom_begin(after, before, comm, bytes, sizeof bytes, counts,
                                                  new_counts, &options, &execution),
                VALET_INVALID_ARGUMENT, "99");
  check_refusal(
      Valet_P4est_transfer_items_begin(after, before, comm, particles, sizeof particles, counts,
                                       new_counts, 8, NULL, is_odd ? NULL : &execution),
      VALET_INVALID_ARGUMENT, "the place for the execution is a null pointer");
  require(execution == NULL, "an execution that was refused");
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
