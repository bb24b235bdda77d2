// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace valet::test {

/// Most blocks on a rank, with every block on the emptiest rank that has a slot left.
/// @param slots  Of the ranks, with room for all blocks.
inline std::uint64_t least_largest_share(std::uint64_t blocks,
                                         const std::vector<std::uint64_t>& slots) {
  std::vector<std::uint64_t> shares(slots.size(), 0);
  for (; blocks > 0; --blocks) {
    std::size_t best = shares.size();
    for (std::size_t r = 0; r < shares.size(); ++r)
      if (shares[r] < slots[r] && (best == shares.size() || shares[r] < shares[best])) best = r;
    ++shares[best];
  }
  return *std::ranges::max_element(shares);
}

}  // namespace valet::test
