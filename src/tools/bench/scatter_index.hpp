// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdint>

namespace valet::bench {

/// A bijection of [0, size) that looks random: a Feistel network on the next even number of bits,
/// walked until it falls into the range. So no rank needs the global map.
[[nodiscard]] inline std::uint64_t scatter_index(std::uint64_t index, std::uint64_t size) {
  if (size < 2) return index;
  const int half_bits = (static_cast<int>(std::bit_width(size - 1)) + 1) / 2;
  const std::uint64_t half_mask = (std::uint64_t{1} << half_bits) - 1;
  do {
    std::uint64_t left = index >> half_bits;
    std::uint64_t right = index & half_mask;
    for (std::uint64_t round = 1; round <= 4; ++round) {
      std::uint64_t mixed = (right + round * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
      mixed ^= mixed >> 29;
      const std::uint64_t next = left ^ (mixed & half_mask);
      left = right;
      right = next;
    }
    index = left << half_bits | right;
  } while (index >= size);
  return index;
}

}  // namespace valet::bench
