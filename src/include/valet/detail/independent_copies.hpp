// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/slots.hpp>

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>

namespace valet::detail {

/// A set of slots as one bit per hash value, 8 KiB: may have false positives, but no false
/// negatives.
class HashedSlots {
 public:
  void insert(std::uint64_t slot) { bits_[hash(slot)] = true; }
  [[nodiscard]] bool may_contain(std::uint64_t slot) const { return bits_[hash(slot)]; }

 private:
  /// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): the top 16 bits.
  static std::uint64_t hash(std::uint64_t slot) { return slot * 0x9E3779B97F4A7C15U >> 48U; }

  std::bitset<std::size_t{1} << 16> bits_;
};

/// How many of the copies sources[k] -> targets[k], from the first on and at most `most`, give the
/// same result if all sources are read before all targets are written, in any order: none of them
/// reads or writes a slot that an earlier one writes. Reading a slot that is written later is
/// allowed. At least 1 for a non-empty list.
[[nodiscard]] inline std::size_t independent_copies(SlotList sources, SlotList targets,
                                                    std::size_t most) {
  const std::size_t size = std::min(most, sources.size());
  if (size <= 1) return size;
  HashedSlots written;
  for (std::size_t k = 0; k < size; ++k) {
    if (written.may_contain(sources[k]) || written.may_contain(targets[k])) return k;
    written.insert(targets[k]);
  }
  return size;
}

/// The same for copies made directly from slot to slot, in any order or concurrently: no slot is
/// both read and written.
[[nodiscard]] inline std::size_t disjoint_copies(SlotList sources, SlotList targets,
                                                 std::size_t most) {
  const std::size_t size = std::min(most, sources.size());
  if (size <= 1) return size;
  HashedSlots read, written;
  for (std::size_t k = 0; k < size; ++k) {
    if (written.may_contain(sources[k]) || written.may_contain(targets[k]) ||
        read.may_contain(targets[k]))
      return k;
    read.insert(sources[k]);
    written.insert(targets[k]);
  }
  return size;
}

}  // namespace valet::detail
