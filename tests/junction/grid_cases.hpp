// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Arrays whose elements are their numbers, in random layouts.

#include "cyclic_layouts.hpp"
#include "random_maps.hpp"
#include <valet/redistribute.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace valet::test {

using Element = std::uint64_t;
constexpr Element untouched = ~Element{0};

/// A layout of an array on so many ranks: block-cyclic, or a general grid of which ranks have any
/// cells.
inline GridLayout some_layout(std::mt19937_64& random, const BlockCyclic::Extents& extents,
                              int ranks) {
  const auto below = [&](std::int64_t end) {
    return static_cast<std::int64_t>(pick(random, 0, static_cast<std::size_t>(end)));
  };
  if (pick(random, 0, 1) == 0) {
    auto cuts = layout::PerDimension<std::vector<std::int64_t>>::filled(extents.size(), {});
    for (std::size_t d = 0; d < extents.size(); ++d) {
      cuts[d] = {0, below(extents[d]), extents[d]};
      if (pick(random, 0, 1) == 0) cuts[d].push_back(below(extents[d]));
      std::ranges::sort(cuts[d]);
    }
    GridLayout general{BlockCyclic::cut_at(cuts)};
    while (std::ssize(general.ranks) < general.layout.ranks())
      general.ranks.push_back(static_cast<int>(below(ranks - 1)));
    return general;
  }
  auto blocks = extents;
  auto grid = BlockCyclic::Coordinates::filled(extents.size(), 1);
  for (std::size_t d = 0; d < extents.size(); ++d) {
    blocks[d] = 1 + below(5);
    grid[d] = static_cast<int>(1 + below(ranks - 1));
    ranks /= grid[d];
  }
  return {BlockCyclic(extents, blocks, grid)};
}

inline BlockCyclic::Extents some_extents(std::mt19937_64& random) {
  auto extents = BlockCyclic::Extents::filled(pick(random, 1, 4), 0);
  for (std::size_t d = 0; d < extents.size(); ++d)
    extents[d] = static_cast<std::int64_t>(pick(random, 0, extents.size() > 2 ? 9 : 40));
  return extents;
}

/// Calls visit(k, number) for every element of a rank's part: its place there, cell by cell and row
/// by row, and its number in the whole array.
template <class Visit>
void for_every_local(const GridLayout& grid, int rank, Visit&& visit) {
  std::size_t k = 0;
  for (int cell = 0; cell < grid.layout.ranks(); ++cell) {
    if ((grid.ranks.empty() ? cell : grid.ranks[static_cast<std::size_t>(cell)]) != rank) continue;
    for_every_element(grid.layout.local_extents(cell), IndexOrder::row_major,
                      [&](const BlockCyclic::Extents& local) {
                        const BlockCyclic::Extents global = grid.layout.global_indices(cell, local);
                        Element number = 0;
                        for (std::size_t d = 0; d < global.size(); ++d)
                          number = number * static_cast<Element>(grid.layout.extents()[d]) +
                                   static_cast<Element>(global[d]);
                        visit(k++, number);
                      });
  }
}

inline std::size_t elements_of(const GridLayout& grid, int rank) {
  std::size_t elements = 0;
  for_every_local(grid, rank, [&](std::size_t, Element) { ++elements; });
  return elements;
}

}  // namespace valet::test
