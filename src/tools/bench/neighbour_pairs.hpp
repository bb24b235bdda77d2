// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace valet::bench {

using Point = std::array<double, 3>;
using NeighbourPair = std::pair<std::uint32_t, std::uint32_t>;

/// Every point with the `each` points that are nearest to it, ties in any order: what a partition
/// should not cut. By a k-d tree; pure.
[[nodiscard]] std::vector<NeighbourPair> neighbour_pairs(std::span<const Point> points,
                                                         std::size_t each);

}  // namespace valet::bench
