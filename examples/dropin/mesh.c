/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long long mixed(unsigned long long x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

static void* allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "no memory for %zu bytes\n", bytes);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

Cell* mesh_append(Mesh* mesh) {
  if (mesh->cells == mesh->room) {
    mesh->room = mesh->room + mesh->room / 4 + 1024;
    mesh->cell = realloc(mesh->cell, (size_t)mesh->room * sizeof(Cell));
    if (mesh->cell == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return &mesh->cell[mesh->cells++];
}

Cell* mesh_fill_hole(Mesh* mesh) {
  for (; mesh->hole < mesh->cells; ++mesh->hole)
    if (mesh->cell[mesh->hole].id == NO_CELL) return &mesh->cell[mesh->hole++];
  return mesh_append(mesh);
}

/* A grid whose points are shifted and some of whose diagonals are edges, by the number of the cell:
 * unstructured to everybody who only sees ids. */
static void make_cell(Cell* cell, int side, ZOLTAN_ID_TYPE id) {
  static const int step[MOST_NEIGHBOURS][2] = {{1, 0}, {-1, 0},  {0, 1},  {0, -1},
                                               {1, 1}, {-1, -1}, {1, -1}, {-1, 1}};
  const int i = (int)(id % (ZOLTAN_ID_TYPE)side);
  const int j = (int)(id / (ZOLTAN_ID_TYPE)side);
  const unsigned long long random = mixed(id);
  int k;
  cell->id = id;
  cell->x = (i + 0.8 * (double)(random & 1023) / 1024) / side;
  cell->y = (j + 0.8 * (double)(random >> 10 & 1023) / 1024) / side;
  cell->neighbours = 0;
  for (k = 0; k < MOST_NEIGHBOURS; ++k) {
    const int ni = i + step[k][0];
    const int nj = j + step[k][1];
    if (ni < 0 || nj < 0 || ni >= side || nj >= side || (k >= 4 && (random >> (20 + k) & 1) != 0))
      continue;
    cell->neighbour[cell->neighbours++] = (ZOLTAN_ID_TYPE)(nj * side + ni);
  }
  /* Polynomial degrees 2 to 7 with 3 components: 216 to 1536 bytes. */
  k = 3 + (int)(random >> 40) % 6;
  cell->values = 3 * k * k;
  cell->value = allocate((size_t)cell->values * sizeof(double));
  for (k = 0; k < cell->values; ++k)
    cell->value[k] = (double)(mixed(id * 1000ULL + (unsigned)k) >> 12);
}

void mesh_create(Mesh* mesh, int side, int rank, int ranks) {
  const long long all = (long long)side * side;
  long long id;
  memset(mesh, 0, sizeof *mesh);
  mesh->side = side;
  for (id = all * rank / ranks; id < all * (rank + 1) / ranks; ++id)
    make_cell(mesh_append(mesh), side, (ZOLTAN_ID_TYPE)id);
}

void cell_free(Cell* cell) {
  free(cell->value);
  cell->value = NULL;
  cell->id = NO_CELL;
}

void mesh_destroy(Mesh* mesh) {
  int k;
  for (k = 0; k < mesh->cells; ++k) cell_free(&mesh->cell[k]);
  free(mesh->cell);
}

unsigned long long mesh_checksum(const Mesh* mesh) {
  unsigned long long sum = 0;
  unsigned long long all = 0;
  int rank;
  int k;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (k = 0; k < mesh->cells; ++k) {
    const Cell* cell = &mesh->cell[k];
    unsigned long long own;
    int v;
    if (cell->id == NO_CELL) continue;
    own = mixed(cell->id * 64ULL + (unsigned)rank) + (unsigned)cell->neighbours;
    for (v = 0; v < cell->values; ++v) own = own * 31 + (unsigned long long)cell->value[v];
    sum += mixed(own);
  }
  MPI_Allreduce(&sum, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

int cell_bytes(const Cell* cell) {
  return (int)(sizeof(Cell) + (size_t)cell->values * sizeof(double));
}

void cell_pack(const Cell* cell, char* buffer) {
  memcpy(buffer, cell, sizeof(Cell));
  memcpy(buffer + sizeof(Cell), cell->value, (size_t)cell->values * sizeof(double));
}

void cell_unpack(Cell* cell, const char* buffer) {
  memcpy(cell, buffer, sizeof(Cell));
  cell->value = allocate((size_t)cell->values * sizeof(double));
  memcpy(cell->value, buffer + sizeof(Cell), (size_t)cell->values * sizeof(double));
}

/* ---- Zoltan's queries ---- */

static int count_cells(void* data, int* code) {
  const Mesh* mesh = data;
  int count = 0;
  int k;
  for (k = 0; k < mesh->cells; ++k) count += mesh->cell[k].id != NO_CELL;
  *code = ZOLTAN_OK;
  return count;
}

/* Cells near the hot spot, which goes round in a circle, cost up to ten times as much. */
static float weight(const Mesh* mesh, const Cell* cell) {
  const double angle = 2.0 * mesh->round;
  const double dx = cell->x - (0.5 + 0.35 * cos(angle));
  const double dy = cell->y - (0.5 + 0.35 * sin(angle));
  return (float)(1 + 9 * exp(-25 * (dx * dx + dy * dy)));
}

static void list_cells(void* data, int num_gid, int num_lid, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids,
                       int weights, float* weight_of, int* code) {
  const Mesh* mesh = data;
  int k;
  (void)num_gid;
  (void)num_lid;
  for (k = 0; k < mesh->cells; ++k) {
    if (mesh->cell[k].id == NO_CELL) continue;
    *gids++ = mesh->cell[k].id;
    *lids++ = (ZOLTAN_ID_TYPE)k;
    if (weights > 0) *weight_of++ = weight(mesh, &mesh->cell[k]);
  }
  *code = ZOLTAN_OK;
}

static int dimensions(void* data, int* code) {
  (void)data;
  *code = ZOLTAN_OK;
  return 2;
}

static void coordinates(void* data, int num_gid, int num_lid, int count, ZOLTAN_ID_PTR gids,
                        ZOLTAN_ID_PTR lids, int dim, double* xy, int* code) {
  const Mesh* mesh = data;
  int k;
  (void)num_gid;
  (void)num_lid;
  (void)gids;
  for (k = 0; k < count; ++k) {
    xy[dim * k] = mesh->cell[lids[k]].x;
    xy[dim * k + 1] = mesh->cell[lids[k]].y;
  }
  *code = ZOLTAN_OK;
}

void mesh_register(Mesh* mesh, struct Zoltan_Struct* zoltan) {
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "LB_METHOD", "RCB");
  Zoltan_Set_Param(zoltan, "OBJ_WEIGHT_DIM", "1");
  Zoltan_Set_Param(zoltan, "RETURN_LISTS", "ALL");
  Zoltan_Set_Num_Obj_Fn(zoltan, count_cells, mesh);
  Zoltan_Set_Obj_List_Fn(zoltan, list_cells, mesh);
  Zoltan_Set_Num_Geom_Fn(zoltan, dimensions, mesh);
  Zoltan_Set_Geom_Multi_Fn(zoltan, coordinates, mesh);
}
