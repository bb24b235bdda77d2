// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace valet::test {

/// Bytes at a multiple of 64, between bytes that nobody may touch.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::uint64_t bytes)
      : memory_(bytes + 3 * guard, untouched), bytes_(bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = (address / guard + 1) * guard + guard - address;
  }
  [[nodiscard]] std::span<std::byte> bytes() {
    return {memory_.data() + begin_, static_cast<std::size_t>(bytes_)};
  }
  /// Whether nothing was written around them.
  [[nodiscard]] bool is_intact() const {
    const auto first = memory_.begin();
    const auto begin = first + static_cast<std::ptrdiff_t>(begin_);
    const auto is_untouched = [](std::byte byte) { return byte == untouched; };
    return std::all_of(first, begin, is_untouched) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), is_untouched);
  }

 private:
  static constexpr std::size_t guard = 64;
  static constexpr std::byte untouched{0xA5};
  std::vector<std::byte> memory_;
  std::uint64_t bytes_ = 0;
  std::size_t begin_ = 0;
};

}  // namespace valet::test
