// SPDX-License-Identifier: BSD-3-Clause
#include "bindings/c_call.hpp"
#include <valet/zoltan/lists.h>
#include <valet/zoltan/lists.hpp>

#include <cstddef>
#include <cstdint>

namespace {

using valet::c::require_pointer;
using namespace valet::zoltan;

PartitionList to_list(const Valet_Zoltan_list& list) {
  return {list.count, list.global_ids, list.local_ids, list.procs, list.parts};
}

Valet_Zoltan_list_options default_list_options() {
  Valet_Zoltan_list_options defaults{};
  defaults.struct_size = sizeof defaults;
  return defaults;
}

/// The arguments of a call, as C++ has them.
struct ListArguments {
  PartitionLists lists;
  valet::BlockStorage storage;
  ListOptions options;
};

ListOptions to_list_options(const Valet_Zoltan_list_options* given, std::uint64_t slots,
                            int gid_entries) {
  ListOptions result;
  const Valet_Zoltan_list_options options =
      given == nullptr
          ? default_list_options()
          : valet::c::complete("Valet_Zoltan_list_options", *given, default_list_options());
  result.migration = valet::c::to_options(valet::c::complete_options(options.migration));
  if (options.slot_of != nullptr)
    result.slot_of = [function = options.slot_of, data = options.slot_of_data](
                         const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id) {
      return function(global_id, local_id, data);
    };
  if (options.part_to_rank != nullptr)
    result.part_to_rank = {options.part_to_rank, options.part_count};
  if (options.parts != nullptr) result.parts = {options.parts, slots};
  if (options.global_ids != nullptr && gid_entries > 0)
    result.global_ids = {options.global_ids, slots * static_cast<std::size_t>(gid_entries)};
  result.zoltan = options.zoltan;
  return result;
}

ListArguments to_arguments(const Valet_Zoltan_lists* lists, const Valet_Storage* storage,
                           const Valet_Zoltan_list_options* options, const std::uint64_t* new_count,
                           const Valet_Report* report) {
  require_pointer(lists, "the lists", "give what Zoltan_LB_Partition returned");
  require_pointer(storage, "the storage", "make one by Valet_Storage_create()");
  require_pointer(new_count, "the place for the new count", "give the address of a uint64_t");
  valet::c::require_report(report);
  const valet::BlockStorage blocks = valet::c::to_storage(storage);
  return {
      {lists->gid_entries, lists->lid_entries, to_list(lists->imports), to_list(lists->exports)},
      blocks,
      to_list_options(options, blocks.slots(), lists->gid_entries)};
}

}  // namespace

void Valet_Zoltan_list_options_init(Valet_Zoltan_list_options* options, size_t struct_size) {
  valet::c::initialise(options, struct_size, default_list_options());
}

int Valet_Zoltan_Migrate_lists(MPI_Comm communicator, const Valet_Zoltan_lists* lists,
                               uint64_t count, const uint8_t* mask, const Valet_Storage* storage,
                               const Valet_Zoltan_list_options* options, uint64_t* new_count,
                               Valet_Report* report) {
  return valet::c::guarded([&] {
    const ListArguments call = valet::c::agreed(communicator, [&](int) {
      return to_arguments(lists, storage, options, new_count, report);
    });
    const ListMigration done = migrate(communicator, call.lists, valet::c::to_occupied(count, mask),
                                       call.storage, call.options);
    *new_count = done.count;
    valet::c::write_report(done.report, report);
  });
}
