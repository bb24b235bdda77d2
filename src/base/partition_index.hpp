// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::detail {

/// The first number in [begin, end) for which `holds` is false, if it is false for all behind it;
/// `end` where there is none. Not std::ranges::partition_point of std::views::iota, which clang 14
/// cannot compile with libstdc++.
template <class Holds>
[[nodiscard]] constexpr std::uint64_t partition_index(std::uint64_t begin, std::uint64_t end,
                                                      Holds&& holds) {
  while (begin < end) {
    const std::uint64_t middle = begin + (end - begin) / 2;
    if (holds(middle))
      begin = middle + 1;
    else
      end = middle;
  }
  return begin;
}

}  // namespace valet::detail
