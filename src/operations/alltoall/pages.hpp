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

/// How a segment of bytes lies on the pages of a buffer: a fragment, whole pages, a fragment.
struct PageCut {
  std::uint64_t head_bytes = 0;  ///< before the first whole page; all of a segment without any
  std::uint64_t first_page = 0;
  std::uint64_t pages = 0;
  std::uint64_t tail_bytes = 0;

  [[nodiscard]] std::uint64_t fragment_bytes() const { return head_bytes + tail_bytes; }
};

/// Cuts the segment of `bytes` that starts `begin` bytes into the buffer. Both fragments together
/// are below two pages.
[[nodiscard]] PageCut cut_into_pages(std::uint64_t begin, std::uint64_t bytes,
                                     std::uint64_t page_bytes);

/// What decides how large pages are on one rank.
struct PageLimits {
  std::size_t budget_bytes = 0;
  std::size_t element_bytes = 1;
  std::uint64_t buffer_bytes = 0;
  std::uint64_t segments = 0;  ///< that are not empty, sent and received, the own one in both
};

/// Bytes that pages of this size take beyond those in transit: fragments of all segments, and the
/// lists of pages (at most 16 bytes a page, bitmaps included).
[[nodiscard]] std::uint64_t page_overhead_bytes(const PageLimits& limits, std::uint64_t page_bytes);

/// The largest page that leaves half of the budget for four or more pages in transit: an element
/// times a power of two, 64 KiB at most, so that segments of even sizes have no fragments. Where
/// there is none, the page that needs the least memory.
[[nodiscard]] std::uint64_t choose_page_bytes(const PageLimits& limits);

}  // namespace valet::operations
