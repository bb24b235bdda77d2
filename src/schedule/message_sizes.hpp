// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::schedule {

/// What a sender says of its messages while it is not decided which method will move the blocks:
/// blocks of a message by STREAM and by PHASED, each below 2^16, in one word.
struct MessageSizes {
  std::uint64_t stream = 1;
  std::uint64_t phased = 1;

  [[nodiscard]] std::uint64_t word() const { return phased << 16 | stream; }
  [[nodiscard]] static MessageSizes from(std::uint64_t word) {
    return {word & 0xffff, word >> 16 & 0xffff};
  }
};

}  // namespace valet::schedule
