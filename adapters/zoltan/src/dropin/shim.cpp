// SPDX-License-Identifier: BSD-3-Clause
#include "shim.hpp"

#include "base/memory_reserve.hpp"
#include "handle_state.hpp"
#include "migration.hpp"
#include "report.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <optional>

namespace valet::zoltan::shim {
namespace {

/// ZOLTAN_OK or ZOLTAN_WARN for a parameter of ours; nothing for one of Zoltan's.
std::optional<int> take_parameter(const Zoltan_Struct* zz, const char* name, const char* value) {
  const ParameterAnswer answer = set_parameter(zz, name, value);
  switch (answer.verdict) {
    case ParameterAnswer::Verdict::not_ours: return std::nullopt;
    case ParameterAnswer::Verdict::taken: return ZOLTAN_OK;
    case ParameterAnswer::Verdict::refused: break;
  }
  print_warning("Zoltan_Set_Param", answer.warning);
  return ZOLTAN_WARN;
}

}  // namespace

int migrate(decltype(&Zoltan_Migrate) stock, Zoltan_Struct* zz, int num_import,
            ZOLTAN_ID_PTR import_global_ids, ZOLTAN_ID_PTR import_local_ids, int* import_procs,
            int* import_to_part, int num_export, ZOLTAN_ID_PTR export_global_ids,
            ZOLTAN_ID_PTR export_local_ids, int* export_procs, int* export_to_part) {
  const valet::detail::MemoryReserve reserve;  // other ranks wait for this one from here on
  const MigrationParameters parameters = parameters_of(zz);
  say_who_moves(zz, parameters);
  if (!parameters.method)
    return stock(zz, num_import, import_global_ids, import_local_ids, import_procs, import_to_part,
                 num_export, export_global_ids, export_local_ids, export_procs, export_to_part);
  return zoltan::migrate(
      stock, zz,
      {{num_import, {import_global_ids, import_local_ids}, import_procs, import_to_part},
       {num_export, {export_global_ids, export_local_ids}, export_procs, export_to_part}},
      parameters);
}

int set_param(decltype(&Zoltan_Set_Param) stock, Zoltan_Struct* zz, const char* name,
              const char* value) {
  const std::optional<int> taken = take_parameter(zz, name, value);
  return taken ? *taken : stock(zz, name, value);
}

int set_param_vec(decltype(&Zoltan_Set_Param_Vec) stock, Zoltan_Struct* zz, const char* name,
                  const char* value, int index) {
  const std::optional<int> taken = take_parameter(zz, name, value);
  return taken ? *taken : stock(zz, name, value, index);
}

Zoltan_Struct* create(decltype(&Zoltan_Create) stock, MPI_Comm communicator) {
  Zoltan_Struct* const zz = stock(communicator);
  // Its address may be that of one whose end we did not see.
  forget_handle_state(zz);
  return zz;
}

Zoltan_Struct* copy(decltype(&Zoltan_Copy) stock, const Zoltan_Struct* from) {
  Zoltan_Struct* const to = stock(from);
  copy_handle_state(to, from);
  return to;
}

int copy_to(decltype(&Zoltan_Copy_To) stock, Zoltan_Struct* to, const Zoltan_Struct* from) {
  const int code = stock(to, from);
  copy_handle_state(to, from);
  return code;
}

void destroy(decltype(&Zoltan_Destroy) stock, Zoltan_Struct** zz) {
  if (zz != nullptr) forget_handle_state(*zz);
  stock(zz);
}

}  // namespace valet::zoltan::shim

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
      stock_migrate(), zz,
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
