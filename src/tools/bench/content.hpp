// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace valet::bench {

/// The bytes of a block: a word of its own, and words that follow from it and from their place.
class Content {
 public:
  explicit Content(std::uint64_t first_word) : first_word_(first_word) {}

  /// The part that begins `at` bytes behind the beginning of the block.
  void write(std::byte* part, std::size_t bytes, std::size_t at = 0) const {
    for_each_word(bytes, at, [&](std::size_t k, const std::uint64_t& word, std::size_t size) {
      std::memcpy(part + k, &word, size);
    });
  }
  [[nodiscard]] bool matches(const std::byte* part, std::size_t bytes, std::size_t at = 0) const {
    bool good = true;
    for_each_word(bytes, at, [&](std::size_t k, const std::uint64_t& word, std::size_t size) {
      good = good && std::memcmp(part + k, &word, size) == 0;
    });
    return good;
  }

 private:
  template <class Action>
  void for_each_word(std::size_t bytes, std::size_t at, Action&& action) const {
    for (std::size_t k = 0; k < bytes; k += sizeof first_word_) {
      const std::uint64_t word = first_word_ ^ (at + k) * 0x9E3779B97F4A7C15ULL;
      action(k, word, std::min(bytes - k, sizeof word));
    }
  }

  std::uint64_t first_word_;
};

}  // namespace valet::bench
