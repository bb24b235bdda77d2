// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/ledger.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace valet::zoltan {

/// MIGRATE_VERIFY: memory in which objects are packed between guard bytes, so that a pack that
/// writes past the size that was declared is found, before it reaches the objects of others.
class PackGuard {
 public:
  /// @param sizes     Of the objects of a batch.
  /// @param together  One call packs them all; otherwise all have the same place, one by one.
  /// @throws std::bad_alloc.
  PackGuard(Ledger& ledger, std::span<const int> sizes, bool together)
      : sizes_(sizes),
        together_(together),
        memory_(ledger, bytes_for(sizes, together)),
        offsets_(ledger, sizes.size()) {
    std::size_t next = guard_bytes;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      offsets_[k] = static_cast<int>(next);
      if (together) next += static_cast<std::size_t>(sizes[k]) + guard_bytes;
    }
    for (std::size_t i = 0; i < guard_bytes; ++i) memory_[i] = guard_byte(i);
  }

  /// Whether the offsets of all objects and their guards fit an int.
  [[nodiscard]] static bool fits(std::span<const int> sizes, bool together) {
    return bytes_for(sizes, together) <= std::numeric_limits<int>::max();
  }
  [[nodiscard]] std::byte* memory() { return memory_.data(); }
  [[nodiscard]] int* offsets() { return offsets_.data(); }
  /// What it takes of the ledger.
  [[nodiscard]] std::uint64_t bytes() const {
    return memory_.size() + offsets_.size() * sizeof(int);
  }

  /// Before object k is packed.
  void set(std::size_t k) {
    auto* const end = const_cast<std::byte*>(end_of(k));
    for (std::size_t i = 0; i < guard_bytes; ++i) end[i] = guard_byte(i);
  }

  /// Whether nothing was written around object k.
  [[nodiscard]] bool is_intact(std::size_t k) const {
    const auto intact = [](const std::byte* guard) {
      for (std::size_t i = 0; i < guard_bytes; ++i)
        if (guard[i] != guard_byte(i)) return false;
      return true;
    };
    const bool is_first = k == 0 || !together_;
    return intact(end_of(k)) && (!is_first || intact(memory_.data()));
  }

 private:
  static constexpr std::size_t guard_bytes = 64;
  /// Other bytes at neighbouring places, none of them zero, which is what packs write most often.
  static std::byte guard_byte(std::size_t i) { return static_cast<std::byte>(0xA5 ^ (i & 0x3F)); }
  /// Behind the last guard: most packs that write too much end within it.
  static constexpr std::size_t margin_bytes = 4096;

  [[nodiscard]] static std::uint64_t bytes_for(std::span<const int> sizes, bool together) {
    std::uint64_t bytes = 0;
    for (const int size : sizes) {
      const std::uint64_t guarded = static_cast<std::uint64_t>(size) + guard_bytes;
      bytes = together ? bytes + guarded : std::max(bytes, guarded);
    }
    return guard_bytes + bytes + margin_bytes;
  }

  [[nodiscard]] const std::byte* end_of(std::size_t k) const {
    return memory_.data() + offsets_[k] + sizes_[k];
  }

  std::span<const int> sizes_;
  bool together_;
  Array<std::byte> memory_;
  Array<int> offsets_;
};

}  // namespace valet::zoltan
