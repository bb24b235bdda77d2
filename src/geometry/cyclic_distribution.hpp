// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Layouts that are found in a map from blocks to ranks, so that what follows from them need not be
/// communicated. Local, no MPI.

#include <valet/dimension.hpp>
#include <valet/export.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace valet::layout {

/// The blocks of one rank distributed over all ranks in turn: block k goes to rank
/// (first_rank + (offset + k) / block_size) mod P. The runs at both ends may be cut.
///
///     count 7, block_size 3, offset 1, first_rank 1, 3 ranks
///     k      0 1 | 2 3 4 | 5 6
///     rank    1      2      0
struct CyclicDistribution {
  std::int64_t count = 0;
  std::int64_t block_size = 1;
  std::int64_t offset = 0;  ///< below block_size
  std::int64_t first_rank = 0;

  /// The layout of offset + count indices; the first `offset` of them do not exist.
  [[nodiscard]] Dimension dimension(int ranks) const {
    return {offset + count, block_size, ranks, static_cast<int>(first_rank)};
  }
  /// Blocks that a rank gets. O(1).
  [[nodiscard]] std::int64_t count_of(int rank, int ranks) const {
    return dimension(ranks).local_extent(rank) - (rank == first_rank ? offset : 0);
  }
  /// How often all ranks have their turn, the last time perhaps not all of them.
  [[nodiscard]] std::int64_t periods(int ranks) const {
    const std::int64_t period = block_size * ranks;
    return (offset + count + period - 1) / period;
  }
  /// Calls action(first, count) for every run of blocks that goes to a rank, ascending.
  template <class Action>
  void for_each_run(int rank, int ranks, Action&& action) const {
    const std::int64_t stride = block_size * ranks;
    std::int64_t begin = dimension(ranks).turn(rank) * block_size - offset;
    for (; begin < count; begin += stride) {
      const std::int64_t first = std::max<std::int64_t>(begin, 0);
      action(first, std::min(begin + block_size, count) - first);
    }
  }
  [[nodiscard]] bool operator==(const CyclicDistribution&) const = default;
};

/// In place of a rank.
constexpr int no_rank = -1;

/// The number of a rank where one is left out.
[[nodiscard]] constexpr int number_without(int rank, int without) {
  return without != no_rank && rank > without ? rank - 1 : rank;
}

/// What one scan of the map of a rank found.
struct MapPattern {
  bool periodic = false;   ///< `distribution` describes the whole map
  bool ascending = false;  ///< no block goes to a lower rank than the one before it
  CyclicDistribution distribution;
  int first_rank = 0, last_rank = -1;  ///< owners of the first and the last block
  std::int64_t runs = 0;               ///< runs of equal ranks
};

/// Looks for a pattern; ends where there can be none any more, so that an irregular map costs a few
/// entries. An empty map has both patterns. Time: at most one pass.
/// @param map      Ranks in 0 to ranks-1.
/// @param without  A rank that is not in the map. The others are numbered without it: those above
///                 are one less, and the distribution is over ranks-1.
[[nodiscard]] VALET_EXPORT MapPattern recognise(std::span<const int> map, int ranks,
                                                int without = no_rank);

}  // namespace valet::layout
