/* SPDX-License-Identifier: BSD-3-Clause */

/* A program as any user of Zoltan would write it: partition, migrate, and in mid drop what has left
 * and close the gaps. It knows nothing of Valet; examples/dropin/run.sh runs it with stock Zoltan
 * and with Valet, by an environment variable alone. Arguments: label side rounds. */

#include "mesh.h"

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

static void unpack_cell(void* data, int gids, ZOLTAN_ID_PTR gid, int size, char* buffer,
                        int* code) {
  (void)gids, (void)gid, (void)size;
  cell_unpack(mesh_append(data), buffer);
  *code = ZOLTAN_OK;
}

static void drop_exports(void* data, int gids, int lids, int imports, ZOLTAN_ID_PTR import_gids,
                         ZOLTAN_ID_PTR import_lids, int* import_procs, int exports,
                         ZOLTAN_ID_PTR export_gids, ZOLTAN_ID_PTR export_lids, int* export_procs,
                         int* code) {
  Mesh* mesh = data;
  int kept = 0;
  int k;
  (void)gids, (void)lids, (void)imports, (void)import_gids, (void)import_lids, (void)import_procs;
  (void)export_gids, (void)export_procs;
  for (k = 0; k < exports; ++k) cell_free(&mesh->cell[export_lids[k]]);
  for (k = 0; k < mesh->cells; ++k)
    if (mesh->cell[k].id != NO_CELL) mesh->cell[kept++] = mesh->cell[k];
  mesh->cells = kept;
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
  arguments = mesh_arguments(argc, argv, "stock");
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
  Zoltan_Set_Obj_Size_Fn(zoltan, size_of_cell, &mesh);
  Zoltan_Set_Pack_Obj_Fn(zoltan, pack_cell, &mesh);
  Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_cell, &mesh);
  Zoltan_Set_Mid_Migrate_Fn(zoltan, drop_exports, &mesh);
  code = mesh_run(&arguments, &mesh, zoltan, migrate);
  Zoltan_Destroy(&zoltan);
  mesh_destroy(&mesh);
  MPI_Finalize();
  return code < 0;
}
