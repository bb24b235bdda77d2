// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What it means that a map is a layout, by trying out all there are. For small maps.

#include <algorithm>
#include <cstddef>
#include <vector>

namespace valet::test {

/// Block k of a rank goes to rank (first + (offset + k) / block) mod ranks.
inline int cyclic_rank(std::size_t k, std::size_t block, std::size_t offset, std::size_t first,
                       int ranks) {
  return static_cast<int>((first + (offset + k) / block) % static_cast<std::size_t>(ranks));
}

/// Whether there is a block size, an offset and a first rank that give this map.
inline bool is_cyclic(const std::vector<int>& map, int ranks) {
  if (map.empty()) return true;
  const auto first = static_cast<std::size_t>(map[0]);
  for (std::size_t block = 1; block <= map.size(); ++block)
    for (std::size_t offset = 0; offset < block; ++offset) {
      std::size_t k = 0;
      while (k < map.size() && map[k] == cyclic_rank(k, block, offset, first, ranks)) ++k;
      if (k == map.size()) return true;
    }
  return false;
}

/// Whether every rank's map is cyclic, or all blocks of all ranks in a row ascend.
inline bool is_layout(const std::vector<std::vector<int>>& maps) {
  const int ranks = static_cast<int>(maps.size());
  if (std::all_of(maps.begin(), maps.end(), [&](const auto& map) { return is_cyclic(map, ranks); }))
    return true;
  std::vector<int> row;
  for (const auto& map : maps) row.insert(row.end(), map.begin(), map.end());
  return std::is_sorted(row.begin(), row.end());
}

}  // namespace valet::test
