// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>

#include <cstddef>
#include <string>
#include <utility>

namespace valet::tools {

/// A layout from shapes such as "30x50": one number per dimension, the first index first.
/// @throws Error invalid_argument: a text that is no shape, and as BlockCyclic.
[[nodiscard]] BlockCyclic make_layout(const std::string& extent, const std::string& block,
                                      const std::string& grid);
/// Source and target from block:grid:block:grid. @throws Error as make_layout().
[[nodiscard]] std::pair<BlockCyclic, BlockCyclic> parse_move(const std::string& extent,
                                                             const std::string& move);

/// Calls visit(place in the column-major local array, number of the element in the array) for the
/// elements of a rank; none outside of the grid.
template <class Visit>
void for_each_element(const BlockCyclic& layout, int rank, Visit&& visit) {
  const auto end =
      rank < layout.ranks() ? static_cast<std::size_t>(layout.local_elements(rank)) : 0;
  if (end == 0) return;
  const BlockCyclic::Extents extents = layout.local_extents(rank);
  const BlockCyclic::Coordinates place = layout.coordinates(rank);
  auto local = BlockCyclic::Extents::filled(extents.size(), 0);
  const auto position = [&](std::size_t d) {
    return static_cast<double>(layout.dimension(d).global_index(place[d], local[d]));
  };
  double weight = 1;  // an index of the first dimension, in the number
  for (std::size_t d = 1; d < extents.size(); ++d)
    weight *= static_cast<double>(layout.dimension(d).extent());
  for (std::size_t at = 0; at < end;) {
    double rest = 0;
    for (std::size_t d = 1; d < extents.size(); ++d)
      rest = rest * static_cast<double>(layout.dimension(d).extent()) + position(d);
    for (local[0] = 0; local[0] < extents[0]; ++local[0], ++at)
      visit(at, weight * position(0) + rest);
    for (std::size_t d = 1; d < extents.size() && ++local[d] == extents[d]; ++d) local[d] = 0;
  }
}

}  // namespace valet::tools
