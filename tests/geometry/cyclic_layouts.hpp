// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What block-cyclic layouts mean, element by element: indices are cyclic like cards. Shares no
/// arithmetic with the library.

#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace valet::test {

/// Owner and local index of every global index of one dimension.
struct Cyclic {
  std::vector<int> owner;
  std::vector<std::int64_t> local;
  std::vector<std::int64_t> local_extent;  ///< per coordinate

  explicit Cyclic(const layout::Dimension& dimension)
      : local_extent(static_cast<std::size_t>(dimension.ranks()), 0) {
    int coordinate = dimension.first_rank();
    std::int64_t in_block = 0;
    for (std::int64_t global = 0; global < dimension.extent(); ++global) {
      if (in_block == dimension.block_size()) {
        in_block = 0;
        coordinate = coordinate + 1 == dimension.ranks() ? 0 : coordinate + 1;
      }
      ++in_block;
      owner.push_back(coordinate);
      local.push_back(local_extent[static_cast<std::size_t>(coordinate)]++);
    }
  }
};

inline std::vector<Cyclic> cyclic_dimensions(const BlockCyclic& layout) {
  std::vector<Cyclic> cyclic;
  for (std::size_t d = 0; d < layout.dimensions(); ++d) cyclic.emplace_back(layout.dimension(d));
  return cyclic;
}

/// Calls visit(global indices) for every element, the last or the first index fastest.
template <class Visit>
void for_every_element(const BlockCyclic::Extents& extents, IndexOrder order, Visit&& visit) {
  for (const std::int64_t extent : extents)
    if (extent == 0) return;
  auto global = BlockCyclic::Extents::filled(extents.size(), 0);
  for (;;) {
    visit(global);
    std::size_t step = 0;
    for (; step < extents.size(); ++step) {
      const std::size_t d = order == IndexOrder::row_major ? extents.size() - 1 - step : step;
      if (++global[d] < extents[d]) break;
      global[d] = 0;
    }
    if (step == extents.size()) return;
  }
}

/// A pair of random layouts of one array of 1 to 6 dimensions.
class RandomLayouts {
 public:
  explicit RandomLayouts(std::mt19937_64& random) : random_(random) {
    const auto dimensions = static_cast<std::size_t>(pick(0, 1) == 0 ? 1 : pick(2, 6));
    // About as many elements whatever the dimensions.
    const std::int64_t most = std::array{180, 22, 8, 5, 4, 3}[dimensions - 1];
    extents_ = BlockCyclic::Extents::filled(dimensions, 0);
    for (std::size_t d = 0; d < dimensions; ++d) extents_[d] = pick(pick(0, 30) == 0 ? 0 : 1, most);
  }

  BlockCyclic layout() {
    const std::size_t dimensions = extents_.size();
    auto blocks = BlockCyclic::Extents::filled(dimensions, 1);
    auto grid = BlockCyclic::Coordinates::filled(dimensions, 1);
    auto first = BlockCyclic::Coordinates::filled(dimensions, 0);
    std::int64_t ranks_left = 24;
    for (std::size_t d = 0; d < dimensions; ++d) {
      grid[d] = static_cast<int>(pick(1, std::min<std::int64_t>(ranks_left, 9)));
      ranks_left /= grid[d];
      switch (pick(0, 5)) {
        case 0: blocks[d] = 1; break;                                                 // CYCLIC
        case 1: blocks[d] = std::max<std::int64_t>(1, extents_[d] / grid[d]); break;  // about BLOCK
        case 2: blocks[d] = extents_[d] + pick(1, 9); break;                          // one rank
        default: blocks[d] = pick(1, std::max<std::int64_t>(1, extents_[d] / 3)); break;
      }
      if (pick(0, 1) == 0) first[d] = static_cast<int>(pick(0, grid[d] - 1));
    }
    return {extents_, blocks, grid, order(), first};
  }

  IndexOrder order() { return pick(0, 1) == 0 ? IndexOrder::row_major : IndexOrder::column_major; }
  std::int64_t pick(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }

 private:
  std::mt19937_64& random_;
  BlockCyclic::Extents extents_;
};

}  // namespace valet::test
