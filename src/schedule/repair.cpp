// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/repair.hpp"

#include "base/partition_index.hpp"
#include "base/sizes.hpp"

#include <algorithm>

namespace valet::schedule {
namespace {

/// Blocks that a rank takes when ranks with room are filled up to `level`.
std::uint64_t taken_at(const RankLoad& load, std::uint64_t level) {
  return std::min(load.room(), level > load.blocks ? level - load.blocks : 0);
}

/// Whether all ranks together take more than `excess` at this level. Ends where they do: slots may
/// be any number, and the sum too large for one.
bool takes_more(std::span<const RankLoad> loads, std::uint64_t level, std::uint64_t excess) {
  for (const RankLoad& load : loads) {
    const std::uint64_t taken = taken_at(load, level);
    if (taken > excess) return true;
    excess -= taken;
  }
  return false;
}

/// The highest level, up to the one at which there is room for all of it, that does not take more
/// than `excess`.
std::uint64_t highest_level(std::span<const RankLoad> loads, std::uint64_t excess) {
  std::uint64_t most = excess;
  for (const RankLoad& load : loads) most = std::max(most, load.blocks + excess);
  return detail::partition_index(
      0, most, [&](std::uint64_t level) { return !takes_more(loads, level + 1, excess); });
}

}  // namespace

LoadSum sum_of(std::span<const RankLoad> loads) {
  LoadSum sum;
  for (const RankLoad& load : loads) {
    sum.blocks = detail::bounded_sum(sum.blocks, load.blocks);
    sum.slots = detail::bounded_sum(sum.slots, load.slots);
    sum.excess += load.excess();
  }
  return sum;
}

void fill_room(std::span<const RankLoad> loads, std::uint64_t excess,
               std::span<std::uint64_t> ends) {
  const std::uint64_t level = highest_level(loads, excess);
  std::uint64_t left = excess;
  for (const RankLoad& load : loads) left -= taken_at(load, level);
  std::uint64_t end = 0;
  for (std::size_t rank = 0; rank < loads.size(); ++rank) {
    const std::uint64_t taken = taken_at(loads[rank], level);
    const bool takes_one_more = left > 0 && taken_at(loads[rank], level + 1) > taken;
    left -= takes_one_more ? 1 : 0;
    end += taken + (takes_one_more ? 1 : 0);
    ends[rank] = end;
  }
}

void change_destinations(std::span<int> ranks, std::span<const std::uint8_t> mask,
                         std::span<FlowChange> changes, std::span<const std::uint64_t> ends) {
  std::uint64_t left = 0;
  for (const FlowChange& change : changes) left += change.count;
  for (std::size_t slot = ranks.size(); left > 0;) {
    --slot;
    if (!mask.empty() && mask[slot] == 0) continue;
    const auto change = std::ranges::lower_bound(changes, ranks[slot], {}, &FlowChange::rank);
    if (change == changes.end() || change->rank != ranks[slot] || change->count == 0) continue;
    --change->count;
    --left;
    const auto taker = std::ranges::upper_bound(ends, change->first + change->count);
    ranks[slot] = static_cast<int>(taker - ends.begin());
  }
}

}  // namespace valet::schedule
