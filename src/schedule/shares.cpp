// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/shares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace valet::schedule {

void share_equally(std::span<const RankLoad> holders, std::uint64_t blocks,
                   std::span<std::uint64_t> shares) {
  std::ranges::fill(shares, std::uint64_t{0});
  const auto ends = shares.first(holders.size());
  fill_room(holders, blocks, ends);
  std::adjacent_difference(ends.begin(), ends.end(), ends.begin());
}

void keep_leftovers(std::span<const RankLoad> holders, std::span<std::uint64_t> shares) {
  const std::uint64_t most = *std::ranges::max_element(shares);
  std::size_t taker = 0;
  for (std::size_t giver = 0; giver < holders.size(); ++giver) {
    if (shares[giver] != most || holders[giver].blocks >= most) continue;
    const auto takes = [&](std::size_t r) {
      return shares[r] + 1 == most && holders[r].slots >= most && holders[r].blocks >= most;
    };
    while (taker < holders.size() && !takes(taker)) ++taker;
    if (taker == holders.size()) return;
    std::swap(shares[giver], shares[taker]);
  }
}

void move_fewest(std::span<const RankLoad> loads, std::span<const std::uint64_t> shares, int own,
                 std::span<int> ranks) {
  // What ranks have beyond their shares stands in one line, in rank order, and what others lack in
  // another.
  const auto load = [&](std::size_t r) { return RankLoad{loads[r].blocks, shares[r]}; };
  const auto self = static_cast<std::size_t>(own);
  std::uint64_t first = 0, left = load(self).excess();
  for (std::size_t r = 0; r < self; ++r) first += load(r).excess();
  std::ranges::fill(ranks, own);
  auto next = ranks.end() - static_cast<std::ptrdiff_t>(left);
  std::uint64_t position = 0;
  for (std::size_t r = 0; left > 0; ++r) {
    position += load(r).room();
    if (position <= first) continue;
    const std::uint64_t taken = std::min(left, position - first);
    next = std::fill_n(next, taken, static_cast<int>(r));
    first += taken;
    left -= taken;
  }
}

std::uint64_t share_of(double below, double weight, double all, std::uint64_t shares) {
  const double share = std::floor((below + weight / 2) / all * static_cast<double>(shares));
  return std::min(static_cast<std::uint64_t>(std::max(share, 0.0)), shares - 1);
}

void fit_bounds(std::span<const RankLoad> holders, std::span<std::int64_t> bounds) {
  const auto slots = [&](std::size_t r) { return static_cast<std::int64_t>(holders[r].slots); };
  for (std::size_t r = 0; r + 1 < holders.size(); ++r)
    bounds[r + 1] = std::clamp(bounds[r + 1], bounds[r], bounds[r] + slots(r));
  for (std::size_t r = holders.size() - 1; r > 0; --r)
    bounds[r] = std::max(bounds[r], bounds[r + 1] - slots(r));
}

}  // namespace valet::schedule
