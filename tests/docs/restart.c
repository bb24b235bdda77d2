/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets in C of the page about another number of ranks. */

#include "reference_c.h"

void restarted(MPI_Comm comm, const char* path, const Valet_Storage* particles, uint64_t count) {
  Valet_Junction* file = NULL;
  if (Valet_Junction_create(comm, path, NULL, &file) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  Valet_Junction_put_blocks(file, particles, count, NULL, "particles", NULL);
  Valet_Junction_close(file);

  Valet_Junction_open(comm, path, NULL, &file);
  Valet_Junction_get_blocks(file, particles, "particles", NULL, NULL);
  Valet_Junction_close(file);
}

uint64_t resized(MPI_Comm comm, const Valet_Storage* particles, uint64_t count) {
  Valet_Resize(comm, particles, &count, 2, 1, VALET_BALANCE_COUNT, NULL, NULL, NULL, NULL, NULL);
  return count;
}

uint64_t resized_lists(MPI_Comm comm, const Valet_Ragged_storage* lists, uint64_t count) {
  Valet_Ragged_resize(comm, lists, &count, 2, 1, VALET_BALANCE_COUNT, NULL, NULL, NULL);
  return count;
}
