// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is to be moved, in numbers, as a root gets it from all ranks.

#include <cstdint>

namespace valet::schedule {

/// Blocks of one pair of ranks.
struct TransferEntry {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
  std::uint64_t blocks = 0;
  [[nodiscard]] bool operator==(const TransferEntry&) const = default;
};

/// Blocks that a rank sends and receives, its free slots before the first phase, and the blocks of
/// others that it can keep account of.
struct RankTotals {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t free = 0;
  std::uint64_t waiting_room = ~std::uint64_t{0};
};

/// Numbers above this are refused, so that sums and products of a schedule stay within 64 bits.
constexpr std::uint64_t most_blocks = std::uint64_t{1} << 60;

}  // namespace valet::schedule
