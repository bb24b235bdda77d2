// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::kokkos::detail {

/// How many of the copies sources[k] -> targets[k], from the first on and `most` at most, give the
/// same result when all sources are read before all targets are written, in any order: none of them
/// reads or writes a slot that an earlier one writes. A slot that is read first and written later
/// does no harm. At least 1 of a list that is not empty.
template <class From, class To>
[[nodiscard]] std::size_t independent_copies(std::span<const From> sources,
                                             std::span<const To> targets, std::size_t most) {
  const std::size_t size = std::min(most, sources.size());
  if (size <= 1) return size;
  // A bit per hash value, 8 KiB: may say written of a slot that is not, but misses none.
  std::bitset<std::size_t{1} << 16> written;
  // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the top 16 bits.
  const auto hash = [](std::uint64_t slot) { return slot * 0x9E3779B97F4A7C15U >> 48U; };
  for (std::size_t k = 0; k < size; ++k) {
    if (written[hash(sources[k])] || written[hash(targets[k])]) return k;
    written[hash(targets[k])] = true;
  }
  return size;
}

}  // namespace valet::kokkos::detail
