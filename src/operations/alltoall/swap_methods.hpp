// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The two methods of Zhuang, Nakashima, Nagamochi 3, as sequences of swaps.

#include "operations/alltoall/swap_sequence.hpp"
#include <valet/export.hpp>

#include <cstdint>

namespace valet::operations {

/// Phases of the sort between `ranks` ranks: ceil(log2(ranks)). Phase k has k steps.
[[nodiscard]] VALET_EXPORT int bitonic_phases(int ranks);

/// The rank that `rank` meets in a step, 0 to phase - 1, of a phase, 1 to bitonic_phases(ranks);
/// it may not exist. The first step of a phase pairs ranks that are mirrored in a group of 2^phase,
/// so that all sequences ascend. Then ranks that do not exist are ranks with the highest slots,
/// which keep them. The paper's alternating directions need a power of two.
[[nodiscard]] VALET_EXPORT int bitonic_partner(int rank, int phase, int step);

/// Chunks of any two ranks together, and four more, whatever the counts: a group enters a phase
/// with at most one for each half, destination and kind, elements or free slots, and one more where
/// a rank ends; each swap cuts two.
[[nodiscard]] VALET_EXPORT std::uint64_t most_bitonic_chunks(int ranks);

/// Starts a phase: elements are told apart by their half of the group and their place in it.
/// @param slots  Of each rank.
VALET_EXPORT void number_chunks(Chunks& chunks, int rank, int phase, std::uint64_t slots);

/// BITONIC (3.2). Collective.
///
/// Each rank holds `slots` slots, and its table lists its elements by destination; afterwards it
/// holds what is destined for it, in the order of their sources, its free slots last.
///
/// Stable with short tables, although an element does not know its source: a phase merges
/// the sorted sequences of two groups of consecutive ranks. Of elements with one destination those
/// of the lower group go first, and inside a group the place in its sequence is the order. So a
/// chunk needs a group and a place, not a source; and since the places of a destination in a group
/// are consecutive, a rank enters a phase with at most one chunk per destination, free slots apart.
/// All of a group together are at most most_bitonic_chunks(). A table by
/// (destination, source) would hold P*P/2 chunks on one rank for counts that are small but for one
/// destination.
void sort_bitonic(SwapSequence& sequence, std::uint64_t slots);

/// PAIRWISE (3.3), stable. Collective.
///
/// Each rank has first got rid of what the ranks below it want; then it gets what it wants from
/// those above, one after the other, for slots it does not want. Of these it gives the partner's
/// own first, then those of the ranks above it: the paper leaves this open, and what is given to
/// its destination is not given again. The table is by (destination, source) and can get long.
void exchange_pairwise(SwapSequence& sequence);

}  // namespace valet::operations
