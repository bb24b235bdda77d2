// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::test {

/// The promise as README.md and docs/memory.md state it, apart from its part of slots.
/// @param ranks  P where the promise has 64*P, else 0.
constexpr std::uint64_t promised_bytes(std::uint64_t budget, std::uint64_t neighbours,
                                       std::uint64_t ranks) {
  return budget + 64 * 1024 + 256 * neighbours + 64 * ranks;
}

}  // namespace valet::test
