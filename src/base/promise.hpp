// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What is promised of memory beyond the budget, in one place for all operations.

#include <cstdint>

namespace valet::detail {

/// Includes what a thread holds back for when memory runs out (MemoryReserve).
inline constexpr std::uint64_t promised_fixed = std::uint64_t{64} << 10;
inline constexpr std::uint64_t promised_reserve = std::uint64_t{24} << 10;
/// While planning about 200 bytes are used, while data moves about 80.
inline constexpr std::uint64_t promised_of_neighbour = 256;
/// For every rank of the communicator, where something has to be kept of all of them.
inline constexpr std::uint64_t promised_of_rank = 64;
inline constexpr std::uint64_t promised_of_trace = std::uint64_t{24} << 10;

/// What is promised apart from what is promised of slots (Report::extra_bytes_bound).
[[nodiscard]] constexpr std::uint64_t promised_bytes(std::uint64_t budget, std::uint64_t neighbours,
                                                     std::uint64_t ranks, bool traces) {
  return budget + promised_fixed + promised_of_neighbour * neighbours + promised_of_rank * ranks +
         (traces ? promised_of_trace : 0);
}

}  // namespace valet::detail
