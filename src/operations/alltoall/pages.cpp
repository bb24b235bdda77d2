// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/pages.hpp"

#include <algorithm>

namespace valet::operations {

PageCut cut_into_pages(std::uint64_t begin, std::uint64_t bytes, std::uint64_t page_bytes) {
  const std::uint64_t end = begin + bytes;
  const std::uint64_t first = (begin + page_bytes - 1) / page_bytes;
  const std::uint64_t last = end / page_bytes;
  if (last <= first) return {.head_bytes = bytes, .first_page = first, .pages = 0, .tail_bytes = 0};
  return {.head_bytes = first * page_bytes - begin,
          .first_page = first,
          .pages = last - first,
          .tail_bytes = end - last * page_bytes};
}

std::uint64_t page_overhead_bytes(const PageLimits& limits, std::uint64_t page_bytes) {
  constexpr std::uint64_t list_bytes = 16;
  const std::uint64_t pages = limits.buffer_bytes / page_bytes;
  const std::uint64_t fragments =
      std::min(limits.segments * 2 * page_bytes, 2 * limits.buffer_bytes);
  return fragments + pages * list_bytes;
}

std::uint64_t choose_page_bytes(const PageLimits& limits) {
  constexpr std::uint64_t most_bytes = std::uint64_t{64} << 10;
  std::uint64_t best = limits.element_bytes;
  for (std::uint64_t page = limits.element_bytes; page <= most_bytes; page *= 2) {
    const std::uint64_t overhead = page_overhead_bytes(limits, page);
    const bool fits = overhead <= limits.budget_bytes / 2 && page <= limits.budget_bytes / 8;
    if (fits || overhead + page < page_overhead_bytes(limits, best) + best) best = page;
  }
  return best;
}

}  // namespace valet::operations
