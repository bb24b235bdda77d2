// SPDX-License-Identifier: BSD-3-Clause
#include "base/memory_reserve.hpp"
#include "list_reader.hpp"
#include "mpi/channel.hpp"
#include "mpi/check.hpp"
#include "slot_map.hpp"
#include "storage/joined_backend.hpp"
#include <valet/plan.hpp>
#include <valet/zoltan/lists.hpp>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <utility>

namespace valet::zoltan {
namespace {

/// Whether the data is as it was when such an error is thrown.
bool has_moved_nothing(ErrorCode code) {
  return code != ErrorCode::corrupted && code != ErrorCode::mpi_failure &&
         code != ErrorCode::internal && code != ErrorCode::callback_failed;
}

/// The storage, and the arrays that move along.
BlockStorage joined(const BlockStorage& storage, const MovedAlong& along,
                    const ListOptions& options, int gid_words) {
  std::array<Field, 2> fields;
  std::size_t count = 0;
  if (along.parts.value_or(false)) fields[count++] = field(options.parts, 1, "ListOptions::parts");
  if (along.global_ids.value_or(false))
    fields[count++] =
        field(options.global_ids, static_cast<std::size_t>(gid_words), "ListOptions::global_ids");
  if (count == 0) return storage;
  return BlockStorage(std::make_shared<storage::JoinedBackend>(
      storage, BlockStorage(std::span<const Field>(fields.data(), count))));
}

}  // namespace

ListMigration migrate(MPI_Comm communicator, const PartitionLists& lists, const Occupied& occupied,
                      const BlockStorage& storage, const ListOptions& options) {
  const valet::detail::MemoryReserve reserve;
  std::optional<mpi::Channel> channel = mpi::Channel::open_for_call(communicator);
  const double start = mpi::now();
  const ListCall call{{lists.gid_entries, lists.lid_entries},
                      channel->rank(),
                      channel->size(),
                      occupied,
                      storage,
                      options};
  Ledger ledger;
  SlotMap map(ledger, call);
  const MovedAlong along = ListReader(*channel, ledger, lists, call, map).run();
  channel.reset();  // the plan takes the place of the call
  ListMigration result;
  result.list_seconds = mpi::now() - start;
  try {
    const BlockStorage blocks = joined(storage, along, options, lists.gid_entries);
    Plan plan = plan_to_ranks(communicator, blocks, occupied, map.ranks(), options.migration);
    map.release();
    result.list_bytes = ledger.peak_bytes();
    result.required_slots = plan.required_slots();
    result.report = execute(plan, blocks);
  } catch (const Error& error) {
    if (has_moved_nothing(error.code())) map.restore_parts();
    throw;
  }
  result.count = result.report.blocks_after;
  return result;
}

}  // namespace valet::zoltan
