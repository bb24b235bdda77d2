/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippet on blocks of different sizes, word for word: compiled, not run. */

#include <valet/valet.h>

#include <stdio.h>

uint64_t moved_lists(MPI_Comm comm, void* bytes, uint64_t capacity_bytes, uint64_t* lengths,
                     int* id, uint64_t most, uint64_t count, const int* ranks);

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
