/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets on blocks of different sizes, word for word; reference_c_test.cpp runs them. */

#include "reference_c.h"

#include <stdlib.h>

uint64_t moved_lists(MPI_Comm comm, void* bytes, uint64_t capacity_bytes, uint64_t* lengths,
                     int* id, uint64_t most, uint64_t count, const int* ranks) {
  Valet_Ragged_storage* storage = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field(storage, bytes, capacity_bytes, lengths, most, 8, "particles");
  Valet_Ragged_storage_add_column(storage, id, most, sizeof *id, "id");
  if (Valet_Ragged_migrate(comm, storage, &count, ranks, NULL, NULL) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  Valet_Ragged_storage_free(storage);
  return count;
}

static Valet_Ragged_storage* storage_of(double* values, uint64_t bytes, uint64_t* offsets,
                                        uint64_t most) {
  Valet_Ragged_storage* storage = Valet_Ragged_storage_create();
  Valet_Ragged_storage_add_field_by_offsets(storage, values, bytes, offsets, most, 8, "rows");
  return storage;
}

uint64_t grown_rows(MPI_Comm comm, double** grown_values, uint64_t** grown_offsets, uint64_t rows,
                    const int* ranks) {
  double* values = *grown_values;
  uint64_t* offsets = *grown_offsets;
  uint64_t capacity = offsets[rows], most = rows;

  /* Compressed rows: offsets in bytes, one more than rows; `most` rows and `capacity` bytes fit. */
  Valet_Ragged_storage* storage = storage_of(values, capacity, offsets, most);
  Valet_Ragged_plan* plan = NULL;
  if (Valet_Ragged_plan_to_ranks(comm, storage, rows, ranks, NULL, &plan) == VALET_SUCCESS) {
    const uint64_t bytes = Valet_Ragged_plan_required_bytes(plan, 0);
    const uint64_t blocks = Valet_Ragged_plan_blocks_after(plan);
    /* Or by a function, as for other storage: Valet_Ragged_storage_grow_by(storage, enlarge, data).
     */
    if (bytes > capacity) values = realloc(values, capacity = bytes);
    if (blocks > most) offsets = realloc(offsets, ((most = blocks) + 1) * sizeof *offsets);
    Valet_Ragged_storage_free(storage);
    storage = storage_of(values, capacity, offsets, most);
    if (Valet_Ragged_execute(plan, storage, ranks, NULL) == VALET_SUCCESS) rows = blocks;
  }
  Valet_Ragged_plan_free(plan);
  Valet_Ragged_storage_free(storage);

  *grown_values = values;
  *grown_offsets = offsets;
  return rows;
}
