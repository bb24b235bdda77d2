// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How large pages are. Pure.

#include "base/sizes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::pages {

/// Pages that are buffered where memory is cut into them: what fills no page at either end of each
/// segment, and two in transit.
[[nodiscard]] constexpr std::uint64_t buffered_pages(std::uint64_t segments) {
  return 2 * segments + 2;
}

/// The largest page of which the buffered ones are half of a budget, a multiple of `unit`; the
/// least page where that is more.
[[nodiscard]] constexpr std::uint64_t page_for(std::uint64_t budget_bytes, std::uint64_t segments,
                                               std::uint64_t unit, std::uint64_t least) {
  const std::uint64_t page =
      std::min<std::uint64_t>(detail::most_page_bytes, budget_bytes / 2 / buffered_pages(segments));
  return std::max(page / unit * unit, least);
}

/// @name Blocks of different sizes
/// @{

/// Pages are multiples of any alignment, which a block keeps wherever its page goes.
constexpr std::uint64_t page_unit_bytes = 64;
/// Below that lists of pages take more than 4 % of the memory that they speak of.
constexpr std::uint64_t least_ragged_page_bytes = 512;

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

/// The page that suits a rank.
/// @param destinations  Ranks that blocks of this one go to, itself included.
[[nodiscard]] constexpr std::uint64_t ragged_page_bytes(std::uint64_t budget_bytes,
                                                        std::uint64_t destinations) {
  return page_for(budget_bytes, destinations, page_unit_bytes, least_ragged_page_bytes);
}
/// @}

/// @name All-to-alls, whose segments are one run each
/// @{

/// What decides how large pages are on one rank.
struct PageLimits {
  std::size_t budget_bytes = 0;
  std::size_t element_bytes = 1;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t segments = 0;  ///< that are sent and not empty, the own one among them
};

/// Bytes that pages of this size take beyond those in transit: what fills no page of all segments,
/// and the lists of pages (at most 20 bytes a page, bitmaps included).
[[nodiscard]] constexpr std::uint64_t page_overhead_bytes(const PageLimits& limits,
                                                          std::uint64_t page_bytes) {
  constexpr std::uint64_t list_bytes = 20;
  const std::uint64_t pages = limits.buffer_bytes / page_bytes;
  // Segments begin and end with elements: so none is left over where pages are single ones.
  const std::uint64_t fragments =
      std::min(limits.segments * 2 * (page_bytes - limits.element_bytes), limits.buffer_bytes);
  return fragments + pages * list_bytes;
}

/// The largest page that leaves half of the budget for four or more pages in transit: an element
/// times a power of two, 64 KiB at most, so that segments of even sizes have no fragments. Where
/// there is none, the page that needs the least memory.
[[nodiscard]] constexpr std::uint64_t choose_page_bytes(const PageLimits& limits) {
  std::uint64_t best = limits.element_bytes;
  for (std::uint64_t page = limits.element_bytes; page <= detail::most_page_bytes; page *= 2) {
    const std::uint64_t overhead = page_overhead_bytes(limits, page);
    const bool fits = overhead <= limits.budget_bytes / 2 && page <= limits.budget_bytes / 8;
    if (fits || overhead + page < page_overhead_bytes(limits, best) + best) best = page;
  }
  return best;
}
/// @}

}  // namespace valet::pages
