// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// In which order the cyclic scheduler is offered the destinations of a rank.

#include <valet/export.hpp>

#include <cstdint>
#include <string_view>

namespace valet::schedule {

/// In which order a rank offers its edges, the ranks that it has blocks for, to the root of the
/// cyclic scheduler.
enum class EdgeOrder {
  ascending,  ///< by destination, as published: an even transpose takes 2P-3 steps, because it
              ///< becomes 2-cycles in dictionary order, most of whose ranks wait for each other
  rotated,    ///< by destination, beginning behind one's own rank: an even transpose becomes P-1
              ///< rotations
};

/// The name of an order, "ascending" or "rotated". Local.
VALET_EXPORT const char* to_string(EdgeOrder order) noexcept;
/// The order of a name, "ascending" or "rotated", in upper or lower case.
/// @throws Error invalid_argument that lists the known names. Local.
VALET_EXPORT EdgeOrder parse_edge_order(std::string_view name);

/// The place of `destination` among the edges of `rank`, one of `ranks`: edges are offered by
/// ascending place. Local.
[[nodiscard]] constexpr std::uint32_t edge_place(EdgeOrder order, std::uint32_t rank,
                                                 std::uint32_t ranks, std::uint32_t destination) {
  if (order == EdgeOrder::ascending) return destination;
  return destination > rank ? destination - rank : destination + (ranks - rank);
}

}  // namespace valet::schedule
