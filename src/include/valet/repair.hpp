// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Maps to ranks that give a rank more blocks than it has slots, corrected by the fewest changes.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <span>

namespace valet {

/// What a repair() changed.
struct RepairResult {
  std::uint64_t changed = 0;         ///< blocks of this rank that got another destination [local]
  std::uint64_t changed_in_all = 0;  ///< of all ranks: the sum of what exceeded the slots
};

/// Corrects a map to ranks, so that no rank is given more blocks than it has slots.
///
/// Collective over `communicator`, ranks without blocks or slots included; blocking. Moves nothing.
/// Where every rank has the slots nothing changes, and this costs the exchange of counts.
///
/// As many blocks change as exceed the slots in all: no repair changes fewer. Of those that change
/// as few, the fullest of the ranks that take them is as empty as it can be: the ranks with room
/// are filled like vessels of water, up to the same number of blocks; where that does not come out
/// even, lower ranks get one more. Excess and room are paired in the order of ranks, so that the
/// lowest ranks with too many blocks give them to the lowest ranks with room. A rank with too many
/// gives up a part of the blocks of each source, itself included, in proportion to what each sends
/// it (less than one block off), and of a source those in its highest slots.
///
/// @param communicator  An intracommunicator; its duplicate is cached on it at the first call.
/// @param occupied  Which slots hold a block. [local]
/// @param ranks     ranks[k]: destination of the block in slot k, 0 to P-1; occupied.map_size()
///                  entries; entries of free slots are ignored. Corrected in place. [local]
/// @param slots     Most blocks that this rank may hold afterwards; any number. [local]
/// @return How many blocks changed; the map is then one for plan_to_ranks().
/// @throws Error infeasible  All ranks together have fewer slots than blocks; the text says how
///         many. rank_out_of_range, invalid_argument, out_of_memory. All are thrown on all ranks
///         alike, and the map is as it was. not_initialized, invalid_communicator.
///
/// Memory while it runs: 64 KiB + 256*neighbours bytes, neighbours being the ranks that this one
/// sends blocks to or gets them from; where some rank has too few slots 64*P more.
/// Time: O(blocks + neighbours + log P); where some rank has too few slots O(P log blocks) more.
VALET_EXPORT RepairResult repair(MPI_Comm communicator, const Occupied& occupied,
                                 std::span<int> ranks, std::uint64_t slots);

}  // namespace valet
