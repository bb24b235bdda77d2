// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The pages in which blocks of different sizes move. Pure.

#include "base/sizes.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::schedule {

/// Pages are multiples of any alignment, which a block keeps wherever its page goes.
constexpr std::uint64_t page_unit_bytes = 64;
/// Below that lists of pages take more than 4 % of the memory that they speak of.
constexpr std::uint64_t least_ragged_page_bytes = 512;

/// Scratch with pages of that size: of each stream what fills no page at either end, and two pages
/// in transit.
[[nodiscard]] constexpr std::uint64_t ragged_scratch_bytes(std::uint64_t destinations,
                                                           std::uint64_t page_bytes) {
  return (2 * destinations + 2) * page_bytes;
}

/// What lists of ranks and plans of arenas take of the budget: ranks that blocks go to and come
/// from are counted once each. A few dozen, and five arenas, fit what is promised beside it, as do
/// the lists of a method, which are there for one arena at a time.
[[nodiscard]] constexpr std::uint64_t ragged_list_bytes(std::uint64_t ranks, std::uint64_t arenas) {
  constexpr std::uint64_t of_rank = 64, of_arena = 160;  // measured, and a tenth more
  constexpr std::uint64_t promised_of_rank = 128, promised = std::uint64_t{16} << 10;
  const std::uint64_t bytes = ranks * (of_rank + of_arena * arenas - promised_of_rank);
  constexpr std::uint64_t of_plan = std::uint64_t{4} << 10, promised_arenas = 5;
  return bytes - std::min(bytes, promised) + of_plan * (arenas - std::min(arenas, promised_arenas));
}

/// The largest page of which that is half of a rank's budget, or else the least page.
/// @param destinations  Ranks that blocks of this one go to, itself included.
[[nodiscard]] constexpr std::uint64_t ragged_page_bytes(std::uint64_t budget_bytes,
                                                        std::uint64_t destinations) {
  const std::uint64_t page = budget_bytes / 2 / ragged_scratch_bytes(destinations, 1);
  return std::clamp(page / page_unit_bytes * page_unit_bytes, least_ragged_page_bytes,
                    std::uint64_t{detail::most_page_bytes});
}

}  // namespace valet::schedule
