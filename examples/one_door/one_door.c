/* SPDX-License-Identifier: BSD-3-Clause */

/* one_door.cpp in C: particles in arrays, attached to Zoltan. */
#include "limit.h"
#include <valet/zoltan/valet_zoltan.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { each = 200000, slots = 300000 }; /* particles of a rank, and its room */

static double position[slots][3], velocity[slots][3], work[slots];
static int id[slots];

static void make(int first) {
  for (int s = 0; s < each; ++s) {
    id[s] = first + s;
    work[s] = 1 + id[s] % 3;
    for (int d = 0; d < 3; ++d) velocity[s][d] = id[s] % (101 + d);
    for (int64_t d = 0; d < 3; ++d) position[s][d] = (double)(id[s] * (7919 + 96810 * d) % 1000003);
  }
}

/* Sums over the particles of all ranks that nothing may change: their number, ids, and states. */
static void add_up(uint64_t count, long long sums[4]) {
  sums[0] = (long long)count;
  sums[1] = sums[2] = sums[3] = 0;
  for (uint64_t s = 0; s < count; ++s) {
    sums[1] += id[s];
    sums[2] += (long long)id[s] * id[s];
    for (int d = 0; d < 3; ++d)
      sums[3] += (id[s] + d) * (long long)(position[s][d] + 7 * velocity[s][d]);
  }
  MPI_Allreduce(MPI_IN_PLACE, sums, 4, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
}

/* Partitions, and tells what that took. Returns the bytes that Valet promises; 0 after an error. */
static uint64_t step(Valet_Attached* attached, int is_told) {
  Valet_Rebalance_result result = Valet_Rebalance_result_default();
  Valet_Report report = Valet_Report_default(), all = Valet_Report_default();
  const int code = Valet_Attached_partition(attached, NULL, NULL);
  Valet_Attached_result(attached, &result, &report);
  Valet_Summed_over_ranks(MPI_COMM_WORLD, &report, &all);
  uint64_t peak = result.partition_extra_bytes;
  if (peak < all.peak_extra_bytes) peak = all.peak_extra_bytes;
  MPI_Allreduce(MPI_IN_PLACE, &peak, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  const uint64_t promised = all.budget_bytes + 65536 + 256 * (uint64_t)(all.ranks - 1) + 12 * slots;
  if (is_told)
    printf("  by %s: ASPEN's segments %d, peak %d of %d KiB. %s\n", all.method, (int)all.segments,
           (int)(peak >> 10), (int)(promised >> 10), all.reason);
  return code == VALET_SUCCESS && peak <= promised ? promised : 0;
}

int main(int argc, char** argv) {
  float version = 0;
  int rank = 0, wrong = 0;
  long long before[4], after[4];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  Zoltan_Initialize(argc, argv, &version);
  make(each * rank);
  add_up(each, before);
  struct Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Valet_Attached* attached = NULL;
  Valet_Storage* const storage = Valet_Storage_create();
  Valet_Storage_add_field(storage, position, slots, 24, 24, "position");
  Valet_Storage_add_field(storage, velocity, slots, 24, 24, "velocity");
  Valet_Storage_add_field(storage, work, slots, 8, 8, "work");
  Valet_Storage_add_field(storage, id, slots, 4, 4, "id");
  const Valet_Numbers place = {position, VALET_NUMBERS_DOUBLE, 3, 0, slots};
  const Valet_Numbers weight = {work, VALET_NUMBERS_DOUBLE, 1, 0, slots};
  wrong += Valet_Zoltan_attach(zoltan, each, storage, NULL, &attached) != VALET_SUCCESS;
  Valet_Storage_free(storage);
  Valet_Attached_coordinates(attached, &place);
  Valet_Attached_weights(attached, &weight);
  for (int pass = 0; pass < 2; ++pass) {
    char name[64], value[64];
    uint64_t promised = 0;
    FILE* const file = fopen(argc > 1 ? argv[1] : "one_door.txt", "r");
    while (file != NULL && fscanf(file, "%63s %63s", name, value) == 2) {
      wrong += Zoltan_Set_Param(zoltan, name, value) != ZOLTAN_OK;
      if (pass == 1 && rank == 0) printf("%s %s\n", name, value);
      if (strcmp(name, "LB_METHOD") != 0) continue;
      promised = step(attached, pass == 1 && rank == 0);
      add_up(Valet_Attached_count(attached), after);
      wrong += promised == 0 || memcmp(before, after, sizeof before) != 0;
    }
    wrong += promised == 0 || fclose(file) != 0; /* a method was in the file */
    if (pass == 0) limit_data(promised);
  }
  wrong += malloc(sizeof position + sizeof velocity) != NULL; /* a second copy does not fit */
  Valet_Attached_free(attached);
  Zoltan_Destroy(&zoltan);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) puts(wrong == 0 ? "every particle is there once" : "something is wrong");
  MPI_Finalize();
  return wrong;
}
