// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Blocks that are dealt to ranks in turn. Local, no MPI.

#include <valet/dimension.hpp>

#include <algorithm>
#include <cstdint>

namespace valet::layout {

/// The smallest t >= 0 with factor * t = value modulo `modulus`; negative where there is none. Both
/// are in 0 to modulus-1. Euclid's algorithm, O(log modulus).
[[nodiscard]] constexpr std::int64_t solve(std::int64_t factor, std::int64_t value,
                                           std::int64_t modulus) {
  if (value == 0) return 0;
  if (factor == 0) return -1;
  const std::int64_t times = solve(modulus % factor, (factor - value % factor) % factor, factor);
  return times < 0 ? -1 : (value + modulus * times) / factor;
}

/// The blocks of one rank dealt to ranks in turn: block k is in turn t = (offset + k) / block_size
/// modulo `turns`, and goes to rank (first_rank + step * t) mod P. The runs at both ends may be
/// cut.
///
///     count 7, block_size 3, offset 1, first_rank 1, 3 ranks
///     k      0 1 | 2 3 4 | 5 6
///     rank    1      2      0
struct CyclicDistribution {
  std::int64_t count = 0;
  std::int64_t block_size = 1;
  std::int64_t offset = 0;  ///< below period()
  std::int64_t first_rank = 0;
  std::int64_t step = 1;   ///< from one rank to the next
  std::int64_t turns = 0;  ///< until it is the first rank's again; 0: all P ranks have one

  /// After so many blocks it is the same rank's turn again.
  [[nodiscard]] std::int64_t period(int ranks) const {
    return block_size * (turns == 0 ? ranks : turns);
  }
  /// The turn of a rank; negative where it has none.
  [[nodiscard]] std::int64_t turn_of(int rank, int ranks) const {
    const std::int64_t turn = solve(step, (rank - first_rank + ranks) % ranks, ranks);
    return turns == 0 || turn < turns ? turn : -1;
  }
  /// Blocks that a rank gets. O(log P).
  [[nodiscard]] std::int64_t count_of(int rank, int ranks) const {
    const std::int64_t turn = turn_of(rank, ranks);
    if (turn < 0) return 0;
    // The first `offset` blocks do not exist.
    const auto first = [&](std::int64_t blocks) {
      const int coordinates = static_cast<int>(turns == 0 ? ranks : turns);
      return Dimension(blocks, block_size, coordinates).local_extent(static_cast<int>(turn));
    };
    return first(offset + count) - first(offset);
  }
  /// How often all have their turn, the last time perhaps not all of them.
  [[nodiscard]] std::int64_t periods(int ranks) const {
    return (offset + count + period(ranks) - 1) / period(ranks);
  }
  /// Calls action(first, count) for every run of blocks that goes to a rank, ascending.
  template <class Action>
  void for_each_run(int rank, int ranks, Action&& action) const {
    const std::int64_t turn = turn_of(rank, ranks);
    if (turn < 0) return;
    std::int64_t begin = turn * block_size - offset;
    if (begin + block_size <= 0) begin += period(ranks);
    for (; begin < count; begin += period(ranks)) {
      const std::int64_t first = std::max<std::int64_t>(begin, 0);
      action(first, std::min(begin + block_size, count) - first);
    }
  }
  [[nodiscard]] bool operator==(const CyclicDistribution&) const = default;
};

}  // namespace valet::layout
