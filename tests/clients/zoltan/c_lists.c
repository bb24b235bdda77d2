/* SPDX-License-Identifier: BSD-3-Clause */

/* A client in C that keeps particles in two arrays, asks Zoltan for a partition by coordinates and
 * lets Valet_Zoltan_Migrate_lists() carry it out, with every form of lists; then what is refused.
 * Exit code 0 only if all of it is right. */

#include "require.h"
#include <valet/zoltan/valet_zoltan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { slots = 400, each = 100, parts_per_rank = 2 };

static int rank = 0;
static int ranks = 1;
static int count = 0;
static double place[slots][2];
static ZOLTAN_ID_TYPE number[slots];
static int part[slots];
static ZOLTAN_ID_TYPE gid[slots];

/* A place in the unit square that a particle's number alone says. */
static double coordinate(ZOLTAN_ID_TYPE n, int d) {
  return (double)((n * (d == 0 ? 7919u : 104729u) + 13u) % 1009u) / 1009;
}

static void fill(void) {
  count = each;
  for (int s = 0; s < slots; ++s) {
    number[s] = (ZOLTAN_ID_TYPE)(s * ranks + rank);
    for (int d = 0; d < 2; ++d) place[s][d] = coordinate(number[s], d);
    gid[s] = number[s];
    part[s] = -1;
  }
}

static int number_of_objects(void* data, int* error) {
  (void)data;
  *error = ZOLTAN_OK;
  return count;
}
static void list_of_objects(void* data, int gid_words, int lid_words, ZOLTAN_ID_PTR gids,
                            ZOLTAN_ID_PTR lids, int weights, float* weight, int* error) {
  (void)data, (void)gid_words, (void)weights, (void)weight;
  *error = ZOLTAN_OK;
  for (int s = 0; s < count; ++s) {
    gids[s] = number[s];
    if (lid_words > 0) lids[s] = (ZOLTAN_ID_TYPE)s;
  }
}
static int dimensions(void* data, int* error) {
  (void)data;
  *error = ZOLTAN_OK;
  return 2;
}
static void coordinates(void* data, int gid_words, int lid_words, int objects, ZOLTAN_ID_PTR gids,
                        ZOLTAN_ID_PTR lids, int of, double* values, int* error) {
  (void)data, (void)gid_words, (void)lid_words, (void)lids;
  *error = ZOLTAN_OK;
  for (int k = 0; k < objects; ++k)
    for (int d = 0; d < of; ++d) values[k * of + d] = coordinate(gids[k], d);
}

static uint64_t slot_of(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id,
                        void* data) {
  (void)local_id;
  ++*(int*)data;
  return *global_id / (ZOLTAN_ID_TYPE)ranks;
}

static struct Zoltan_Struct* make_zoltan(const char* return_lists, const char* lid_words) {
  struct Zoltan_Struct* const zoltan = Zoltan_Create(MPI_COMM_WORLD);
  char parts[16];
  snprintf(parts, sizeof parts, "%d", parts_per_rank * ranks);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "LB_METHOD", "HSFC");
  Zoltan_Set_Param(zoltan, "NUM_GLOBAL_PARTS", parts);
  Zoltan_Set_Param(zoltan, "NUM_LID_ENTRIES", lid_words);
  Zoltan_Set_Param(zoltan, "RETURN_LISTS", return_lists);
  Zoltan_Set_Num_Obj_Fn(zoltan, number_of_objects, NULL);
  Zoltan_Set_Obj_List_Fn(zoltan, list_of_objects, NULL);
  Zoltan_Set_Num_Geom_Fn(zoltan, dimensions, NULL);
  Zoltan_Set_Geom_Multi_Fn(zoltan, coordinates, NULL);
  return zoltan;
}

/* Every particle is there once, whole, with its id and its part, which is one of this rank. */
static void check(uint64_t now, const char* what) {
  int wrong = 0;
  unsigned long long sums[2] = {now, 0};
  for (uint64_t s = 0; s < now; ++s) {
    wrong += gid[s] != number[s] || part[s] / parts_per_rank != rank;
    for (int d = 0; d < 2; ++d) wrong += place[s][d] != coordinate(number[s], d);
    sums[1] += number[s];
  }
  const unsigned long long all = (unsigned long long)each * (unsigned long long)ranks;
  MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  require(wrong == 0, what);
  require(sums[0] == all && sums[1] == all * (all - 1) / 2, "a particle is lost or doubled");
}

