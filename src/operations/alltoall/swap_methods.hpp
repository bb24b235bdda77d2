// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The two methods of Zhuang, Nakashima, Nagamochi 3, as sequences of swaps.

#include "operations/alltoall/swap_sequence.hpp"

#include <algorithm>
#include <cstdint>
#include <span>

namespace valet::operations {

/// Phases of the sort between `ranks` ranks: ceil(log2(ranks)). Phase k has k steps.
[[nodiscard]] inline int bitonic_phases(int ranks) {
  int phases = 0;
  while (phases < 31 && (std::int64_t{1} << phases) < ranks) ++phases;
  return phases;
}

/// The rank that `rank` meets in a step, 0 to phase - 1, of a phase, 1 to bitonic_phases(ranks);
/// it may not exist. The first step of a phase pairs ranks that are mirrored in a group of 2^phase,
/// so that all sequences ascend. Then ranks that do not exist are ranks with the highest slots,
/// which keep them. The paper's alternating directions need a power of two.
[[nodiscard]] inline int bitonic_partner(int rank, int phase, int step) {
  if (step == 0) return static_cast<int>(static_cast<unsigned>(rank) ^ ((1U << phase) - 1));
  return static_cast<int>(static_cast<unsigned>(rank) ^ (1U << (phase - 1 - step)));
}

/// Runs of any two ranks together, and four more, whatever the counts: a group enters a phase with
/// at most one for each half, destination and kind, elements or free slots, and one more where a
/// rank ends; each swap cuts two.
[[nodiscard]] inline std::uint64_t most_bitonic_runs(int ranks) {
  const auto p = static_cast<std::uint64_t>(ranks);
  const auto phases = static_cast<std::uint64_t>(bitonic_phases(ranks));
  const std::uint64_t swaps = p * phases / 2;  // of a phase: each rank in at most one a step
  return 4 * p + p + 2 * swaps + 4;
}

/// Starts a phase: elements are told apart by their half of the group and their place in it.
/// @param slots  How many each rank has.
inline void number_runs(ElementRuns& runs, int rank, int phase, std::uint64_t slots) {
  const int half = 1 << (phase - 1);
  const std::int32_t side = rank / half % 2;
  std::uint64_t position = static_cast<std::uint64_t>(rank % half) * slots;
  std::size_t kept = 0;
  for (ElementRun run : runs) {
    if (!is_free(run)) {
      run.origin = side;
      run.first = position;
    }
    position += run.count;
    if (kept > 0 && runs[kept - 1].destination == run.destination &&
        runs[kept - 1].origin == run.origin)
      runs[kept - 1].count += run.count;
    else
      runs[kept++] = run;
  }
  runs.resize(kept);
}

/// The lower rank keeps the lowest slots of both.
inline void split(SwapSequence& sequence, int partner, std::uint64_t slots) {
  if (!sequence.meet(partner)) return;
  const bool is_low = sequence.rank() < partner;
  const std::uint64_t count = is_low ? lowest_in_second(sequence.runs(), sequence.theirs(), slots)
                                     : lowest_in_second(sequence.theirs(), sequence.runs(), slots);
  const SlotRange highest{slots - count, count};
  const SlotRange lowest{0, count};
  sequence.swap(partner, is_low ? highest : lowest, is_low ? lowest : highest);
}

/// BITONIC (3.2). Collective.
///
/// Each rank holds `slots` slots, and its table lists its elements by destination; afterwards it
/// holds what is destined for it, in the order of their sources, its free slots last.
///
/// Stable with short tables, although an element does not know its source: a phase merges
/// the sorted sequences of two groups of consecutive ranks. Of elements with one destination those
/// of the lower group go first, and inside a group the place in its sequence is the order. So a run
/// needs a group and a place, not a source; and since the places of a destination in a group are
/// consecutive, a rank enters a phase with at most one run per destination, free slots apart. All
/// of a group together are at most most_bitonic_runs(). A table by (destination, source) would hold
/// P*P/2 runs on one rank for counts that are small but for one destination.
inline void sort_bitonic(SwapSequence& sequence, std::uint64_t slots) {
  for (int phase = 1; phase <= bitonic_phases(sequence.ranks()); ++phase) {
    number_runs(sequence.runs(), sequence.rank(), phase, slots);
    for (int step = 0; step < phase; ++step) {
      const int partner = bitonic_partner(sequence.rank(), phase, step);
      if (partner < sequence.ranks()) split(sequence, partner, slots);
    }
  }
}

/// Slots of a table below those of a destination.
[[nodiscard]] inline std::uint64_t slots_below(std::span<const ElementRun> runs, int destination) {
  const auto stop = std::ranges::find_if(
      runs, [&](const ElementRun& run) { return run.destination >= destination; });
  return slots_of({runs.begin(), stop});
}

/// The slots that `low` gives to `high` for `count` it wants: those for `high` and what follows, or
/// if these are too few, the last ones.
[[nodiscard]] inline SlotRange given_slots(std::span<const ElementRun> runs_of_low, int low,
                                           int high, std::uint64_t count) {
  const std::uint64_t own = slots_below(runs_of_low, low + 1);
  const std::uint64_t last = slots_of(runs_of_low) - count;
  return {std::max(own, std::min(slots_below(runs_of_low, high), last)), count};
}

/// PAIRWISE (3.3), stable. Collective.
///
/// Each rank has first got rid of what the ranks below it want; then it gets what it wants from
/// those above, one after the other, for slots it does not want. Of these it gives the partner's
/// own first, then those of the ranks above it: the paper leaves this open, and what is given to
/// its destination is not given again. The table is by (destination, source) and can get long.
inline void exchange_pairwise(SwapSequence& sequence) {
  const int self = sequence.rank();
  for (int partner = 0; partner < sequence.ranks(); ++partner) {
    if (partner == self || !sequence.meet(partner)) continue;
    const bool is_low = self < partner;
    const std::span<const ElementRun> mine(sequence.runs());
    const std::span<const ElementRun> low = is_low ? mine : sequence.theirs();
    const std::span<const ElementRun> high = is_low ? sequence.theirs() : mine;
    const int low_rank = std::min(self, partner);
    const SlotRange wanted{0, slots_below(high, low_rank + 1)};
    const SlotRange given = given_slots(low, low_rank, std::max(self, partner), wanted.count);
    sequence.swap(partner, is_low ? given : wanted, is_low ? wanted : given);
  }
}

}  // namespace valet::operations
