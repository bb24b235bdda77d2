// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From the lists of all ranks to a destination for each object of this one.

#include "dropin/lists.hpp"
#include "lists/slot_map.hpp"
#include "mpi/channel.hpp"
#include <valet/block_storage.hpp>
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/zoltan/lists.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace valet::zoltan {

/// What moves along with the storage, on all ranks: a rank without slots has arrays without
/// entries, which do not tell.
struct MovedAlong {
  std::optional<bool> parts, global_ids;
  bool is_reported = false;  ///< some rank writes a report
};

/// Reads the lists into the map. Collective; one reduction for exports, two where imports are to be
/// compared with them, three and a round of messages for imports alone.
/// @param channel  For this call.
/// @throws Error on all ranks alike.
MovedAlong read_lists(const mpi::Channel& channel, Ledger& ledger, const UserLists& lists,
                      const ListCall& call, SlotMap& map);

/// Whether the data is as it was when such an error is thrown.
[[nodiscard]] bool has_moved_nothing(ErrorCode code);

/// The blocks that a storage has room for in all of its arrays.
[[nodiscard]] std::uint64_t slots_of(const RaggedStorage& storage);

/// A storage with arrays that move along.
[[nodiscard]] BlockStorage joined(const BlockStorage& storage, const std::vector<Field>& fields);
[[nodiscard]] RaggedStorage joined(const RaggedStorage& storage, const std::vector<Field>& fields);

}  // namespace valet::zoltan
