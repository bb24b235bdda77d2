// SPDX-License-Identifier: BSD-3-Clause
#include "front/shim.hpp"

#include "attached/calls.hpp"
#include "base/memory_reserve.hpp"
#include "dropin/context.hpp"
#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "handle/structure.hpp"
#include "rebalancer/stock_lists.hpp"
#include <valet/error.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <exception>
#include <memory>
#include <string>
#include <utility>

using namespace valet::zoltan;

namespace {

/// Turns what `action` throws into a code and prints it: once, unless MPI has failed on this rank.
template <class Action>
int as_code(AttachedState& state, const char* function, Action&& action) {
  try {
    action();
    return ZOLTAN_OK;
  } catch (const std::exception& error) {
    const auto* const ours = dynamic_cast<const valet::Error*>(&error);
    const valet::ErrorCode code = ours == nullptr ? valet::ErrorCode::internal : ours->code();
    if (state.channel && code != valet::ErrorCode::mpi_failure)
      print_error_once(*state.channel, function, error.what());
    else
      print_error(rank_in_world(), function, error.what());
    return code == valet::ErrorCode::out_of_memory ? ZOLTAN_MEMERR : ZOLTAN_FATAL;
  }
}

/// Zoltan's outputs for one list. The caller frees the arrays, as those of Zoltan.
struct ListOutputs {
  int* count;
  ZOLTAN_ID_PTR* gids;
  ZOLTAN_ID_PTR* lids;
  int** procs;
  int** parts;  ///< null: not wanted

  void clear() const {
    *count = -1;
    *gids = *lids = nullptr;
    *procs = nullptr;
    if (parts != nullptr) *parts = nullptr;
  }
  void take(StockList& list) const {
    *count = list.count;
    *gids = std::exchange(list.gids, nullptr);
    *lids = std::exchange(list.lids, nullptr);
    *procs = std::exchange(list.procs, nullptr);
    if (parts != nullptr) *parts = std::exchange(list.parts, nullptr);
  }
};

int partition(Zoltan_Struct* zz, const char* function, bool without_parts, int* changes, int* gids,
              int* lids, const ListOutputs& imports, const ListOutputs& exports) {
  const valet::detail::MemoryReserve reserve;
  const std::shared_ptr<AttachedState> state = attached_to(zz);
  *changes = 0;
  imports.clear();
  exports.clear();
  return as_code(*state, function, [&] {
    StockLists lists;
    PartitionWay way = way_of(zz);
    way.without_parts = without_parts;
    *changes = partition_attached(*state, way, lists) ? 1 : 0;
    *gids = lists.entries.gid;
    *lids = lists.entries.lid;
    imports.take(lists.imports);
    exports.take(lists.exports);
  });
}

}  // namespace

int valet::zoltan::migrate_in_front(decltype(&Zoltan_Migrate) stock, Zoltan_Struct* zoltan,
                                    const MigrationList& imports, const MigrationList& exports) {
  const valet::detail::MemoryReserve reserve;  // other ranks wait for this one from here on
  const UserLists lists{imports, exports};
  if (const std::shared_ptr<AttachedState> state = attached_to(zoltan))
    return as_code(*state, "Zoltan_Migrate", [&] { migrate_attached(*state, lists); });
  MigrationParameters parameters = parameters_of(zoltan);
  if (!parameters.method && stock == nullptr) parameters.method = valet::Method::stream;
  say_who_moves(zoltan, parameters);
  if (parameters.method) return migrate(zoltan, lists, parameters);
  return stock(zoltan, imports.count, imports.ids.gids, imports.ids.lids, imports.procs,
               imports.parts, exports.count, exports.ids.gids, exports.ids.lids, exports.procs,
               exports.parts);
}

int Valet_LB_Partition(struct Zoltan_Struct* zz, int* changes, int* num_gid_entries,
                       int* num_lid_entries, int* num_import, ZOLTAN_ID_PTR* import_global_ids,
                       ZOLTAN_ID_PTR* import_local_ids, int** import_procs, int** import_to_part,
                       int* num_export, ZOLTAN_ID_PTR* export_global_ids,
                       ZOLTAN_ID_PTR* export_local_ids, int** export_procs, int** export_to_part) {
  if (lacks_storage(zz)) return ZOLTAN_FATAL;
  if (!has_attached(zz))
    return stock_partition()(zz, changes, num_gid_entries, num_lid_entries, num_import,
                             import_global_ids, import_local_ids, import_procs, import_to_part,
                             num_export, export_global_ids, export_local_ids, export_procs,
                             export_to_part);
  return partition(zz, "Zoltan_LB_Partition", false, changes, num_gid_entries, num_lid_entries,
                   {num_import, import_global_ids, import_local_ids, import_procs, import_to_part},
                   {num_export, export_global_ids, export_local_ids, export_procs, export_to_part});
}

int Valet_LB_Balance(struct Zoltan_Struct* zz, int* changes, int* num_gid_entries,
                     int* num_lid_entries, int* num_import, ZOLTAN_ID_PTR* import_global_ids,
                     ZOLTAN_ID_PTR* import_local_ids, int** import_procs, int* num_export,
                     ZOLTAN_ID_PTR* export_global_ids, ZOLTAN_ID_PTR* export_local_ids,
                     int** export_procs) {
  if (lacks_storage(zz)) return ZOLTAN_FATAL;
  if (!has_attached(zz))
    return stock_balance()(zz, changes, num_gid_entries, num_lid_entries, num_import,
                           import_global_ids, import_local_ids, import_procs, num_export,
                           export_global_ids, export_local_ids, export_procs);
  return partition(zz, "Zoltan_LB_Balance", true, changes, num_gid_entries, num_lid_entries,
                   {num_import, import_global_ids, import_local_ids, import_procs, nullptr},
                   {num_export, export_global_ids, export_local_ids, export_procs, nullptr});
}

int Valet_Set_Param(struct Zoltan_Struct* zz, const char* name, const char* value) {
  const auto refused = [](Zoltan_Struct*, const char* unknown, const char*) -> int {
    print_warning("Zoltan_Set_Param",
                  std::string("Only MIGRATE_* can be set for all structures (NULL), not `") +
                      (unknown == nullptr ? "NULL" : unknown) + "'");
    return ZOLTAN_WARN;
  };
  return take_parameter(zz != nullptr ? &Zoltan_Set_Param : +refused, zz, name, value);
}

int Valet_Migrate(struct Zoltan_Struct* zz, int num_import, ZOLTAN_ID_PTR import_global_ids,
                  ZOLTAN_ID_PTR import_local_ids, int* import_procs, int* import_to_part,
                  int num_export, ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                  int* export_procs, int* export_to_part) {
  return migrate_in_front(
      nullptr, zz,
      {num_import, {import_global_ids, import_local_ids}, import_procs, import_to_part},
      {num_export, {export_global_ids, export_local_ids}, export_procs, export_to_part});
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
  const auto last = copy_of(zz, &HandleState::report);
  if (report == nullptr || !last) return ZOLTAN_WARN;
  *report = *last;
  return ZOLTAN_OK;
}
