// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Sizes as users declare them: anything, up to 2^64 - 1. All of them are held against one limit
/// before they are added or multiplied, so that nothing further on can overflow.

#include <cstddef>
#include <cstdint>
#include <limits>

namespace valet::detail {

/// More bytes than any memory has.
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 60;
/// How messages call it.
inline constexpr const char* most_bytes_text = "2^60 bytes (more than any memory has)";

/// The line of the processors that this is fast on; right on all others, too.
inline constexpr std::size_t cache_line_bytes = 64;
/// Pages that blocks of different sizes or elements are cut into, at most. Larger ones are no
/// faster: what is classified leaves the second-level cache.
inline constexpr std::size_t most_page_bytes = std::size_t{64} << 10;

/// Slots of a rank, so that 32 bits number them, and one number is left that is none.
inline constexpr std::uint64_t most_slots = std::numeric_limits<std::uint32_t>::max();

/// a * b; most_bytes + 1 where that is more than most_bytes.
[[nodiscard]] constexpr std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > most_bytes / b ? most_bytes + 1 : a * b;
}

/// a + b; most_bytes + 1 where that is more than most_bytes.
[[nodiscard]] constexpr std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) {
  return a > most_bytes || b > most_bytes - a ? most_bytes + 1 : a + b;
}

/// The least multiple of `unit` that is not below `bytes`.
[[nodiscard]] constexpr std::size_t rounded_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// A budget of any size, which is as good as endless from most_bytes on.
[[nodiscard]] constexpr std::uint64_t bounded_budget(std::uint64_t bytes) {
  return bytes < most_bytes ? bytes : most_bytes;
}

}  // namespace valet::detail
