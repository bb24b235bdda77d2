// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Maps of a circulant matrix: each rank sends as much as any other to the ranks at the same
/// distances from it, ahead and behind.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace valet::test {

/// Where the blocks of `rank` go: in turn to the ranks at distances 1, -1, 2, -2 and so on, as many
/// as there are `neighbours`, from 2 on and fewer than the ranks. Each round begins with any one of
/// them, so that it is no layout.
[[nodiscard]] inline std::vector<int> map_to_neighbours(int rank, int ranks, int neighbours,
                                                        std::size_t blocks) {
  std::vector<int> map(blocks);
  for (std::size_t k = 0; k < blocks; ++k) {
    const auto all = static_cast<std::size_t>(neighbours);
    std::uint64_t begin = k / all * 0x9E3779B97F4A7C15U;
    begin = (begin ^ begin >> 29U) * 0xBF58476D1CE4E5B9U >> 32U;
    const int neighbour = static_cast<int>((k + begin) % all);
    const int distance = neighbour / 2 + 1;
    map[k] = (rank + (neighbour % 2 == 0 ? distance : ranks - distance)) % ranks;
  }
  return map;
}

}  // namespace valet::test
