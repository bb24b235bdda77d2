// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

namespace valet::schedule {

/// Bytes that leave a rank at once, at most, where messages that stay in the cache would do as well
/// and nothing has to be copied once more for them. Measured: below, messages for each credit take
/// up to twice the time; from three times as much on they take two thirds of it.
constexpr std::uint64_t most_bytes_at_once = std::uint64_t{8} << 20;

}  // namespace valet::schedule
