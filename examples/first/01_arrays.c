/* SPDX-License-Identifier: BSD-3-Clause */

/* Particles in arrays of the application go to the ranks that own them. There is no second copy of
 * the arrays: what leaves a rank makes room for what arrives.
 *
 *   mpirun -n 4 01_arrays_c
 *   400 particles are on their ranks
 *   rank 0 had 100 of them, and has 160 in the same arrays
 */
#include <valet/valet.h>

#include <stdio.h>

enum { slots = 200 }; /* of a rank: room for so many particles */
static double position[slots][3];
static int id[slots], destination[slots];

/* The first rank owns twice as many particles as the others. */
static int owner_of(int particle, int ranks) { return particle % (ranks + 1) % ranks; }

int main(int argc, char** argv) {
  int rank = 0, ranks = 1, right = 0;
  uint64_t count = 100; /* slots 0 to 99 are in use */
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int k = 0; k < 100; ++k) {
    id[k] = 100 * rank + k;
    position[k][0] = 0.5 * id[k];
    destination[k] = owner_of(id[k], ranks);
  }

  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position, slots, sizeof position[0], sizeof position[0], "x");
  Valet_Storage_add_field(storage, id, slots, sizeof id[0], sizeof id[0], "id");
  Valet_Plan* plan = NULL;
  if (Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, destination, NULL, &plan) ==
          VALET_SUCCESS &&
      Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
    count = Valet_Plan_blocks_after(plan);
  else
    fprintf(stderr, "%s\n", Valet_Error_message());
  Valet_Plan_free(plan);
  Valet_Storage_free(storage);

  for (uint64_t k = 0; k < count; ++k)
    right += owner_of(id[k], ranks) == rank && position[k][0] == 0.5 * id[k];
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf(
        "%d particles are on their ranks\nrank 0 had 100 of them, and has %d in the same arrays\n",
        right, (int)count);
  MPI_Finalize();
  return right == 100 * ranks ? 0 : 1;
}
