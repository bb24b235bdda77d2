/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippet of valet.h, word for word: compiled, not run. */

#include <valet/valet.h>

#include <stdio.h>

uint64_t moved_particles(MPI_Comm comm, double* position, uint64_t slots, uint64_t count,
                         const int* ranks);

uint64_t moved_particles(MPI_Comm comm, double* position, uint64_t slots, uint64_t count,
                         const int* ranks) {
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position, slots, 3 * sizeof(double), 3 * sizeof(double), "x");
  Valet_Plan* plan = NULL;
  if (Valet_Plan_to_ranks(comm, storage, count, NULL, ranks, NULL, &plan) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  else if (Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
    count = Valet_Plan_blocks_after(plan);
  Valet_Plan_free(plan);
  Valet_Storage_free(storage);
  return count;
}
