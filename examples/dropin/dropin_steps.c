/* SPDX-License-Identifier: BSD-3-Clause */

/* The same program written for STEPS: it lets a cell go as soon as that has left, puts arrivals
 * into the holes, and closes what holes are left when all is over. Arguments: label side rounds. */

#include "mesh.h"
#include <valet/zoltan/valet_zoltan.h>

#include <stdlib.h>

static int size_of_cell(void* data, int gids, int lids, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                        int* code) {
  const Mesh* mesh = data;
  (void)gids, (void)lids, (void)gid;
  *code = ZOLTAN_OK;
  return cell_bytes(&mesh->cell[*lid]);
}

static void pack_cell(void* data, int gids, int lids, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                      int part, int size, char* buffer, int* code) {
  const Mesh* mesh = data;
  (void)gids, (void)lids, (void)gid, (void)part, (void)size;
  cell_pack(&mesh->cell[*lid], buffer);
  *code = ZOLTAN_OK;
}

static void free_cell(void* data, int gids, int lids, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                      int* code) {
  Mesh* mesh = data;
  (void)gids, (void)lids, (void)gid;
  cell_free(&mesh->cell[*lid]);
  if ((int)*lid < mesh->hole) mesh->hole = (int)*lid;
  *code = ZOLTAN_OK;
}

/* Local ids of cells that are still to leave stay valid: nobody is moved before post. */
static void unpack_cell(void* data, int gids, ZOLTAN_ID_PTR gid, int size, char* buffer,
                        int* code) {
  (void)gids, (void)gid, (void)size;
  cell_unpack(mesh_fill_hole(data), buffer);
  *code = ZOLTAN_OK;
}

static void close_holes(void* data, int gids, int lids, int imports, ZOLTAN_ID_PTR import_gids,
                        ZOLTAN_ID_PTR import_lids, int* import_procs, int exports,
                        ZOLTAN_ID_PTR export_gids, ZOLTAN_ID_PTR export_lids, int* export_procs,
                        int* code) {
  Mesh* mesh = data;
  int kept = 0;
  int k;
  (void)gids, (void)lids, (void)imports, (void)import_gids, (void)import_lids, (void)import_procs;
  (void)exports, (void)export_gids, (void)export_lids, (void)export_procs;
  for (k = 0; k < mesh->cells; ++k)
    if (mesh->cell[k].id != NO_CELL) mesh->cell[kept++] = mesh->cell[k];
  mesh->cells = kept;
  mesh->hole = kept;
  *code = ZOLTAN_OK;
}

static int migrate(struct Zoltan_Struct* zoltan, Lists* lists) {
  return Zoltan_Migrate(zoltan, lists->imports, lists->import_gids, lists->import_lids,
                        lists->import_procs, lists->import_parts, lists->exports,
                        lists->export_gids, lists->export_lids, lists->export_procs,
                        lists->export_parts);
}

int main(int argc, char** argv) {
  Mesh mesh;
  Arguments arguments;
  struct Zoltan_Struct* zoltan;
  float version;
  int rank, ranks, code;
  MPI_Init(&argc, &argv);
  arguments = mesh_arguments(argc, argv, "steps");
  if (arguments.code >= 0) {
    MPI_Finalize();
    return arguments.code;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Zoltan_Initialize(argc, argv, &version);
  zoltan = Zoltan_Create(MPI_COMM_WORLD);
  mesh_create(&mesh, arguments.side, rank, ranks);
  mesh_register(&mesh, zoltan);
  Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", "STREAM");
  Zoltan_Set_Param(zoltan, "MIGRATE_CALLBACKS", "STEPS");
  Zoltan_Set_Obj_Size_Fn(zoltan, size_of_cell, &mesh);
  Zoltan_Set_Pack_Obj_Fn(zoltan, pack_cell, &mesh);
  Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_cell, &mesh);
  Zoltan_Set_Post_Migrate_Fn(zoltan, close_holes, &mesh);
  Valet_Set_Free_Obj_Fn(zoltan, free_cell, &mesh);
  code = mesh_run(&arguments, &mesh, zoltan, migrate);
  Zoltan_Destroy(&zoltan);
  mesh_destroy(&mesh);
  MPI_Finalize();
  return code < 0;
}
