/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef DROPIN_MESH_H
#define DROPIN_MESH_H

/* An unstructured mesh of cells with data of different sizes, spread over the ranks. A hot region
 * wanders through it, so the cells are partitioned anew in every round. */

#include <mpi.h>
#include <zoltan.h>

#define MOST_NEIGHBOURS 8

typedef struct Cell {
  ZOLTAN_ID_TYPE id;
  double x, y;
  int neighbours;
  ZOLTAN_ID_TYPE neighbour[MOST_NEIGHBOURS];
  int values;
  double* value; /* freed with the cell */
} Cell;

/* The cells of this rank. A cell without id (NO_CELL) is a hole. */
typedef struct Mesh {
  Cell* cell;
  int cells; /* holes included */
  int room;
  int hole; /* where the next hole is looked for */
  int round;
  int side; /* of the square that the mesh fills */
} Mesh;

#define NO_CELL ((ZOLTAN_ID_TYPE)-1)

void mesh_create(Mesh* mesh, int side, int rank, int ranks);
void mesh_destroy(Mesh* mesh);
/* A number that depends on every cell, its data and its rank, but not on where it stands. */
unsigned long long mesh_checksum(const Mesh* mesh);

/* Packing: the cell, then its values. */
int cell_bytes(const Cell* cell);
void cell_pack(const Cell* cell, char* buffer);
void cell_unpack(Cell* cell, const char* buffer);
void cell_free(Cell* cell);
Cell* mesh_append(Mesh* mesh);
Cell* mesh_fill_hole(Mesh* mesh);

/* Zoltan's queries: number of cells, their list with weights, their coordinates. The local id is
 * the place in mesh->cell. */
void mesh_register(Mesh* mesh, struct Zoltan_Struct* zoltan);

/* Lists of a partition, as Zoltan returns them. */
typedef struct Lists {
  int changes, gids, lids, imports, exports;
  ZOLTAN_ID_PTR import_gids, import_lids, export_gids, export_lids;
  int *import_procs, *import_parts, *export_procs, *export_parts;
} Lists;

/* The command line: [label [side [rounds]]]. */
typedef struct Arguments {
  const char* label;
  int side, rounds;
  int code; /* with which the program is to end at once, after --help or for bad input; else -1 */
} Arguments;
Arguments mesh_arguments(int argc, char** argv, const char* label);

/* Partitions, calls `migrate` between two looks at the clock and at the memory of the process, and
 * appends a line for each round and rank to <label>.csv in the working directory. */
typedef int Migrate(struct Zoltan_Struct* zoltan, Lists* lists);
int mesh_run(const Arguments* arguments, Mesh* mesh, struct Zoltan_Struct* zoltan,
             Migrate* migrate);

#endif