/* One partition and one migration of fresh particles. */
static void migrate(const Valet_Storage* storage, const char* return_lists, int with_lids) {
  struct Zoltan_Struct* zoltan = make_zoltan(return_lists, with_lids ? "1" : "0");
  fill();
  for (int s = 0; s < count; ++s) part[s] = rank; /* as Zoltan takes it */
  int changes = 0;
  Valet_Zoltan_lists lists;
  ZOLTAN_ID_PTR gids[2] = {NULL, NULL}, lids[2] = {NULL, NULL};
  int *procs[2] = {NULL, NULL}, *to_parts[2] = {NULL, NULL};
  int counts[2] = {-1, -1};
  require(Zoltan_LB_Partition(zoltan, &changes, &lists.gid_entries, &lists.lid_entries, &counts[0],
                              &gids[0], &lids[0], &procs[0], &to_parts[0], &counts[1], &gids[1],
                              &lids[1], &procs[1], &to_parts[1]) == ZOLTAN_OK,
          "Zoltan_LB_Partition");
  lists.imports = (Valet_Zoltan_list){counts[0], gids[0], lids[0], procs[0], to_parts[0]};
  lists.exports = (Valet_Zoltan_list){counts[1], gids[1], lids[1], procs[1], to_parts[1]};

  int calls = 0;
  Valet_Options migration = Valet_Options_default();
  migration.verify = 1;
  Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", "PHASED");
  Valet_Zoltan_list_options options = Valet_Zoltan_list_options_default();
  options.migration = &migration;
  options.zoltan = with_lids ? zoltan : NULL;
  options.parts = part;
  options.global_ids = gid;
  if (!with_lids) options.slot_of = slot_of;
  options.slot_of_data = &calls;
  uint64_t now = 0;
  Valet_Report report = Valet_Report_default();
  require(Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, &lists, each, NULL, storage, &options, &now,
                                     &report) == VALET_SUCCESS,
          "Valet_Zoltan_Migrate_lists");
  require(report.verified && report.blocks_after == now, "the report is not of this migration");
  require(strcmp(report.method, with_lids ? "phased" : "stream") == 0 || ranks == 1,
          "the parameters of a structure are taken where it is given");
  require(with_lids ? calls == 0 : calls > 0, "slot_of is asked where it is given");
  check(now, "a particle is not where it belongs");
  for (int k = 0; k < 2; ++k) Zoltan_LB_Free_Part(&gids[k], &lids[k], &procs[k], &to_parts[k]);
  Zoltan_Destroy(&zoltan);
}

static void refuse(const Valet_Storage* storage) {
  fill();
  const Valet_Zoltan_list none = {-1, NULL, NULL, NULL, NULL};
  const Valet_Zoltan_lists lists = {1, 1, none, none};
  uint64_t now = 4711;
  require(Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, &lists, each, NULL, storage, NULL, &now,
                                     NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "RETURN_LISTS NONE") != NULL && now == 4711,
          "no lists are not refused");
  require(Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, rank == ranks - 1 ? NULL : &lists, each, NULL,
                                     storage, NULL, &now, NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "the lists is a null pointer") != NULL,
          "lists of one rank that are missing are not refused on all");
  Valet_Zoltan_list_options options = Valet_Zoltan_list_options_default();
  options.struct_size = 3;
  require(Valet_Zoltan_Migrate_lists(MPI_COMM_WORLD, &lists, each, NULL, storage, &options, &now,
                                     NULL) == VALET_INVALID_ARGUMENT &&
              strstr(Valet_Error_message(), "Valet_Zoltan_list_options_default()") != NULL,
          "options without their size are not refused");
}

int main(int argc, char** argv) {
  float version = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Zoltan_Initialize(argc, argv, &version);
  Valet_Storage* const storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, place, slots, sizeof place[0], sizeof place[0], "place");
  Valet_Storage_add_field(storage, number, slots, sizeof number[0], sizeof number[0], "number");
  const char* const modes[] = {"ALL", "IMPORT", "EXPORT", "PARTS"};
  for (int mode = 0; mode < 4; ++mode)
    for (int with_lids = 0; with_lids < 2; ++with_lids) migrate(storage, modes[mode], with_lids);
  refuse(storage);
  Valet_Storage_free(storage);
  MPI_Finalize();
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
