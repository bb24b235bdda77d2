// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pages: the buffer of an all-to-all seen as slots of equal size. Pure.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace valet::operations {

/// The sum of counts or sizes.
[[nodiscard]] inline std::uint64_t sum(std::span<const std::uint64_t> values) {
  return std::accumulate(values.begin(), values.end(), std::uint64_t{0});
}

/// What decides how large pages are on one rank.
struct PageLimits {
  std::size_t budget_bytes = 0;
  std::size_t element_bytes = 1;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t segments = 0;  ///< that are sent and not empty, the own one among them
};

/// Bytes that pages of this size take beyond those in transit: what fills no page of all segments,
/// and the lists of pages (at most 20 bytes a page, bitmaps included).
[[nodiscard]] std::uint64_t page_overhead_bytes(const PageLimits& limits, std::uint64_t page_bytes);

/// The largest page that leaves half of the budget for four or more pages in transit: an element
/// times a power of two, 64 KiB at most, so that segments of even sizes have no fragments. Where
/// there is none, the page that needs the least memory.
[[nodiscard]] std::uint64_t choose_page_bytes(const PageLimits& limits);

}  // namespace valet::operations
