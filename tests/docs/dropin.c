/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippet of the adapters in C, word for word: compiled, not run. */

#include <valet/zoltan/valet_zoltan.h>

#include <stdio.h>

void moved_objects(struct Zoltan_Struct* zoltan, int exports, ZOLTAN_ID_PTR export_gids,
                   ZOLTAN_ID_PTR export_lids, int* export_procs, VALET_FREE_OBJ_FN* free_object,
                   VALET_MEMORY_FN* free_bytes, void* mesh);

void moved_objects(struct Zoltan_Struct* zoltan, int exports, ZOLTAN_ID_PTR export_gids,
                   ZOLTAN_ID_PTR export_lids, int* export_procs, VALET_FREE_OBJ_FN* free_object,
                   VALET_MEMORY_FN* free_bytes, void* mesh) {
  Zoltan_Set_Param(zoltan, "MIGRATE_CALLBACKS", "STEPS");
  Valet_Set_Free_Obj_Fn(zoltan, free_object, mesh); /* an object has left: its memory is free */
  Valet_Set_Memory_Fn(zoltan, free_bytes, mesh);    /* asked before each step */
  if (Valet_Migrate(zoltan, -1, NULL, NULL, NULL, NULL, exports, export_gids, export_lids,
                    export_procs, NULL) != ZOLTAN_OK) {
    Valet_Migration_Report report;
    Valet_Get_Report(zoltan, &report);
    fprintf(stderr, "%s; %llu objects had been unpacked\n", report.message,
            (unsigned long long)report.objects_unpacked);
  }
}
