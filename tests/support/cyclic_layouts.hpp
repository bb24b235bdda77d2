// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random layouts, and a walk through the elements of an array.

#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace valet::test {

/// Calls visit(indices) for every element, the last or the first index fastest.
template <class Visit>
void for_every_element(const BlockCyclic::Extents& extents, IndexOrder order, Visit&& visit) {
  for (const std::int64_t extent : extents)
    if (extent == 0) return;
  auto indices = BlockCyclic::Extents::filled(extents.size(), 0);
  for (;;) {
    visit(std::as_const(indices));
    std::size_t step = 0;
    for (; step < extents.size(); ++step) {
      const std::size_t d = order == IndexOrder::row_major ? extents.size() - 1 - step : step;
      if (++indices[d] < extents[d]) break;
      indices[d] = 0;
    }
    if (step == extents.size()) return;
  }
}

/// A general grid of an array, some of its cells without elements.
template <class Pick>
BlockCyclic random_cuts(const BlockCyclic::Extents& extents, std::int64_t most_cells,
                        IndexOrder order, Pick&& pick) {
  auto cuts =
      layout::PerDimension<std::vector<std::int64_t>>::filled(extents.size(), {std::int64_t{0}});
  for (std::size_t d = 0; d < extents.size(); ++d) {
    for (std::int64_t more = pick(1, most_cells); more > 1; --more)
      cuts[d].push_back(pick(0, extents[d]));
    cuts[d].push_back(extents[d]);
    std::sort(cuts[d].begin(), cuts[d].end());
  }
  return BlockCyclic::cut_at(cuts, order);
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

  /// The same, or a general grid.
  BlockCyclic any_layout() {
    if (pick(0, 1) == 0) return layout();
    const std::int64_t most_cells = std::array{20, 7, 4, 3, 2, 2}[extents_.size() - 1];
    return random_cuts(extents_, most_cells, order(),
                       [this](std::int64_t least, std::int64_t most) { return pick(least, most); });
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
