// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "list_reader.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "slot_map.hpp"
#include "storage/guarded_backend.hpp"
#include "storage/joined_backend.hpp"
#include <valet/plan.hpp>
#include <valet/zoltan/lists.hpp>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace valet::zoltan {
namespace {

/// Whether the data is as it was when such an error is thrown.
bool has_moved_nothing(ErrorCode code) {
  return code != ErrorCode::corrupted && code != ErrorCode::mpi_failure &&
         code != ErrorCode::internal && code != ErrorCode::callback_failed;
}

/// The arrays that move along with a storage.
std::vector<Field> fields_along(const MovedAlong& moved, const ListOptions& options,
                                int gid_words) {
  std::vector<Field> fields;
  if (moved.parts.value_or(false)) fields.push_back(field(options.parts, 1, "ListOptions::parts"));
  if (moved.global_ids.value_or(false))
    fields.push_back(
        field(options.global_ids, static_cast<std::size_t>(gid_words), "ListOptions::global_ids"));
  return fields;
}

BlockStorage joined(const BlockStorage& storage, const std::vector<Field>& fields) {
  if (fields.empty()) return storage;
  return BlockStorage(std::make_shared<storage::JoinedBackend>(storage, BlockStorage(fields)));
}
RaggedStorage joined(const RaggedStorage& storage, const std::vector<Field>& fields) {
  std::vector<Field> columns = storage.columns();
  columns.insert(columns.end(), fields.begin(), fields.end());
  return RaggedStorage(storage.fields(), columns);
}

/// Plans, and moves. @return The report of it.
Report move(MPI_Comm communicator, const ListCall& call, SlotMap& map, const BlockStorage& blocks,
            std::uint64_t& required_slots) {
  Plan plan =
      plan_to_ranks(communicator, blocks, call.occupied, map.ranks(), call.options.migration);
  map.release();
  required_slots = plan.required_slots();
  return execute(plan, blocks);
}
Report move(MPI_Comm communicator, const ListCall& call, SlotMap& map, const RaggedStorage& blocks,
            std::uint64_t& required_slots) {
  RaggedPlan plan = plan_to_ranks(communicator, blocks, call.occupied.map_size(), map.ranks(),
                                  call.options.migration);
  required_slots = plan.blocks_after();
  return execute(plan, blocks, map.ranks());
}

/// @param call  Without the rank and the ranks.
template <class Storage>
ListMigration migrate_listed(MPI_Comm communicator, const PartitionLists& lists, ListCall call,
                             const Storage& storage) {
  std::optional<mpi::Channel> channel = mpi::Channel::open_for_call(communicator);
  const double start = mpi::now();
  call.rank = channel->rank();
  call.ranks = channel->size();
  Ledger ledger;
  SlotMap map(ledger, call);
  const MovedAlong along = ListReader(*channel, ledger, lists, call, map).run();
  channel.reset();  // the plan takes the place of the call
  ListMigration result;
  result.list_seconds = mpi::now() - start;
  result.list_bytes = ledger.peak_bytes();
  try {
    const Storage blocks = joined(storage, fields_along(along, call.options, lists.gid_entries));
    result.report = move(communicator, call, map, blocks, result.required_slots);
  } catch (const Error& error) {
    if (has_moved_nothing(error.code())) map.restore_parts();
    throw;
  }
  result.count = result.report.blocks_after;
  return result;
}

/// The blocks that a storage has room for in all of its arrays.
std::uint64_t slots_of(const RaggedStorage& storage) {
  std::uint64_t slots = std::numeric_limits<std::uint64_t>::max();
  for (const RaggedField& field : storage.fields()) slots = std::min(slots, field.block_capacity);
  for (const Field& column : storage.columns()) slots = std::min(slots, column.slots);
  return slots;
}

}  // namespace

ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
                      const BlockStorage& storage, const ListOptions& options) {
  const valet::detail::MemoryReserve reserve;
  ListCall call{.entries = {lists.gid_entries, lists.lid_entries},
                .occupied = occupied,
                .slots = storage.slots(),
                .wrong_storage = storage::asked([&] { return storage.backend().diagnostic(); }),
                .options = options};
  return migrate_listed(communicator, lists, std::move(call), storage);
}

ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists, std::uint64_t count,
                      const RaggedStorage& storage, const ListOptions& options) {
  const valet::detail::MemoryReserve reserve;
  const Occupied occupied(count);
  ListCall call{.entries = {lists.gid_entries, lists.lid_entries},
                .occupied = occupied,
                .slots = slots_of(storage),
                .options = options};
  return migrate_listed(communicator, lists, std::move(call), storage);
}

}  // namespace valet::zoltan
