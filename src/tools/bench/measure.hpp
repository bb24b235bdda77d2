// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace valet::bench {

[[nodiscard]] int world_rank();
[[nodiscard]] int world_size();
/// The same verdict on all ranks: whether it holds on each.
[[nodiscard]] bool on_all_ranks(bool condition);
[[nodiscard]] std::uint64_t sum_of_ranks(std::uint64_t value);
[[nodiscard]] std::uint64_t largest_of_ranks(std::uint64_t value);

/// Seconds that `action` takes on the slowest rank, started together.
[[nodiscard]] double slowest_seconds(const std::function<void()>& action);
/// The largest of what the ranks have.
[[nodiscard]] double slowest(double seconds);

[[nodiscard]] double median(std::vector<double> values);
/// Which of the values is the median, or the lower one of two in the middle. Not empty.
[[nodiscard]] std::size_t middle_of(const std::vector<double>& values);

/// Scattered over 64 bits: summed over all ranks, these show whether a number was lost or doubled.
[[nodiscard]] constexpr std::uint64_t mixed(std::uint64_t number) {
  std::uint64_t mixed = (number + 1) * 0x9E3779B97F4A7C15ULL;
  mixed ^= mixed >> 31;
  return mixed * 0xBF58476D1CE4E5B9ULL;
}

}  // namespace valet::bench
