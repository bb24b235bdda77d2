/* SPDX-License-Identifier: BSD-3-Clause */

/* The snippets of the adapters in C, word for word; reference_zoltan_test.cpp runs them. */

#include "reference_zoltan.h"

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

int partitioned_twice(struct Zoltan_Struct* zoltan) {
  int changes, gid_entries, lid_entries, num_import, num_export, again = 0;
  int *import_procs, *import_parts, *export_procs, *export_parts;
  ZOLTAN_ID_PTR import_gids, import_lids, export_gids, export_lids;

  /* Storage is attached: Zoltan's calls by names that reach Valet in any link order. */
  Valet_Set_Param(zoltan, "AUTO_MIGRATE", "TRUE");
  Valet_Set_Param(zoltan, "RETURN_LISTS", "NONE");
  Valet_LB_Partition(zoltan, &changes, &gid_entries, &lid_entries, &num_import, &import_gids,
                     &import_lids, &import_procs, &import_parts, &num_export, &export_gids,
                     &export_lids, &export_procs, &export_parts);

  /* The same where parts are ranks. */
  Valet_LB_Balance(zoltan, &again, &gid_entries, &lid_entries, &num_import, &import_gids,
                   &import_lids, &import_procs, &num_export, &export_gids, &export_lids,
                   &export_procs);
  return 2 * changes + again;
}

uint64_t partitioned(struct Zoltan_Struct* zoltan, const Valet_Storage* storage, uint64_t count,
                     uint64_t slots, const double* position, const float* work) {
  Valet_Report report = Valet_Report_default();

  Valet_Attached* cells = NULL;
  Valet_Zoltan_attach(zoltan, count, storage, NULL, &cells); /* the fields of its slots */
  const Valet_Numbers place = {position, VALET_NUMBERS_DOUBLE, 3, 0, slots};
  const Valet_Numbers load = {work, VALET_NUMBERS_FLOAT, 1, 0, slots};
  Valet_Attached_coordinates(cells, &place);
  Valet_Attached_weights(cells, &load);
  Valet_Set_Param(zoltan, "LB_METHOD", "RCB");
  Valet_Set_Param(zoltan, "MIGRATE_METHOD", "STREAM");
  if (Valet_Attached_partition(cells, NULL, &report) == VALET_SUCCESS)
    count = Valet_Attached_count(cells);
  else
    fprintf(stderr, "%s\n", Valet_Error_message());
  Valet_Attached_free(cells);
  return count;
}
/* Gives the arrays that are asked for; Valet_Attached_storage_ragged() gives ragged ones. */
static int enlarge(uint64_t required_slots, const uint64_t* required_bytes, void* data) {
  struct room* room = data;
  (void)required_bytes;
  room->id = realloc(room->id, required_slots * sizeof *room->id);
  Valet_Storage* larger = Valet_Storage_create();
  Valet_Storage_add_field(larger, room->id, required_slots, 4, 4, "id");
  const int code = Valet_Attached_storage(room->cells, larger);
  Valet_Storage_free(larger);
  return code;
}

uint64_t dealt(struct Zoltan_Struct* zoltan, const Valet_Storage* storage, uint64_t count,
               uint64_t slots, struct room* room) {
  int* const id = room->id;

  /* Arrays that grow where a rank gets more. Ragged ones: Valet_Zoltan_attach_ragged(). */
  Valet_Attached_options options = Valet_Attached_options_default();
  options.when_infeasible = VALET_WHEN_INFEASIBLE_GROW;
  Valet_Zoltan_attach(zoltan, count, storage, &options, &room->cells);
  Valet_Attached_grow(room->cells, enlarge, room);
  const Valet_Numbers names = {id, VALET_NUMBERS_INT32, 1, 0, slots};
  Valet_Attached_ids(room->cells, &names); /* which relations use; parts: Valet_Attached_parts() */

  /* Dealt out, objects are in a layout, until the application itself moves some. */
  Valet_Set_Param(zoltan, "LB_METHOD", "CYCLIC");
  Valet_Rebalance_result result = Valet_Rebalance_result_default();
  Valet_Object_layout layout = {.block_size = 0};
  int is_known = 0;
  if (Valet_Attached_partition(room->cells, NULL, NULL) == VALET_SUCCESS)
    Valet_Attached_result(room->cells, &result, NULL); /* counts, times, imbalances */
  count = Valet_Attached_count(room->cells);
  Valet_Attached_layout(room->cells, &is_known, &layout);
  Valet_Attached_forget_layout(room->cells);
  if (is_known) Valet_Attached_set_layout(room->cells, &layout); /* as it is still right here */
  Valet_Attached_set_count(room->cells, count);                  /* or as many as there are then */
  Valet_Attached_detach(room->cells);
  Valet_Attached_free(room->cells);
  return count;
}

/* For local ids that are no slots; global ids are numbers here, from `first` on. */
static uint64_t slot_of(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id,
                        void* first) {
  (void)local_id;
  return *global_id - *(const ZOLTAN_ID_TYPE*)first;
}

uint64_t moved_by_lists(MPI_Comm comm, const Valet_Storage* storage, uint64_t count,
                        ZOLTAN_ID_TYPE first, int num_export, const ZOLTAN_ID_TYPE* export_gids,
                        const int* export_procs) {
  const int gid_entries = 1, lid_entries = 0, num_import = -1;
  const ZOLTAN_ID_TYPE *import_gids = NULL, *import_lids = NULL, *export_lids = NULL;
  const int *import_procs = NULL, *import_parts = NULL, *export_parts = NULL;

  const Valet_Zoltan_lists lists = {
      gid_entries,
      lid_entries,
      {num_import, import_gids, import_lids, import_procs, import_parts},
      {num_export, export_gids, export_lids, export_procs, export_parts}};
  Valet_Zoltan_list_options options = Valet_Zoltan_list_options_default();
  options.slot_of = slot_of;
  options.slot_of_data = &first;
  if (Valet_Zoltan_Migrate_lists(comm, &lists, count, NULL, storage, &options, &count, NULL) !=
      VALET_SUCCESS)
    fprintf(stderr, "%s\n", Valet_Error_message());
  return count;
}
