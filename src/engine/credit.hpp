// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::engine {

/// "Send me `blocks` blocks": what a receiver tells a sender of STREAM, one word.
struct Credit {
  std::uint64_t blocks = 0;        ///< below 2^16
  std::uint64_t offset_bytes = 0;  ///< in the receiver's segment, for senders that write into it

  [[nodiscard]] std::uint64_t word() const { return offset_bytes << 16 | blocks; }
  [[nodiscard]] static Credit from(std::uint64_t word) { return {word & 0xffff, word >> 16}; }
};

}  // namespace valet::engine
