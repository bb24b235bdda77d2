/* SPDX-License-Identifier: BSD-3-Clause */

/* The functions around the snippets of dropin.c, which reference_zoltan_test.cpp runs. */
#ifndef VALET_TESTS_REFERENCE_ZOLTAN_H
#define VALET_TESTS_REFERENCE_ZOLTAN_H

#include <valet/zoltan/valet_zoltan.h>

#include <stdio.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

void moved_objects(struct Zoltan_Struct* zoltan, int exports, ZOLTAN_ID_PTR export_gids,
                   ZOLTAN_ID_PTR export_lids, int* export_procs, VALET_FREE_OBJ_FN* free_object,
                   VALET_MEMORY_FN* free_bytes, void* mesh);
/* Whether something changed: 2 the first time, 1 the second time. */
int partitioned_twice(struct Zoltan_Struct* zoltan);
uint64_t partitioned(struct Zoltan_Struct* zoltan, const Valet_Storage* storage, uint64_t count,
                     uint64_t slots, const double* position, const float* work);
/* What the function that makes room has. */
struct room {
  Valet_Attached* cells;
  int* id;
};
uint64_t dealt(struct Zoltan_Struct* zoltan, const Valet_Storage* storage, uint64_t count,
               uint64_t slots, struct room* room);
uint64_t moved_by_lists(MPI_Comm comm, const Valet_Storage* storage, uint64_t count,
                        ZOLTAN_ID_TYPE first, int num_export, const ZOLTAN_ID_TYPE* export_gids,
                        const int* export_procs);

#ifdef __cplusplus
}
#endif

#endif
