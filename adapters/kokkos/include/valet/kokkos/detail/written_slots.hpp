// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::kokkos::detail {

/// A set of slots that may name one too many, but never misses one: a bit per hash value, 8 KiB.
class WrittenSlots {
 public:
  void insert(std::uint64_t slot) { bits_[word(slot)] |= bit(slot); }
  [[nodiscard]] bool may_contain(std::uint64_t slot) const {
    return (bits_[word(slot)] & bit(slot)) != 0;
  }

 private:
  /// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the top 16 bits.
  [[nodiscard]] static std::uint64_t hash(std::uint64_t slot) {
    return slot * 0x9E3779B97F4A7C15U >> 48U;
  }
  [[nodiscard]] static std::size_t word(std::uint64_t slot) { return hash(slot) / 64; }
  [[nodiscard]] static std::uint64_t bit(std::uint64_t slot) {
    return std::uint64_t{1} << hash(slot) % 64;
  }

  std::array<std::uint64_t, 1024> bits_{};
};

/// How many of the copies sources[k] -> targets[k], from the first on and `most` at most, give the
/// same result when all sources are read before all targets are written, in any order: none of them
/// reads or writes a slot that an earlier one writes. A slot that is read first and written later
/// does no harm. At least 1 of a list that is not empty.
template <class From, class To>
[[nodiscard]] std::size_t independent_copies(std::span<const From> sources,
                                             std::span<const To> targets, std::size_t most) {
  const std::size_t size = std::min(most, sources.size());
  if (size <= 1) return size;
  WrittenSlots written;
  for (std::size_t k = 0; k < size; ++k) {
    if (written.may_contain(sources[k]) || written.may_contain(targets[k])) return k;
    written.insert(targets[k]);
  }
  return size;
}

}  // namespace valet::kokkos::detail
