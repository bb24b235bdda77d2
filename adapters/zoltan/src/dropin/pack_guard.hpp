// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/ledger.hpp>

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
  PackGuard(Ledger& ledger, std::span<const int> sizes, bool together);

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
  void set(std::size_t k);
  /// Whether nothing was written around object k.
  [[nodiscard]] bool is_intact(std::size_t k) const;

 private:
  static constexpr std::size_t guard_bytes = 64;
  /// Behind the last guard: most packs that write too much end within it.
  static constexpr std::size_t margin_bytes = 4096;
  [[nodiscard]] static std::uint64_t bytes_for(std::span<const int> sizes, bool together);
  [[nodiscard]] const std::byte* end_of(std::size_t k) const {
    return memory_.data() + offsets_[k] + sizes_[k];
  }

  std::span<const int> sizes_;
  bool together_;
  Array<std::byte> memory_;
  Array<int> offsets_;
};

}  // namespace valet::zoltan
