// SPDX-License-Identifier: BSD-3-Clause
#include "pages/page_sizes.hpp"

#include <algorithm>

namespace valet::pages {

std::uint64_t page_overhead_bytes(const PageLimits& limits, std::uint64_t page_bytes) {
  constexpr std::uint64_t list_bytes = 20;
  const std::uint64_t pages = limits.buffer_bytes / page_bytes;
  // Segments begin and end with elements: so none is left over where pages are single ones.
  const std::uint64_t fragments =
      std::min(limits.segments * 2 * (page_bytes - limits.element_bytes), limits.buffer_bytes);
  return fragments + pages * list_bytes;
}

std::uint64_t choose_page_bytes(const PageLimits& limits) {
  std::uint64_t best = limits.element_bytes;
  for (std::uint64_t page = limits.element_bytes; page <= detail::most_page_bytes; page *= 2) {
    const std::uint64_t overhead = page_overhead_bytes(limits, page);
    const bool fits = overhead <= limits.budget_bytes / 2 && page <= limits.budget_bytes / 8;
    if (fits || overhead + page < page_overhead_bytes(limits, best) + best) best = page;
  }
  return best;
}

}  // namespace valet::pages
