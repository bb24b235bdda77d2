// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Maps of a rank that are regular, made by their definitions. For small maps.

#include "random_maps.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
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

/// So many different ranks, in any order.
inline std::vector<int> some_ranks(std::mt19937_64& random, std::size_t ranks, std::size_t count) {
  std::vector<int> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), random);
  all.resize(count);
  return all;
}

/// Blocks to some ranks in turn: in any order, ascending or descending, all of them or fewer.
inline std::vector<int> dealt_map(std::mt19937_64& random, std::size_t ranks, std::size_t count) {
  std::vector<int> turns = some_ranks(random, ranks, pick(random, 1, ranks));
  const std::size_t order = pick(random, 0, 2);
  if (order > 0) std::sort(turns.begin(), turns.end());
  if (order > 1) std::reverse(turns.begin(), turns.end());
  const std::size_t block = pick(random, 1, 7), offset = pick(random, 0, block * turns.size());
  std::vector<int> map;
  while (map.size() < count) map.push_back(turns[(offset + map.size()) / block % turns.size()]);
  return map;
}

/// Elements of a matrix, row by row from any one on, in tiles on a grid of ranks; everything comes
/// at least twice.
inline std::vector<int> tiled_map(std::mt19937_64& random, std::size_t ranks) {
  const std::size_t wide = pick(random, 1, ranks), high = pick(random, 1, ranks / wide);
  const std::vector<int> grid = some_ranks(random, ranks, wide * high);
  const std::size_t width = pick(random, 1, 3), height = pick(random, 1, 3);
  const std::size_t row = pick(random, 1, 15), period = row * height * high;
  const std::size_t first = pick(random, 0, period);
  std::vector<int> map;
  while (map.size() < 2 * period + first) {
    const std::size_t k = first + map.size();
    map.push_back(grid[k / row / height % high * wide + k % row / width % wide]);
  }
  return map;
}

/// A few pieces of any lengths for ranks in any order: up to four parts on each rank.
inline std::vector<int> cut_map(std::mt19937_64& random, std::size_t ranks, std::size_t count) {
  std::vector<int> map;
  for (std::size_t pieces = pick(random, 1, 4 * ranks); pieces > 0; --pieces) {
    const std::size_t left = count - map.size();
    const std::size_t most = 2 * (count / pieces) + 1;
    map.insert(map.end(), pieces == 1 ? left : std::min(left, pick(random, 0, most)),
               static_cast<int>(pick(random, 0, ranks - 1)));
  }
  return map;
}

inline std::vector<int> regular_map(std::mt19937_64& random, std::size_t ranks) {
  const std::size_t count = pick(random, 0, 4) == 0 ? pick(random, 0, 5) : pick(random, 0, 200);
  switch (pick(random, 0, 2)) {
    case 0: return dealt_map(random, ranks, count);
    case 1: return tiled_map(random, ranks);
    default: return cut_map(random, ranks, count);
  }
}

}  // namespace valet::test
