// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Correction of maps to ranks that give a rank more blocks than it has slots.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <span>

namespace valet {

/// Changes made by repair().
struct RepairResult {
  std::uint64_t changed = 0;         ///< blocks of this rank with a new destination [local]
  std::uint64_t changed_in_all = 0;  ///< the same for all ranks: the blocks beyond the slots
};

/// Corrects a map to ranks with the fewest changes, so that no rank gets more blocks than it has
/// slots.
///
/// Collective over `communicator`, including ranks without blocks or slots; blocking. Moves
/// nothing. If every rank has enough slots, nothing changes, at the cost of exchanging counts.
///
/// The number of changed blocks equals the excess of blocks over slots, summed over ranks: no
/// repair changes fewer. Among such repairs this one keeps the fullest receiving rank as empty as
/// possible: ranks with room are filled to a common number of blocks, and lower ranks get one more
/// if that does not come out even. Excess and room are paired in rank order: the lowest ranks with
/// too many blocks give them to the lowest ranks with room. A rank with too many blocks gives up
/// blocks of each source, including itself, in proportion to what that source sends it (to within
/// one block), taking those in the source's highest slots.
///
/// @param communicator  An intracommunicator; the first call caches a duplicate on it.
/// @param occupied      The slots that hold a block. [local]
/// @param ranks         ranks[k]: destination of the block in slot k, 0 to P-1; occupied.map_size()
///                      entries, those of free slots are ignored. Corrected in place. [local]
/// @param slots         Most blocks that this rank may hold afterwards; any number. [local]
/// @return The numbers of changed blocks; the map can then be given to plan_to_ranks().
/// @throws Error infeasible (all ranks together have fewer slots than blocks; the text gives the
///         numbers), rank_out_of_range, invalid_argument, out_of_memory: the same error on all
///         ranks, and the map is unchanged. not_initialized, invalid_communicator.
///
/// Memory while it runs: 64 KiB + 256*neighbours bytes, neighbours being the ranks that this one
/// sends blocks to or gets them from; 64*P more if some rank has too few slots.
///
/// Time: O(blocks + neighbours + log P); O(P log blocks) more if some rank has too few slots.
VALET_EXPORT RepairResult repair(MPI_Comm communicator, const Occupied& occupied,
                                 std::span<int> ranks, std::uint64_t slots);

}  // namespace valet
