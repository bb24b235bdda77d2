/* SPDX-License-Identifier: BSD-3-Clause */

/* Zoltan makes lists of what leaves and what arrives, by any method; Valet moves the rows of arrays
 * by these lists. Local ids are slots, and no functions that pack and unpack are needed.
 *
 *   mpirun -n 4 06_zoltan_lists
 *   1000 cells are there, 250 of them on rank 0
 */
#include <valet/zoltan/valet_zoltan.h>

#include <stdio.h>

enum { slots = 1000 };
static int number[slots]; /* of the cell in each slot */
static double state[slots][3];

static int count_cells(void* count, int* error) {
  *error = ZOLTAN_OK;
  return (int)*(uint64_t*)count;
}

static void list_cells(void* count, int gid_entries, int lid_entries, ZOLTAN_ID_PTR gids,
                       ZOLTAN_ID_PTR lids, int weights, float* weight, int* error) {
  (void)gid_entries, (void)lid_entries, (void)weights, (void)weight;
  for (uint64_t k = 0; k < *(uint64_t*)count; ++k) {
    gids[k] = (ZOLTAN_ID_TYPE)number[k];
    lids[k] = (ZOLTAN_ID_TYPE)k;
  }
  *error = ZOLTAN_OK;
}

int main(int argc, char** argv) {
  float version = 0;
  int rank = 0, right = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Zoltan_Initialize(argc, argv, &version);
  uint64_t count = rank == 0 ? slots : 0; /* all cells are on rank 0 */
  for (int k = 0; k < (int)count; ++k) {
    number[k] = k;
    for (int d = 0; d < 3; ++d) state[k][d] = k + 0.25 * d;
  }
  struct Zoltan_Struct* zz = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zz, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zz, "LB_METHOD", "BLOCK");
  Zoltan_Set_Num_Obj_Fn(zz, count_cells, &count);
  Zoltan_Set_Obj_List_Fn(zz, list_cells, &count);
  int changes, gid_entries, lid_entries, num_import, num_export;
  int *import_procs, *import_parts, *export_procs, *export_parts;
  ZOLTAN_ID_PTR import_gids, import_lids, export_gids, export_lids;
  Zoltan_LB_Partition(zz, &changes, &gid_entries, &lid_entries, &num_import, &import_gids,
                      &import_lids, &import_procs, &import_parts, &num_export, &export_gids,
                      &export_lids, &export_procs, &export_parts);

  const Valet_Zoltan_lists lists = {
      gid_entries,
      lid_entries,
      {num_import, import_gids, import_lids, import_procs, import_parts},
      {num_export, export_gids, export_lids, export_procs, export_parts}};
  Valet_Storage* storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, number, slots, sizeof number[0], sizeof number[0], "number");
  Valet_Storage_add_field(storage, state, slots, sizeof state[0], sizeof state[0], "state");
  if (Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, &lists, count, NULL, storage, NULL, &count,
                                 NULL) != VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  Valet_Storage_free(storage);

  Zoltan_LB_Free_Part(&import_gids, &import_lids, &import_procs, &import_parts);
  Zoltan_LB_Free_Part(&export_gids, &export_lids, &export_procs, &export_parts);
  Zoltan_Destroy(&zz);
  for (uint64_t k = 0; k < count; ++k) right += state[k][2] == number[k] + 0.5;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d cells are there, %d of them on rank 0\n", all, (int)count);
  MPI_Finalize();
  return all == slots ? 0 : 1;
}
