// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "handle_state.hpp"
#include "migration.hpp"
#include "report.hpp"
#include <valet/zoltan/valet_zoltan.h>

using namespace valet::zoltan;

int Valet_Migrate(struct Zoltan_Struct* zz, int num_import, ZOLTAN_ID_PTR import_global_ids,
                  ZOLTAN_ID_PTR import_local_ids, int* import_procs, int* import_to_part,
                  int num_export, ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                  int* export_procs, int* export_to_part) {
  const valet::detail::MemoryReserve reserve;  // other ranks wait for this one from here on
  MigrationParameters parameters = parameters_of(zz);
  if (!parameters.method) parameters.method = valet::Method::stream;
  say_who_moves(zz, parameters);
  return migrate(
      zz,
      {{num_import, {import_global_ids, import_local_ids}, import_procs, import_to_part},
       {num_export, {export_global_ids, export_local_ids}, export_procs, export_to_part}},
      parameters);
}

int Valet_Set_Free_Obj_Fn(struct Zoltan_Struct* zz, VALET_FREE_OBJ_FN* fn, void* data) {
  change_handle_state(zz, [&](HandleState& own) { own.free_object = {fn, data}; });
  return ZOLTAN_OK;
}

int Valet_Set_Memory_Fn(struct Zoltan_Struct* zz, VALET_MEMORY_FN* fn, void* data) {
  change_handle_state(zz, [&](HandleState& own) { own.memory = {fn, data}; });
  return ZOLTAN_OK;
}

int Valet_Get_Report(struct Zoltan_Struct* zz, Valet_Migration_Report* report) {
  const HandleState state = handle_state_of(zz);
  if (report == nullptr || !state.report) return ZOLTAN_WARN;
  *report = *state.report;
  return ZOLTAN_OK;
}
