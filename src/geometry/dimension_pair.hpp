// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/dimension.hpp>
#include <valet/export.hpp>

#include <cstdint>
#include <limits>

namespace valet::layout {
/// numerator / denominator of numbers that are not negative. On many processors a 64-bit division
/// costs several times a 32-bit one, and few divisions are most of what ASPEN takes.
inline std::int64_t quotient(std::int64_t numerator, std::int64_t denominator) {
  constexpr std::int64_t small = std::numeric_limits<std::uint32_t>::max();
  if ((numerator | denominator) <= small)
    return static_cast<std::uint32_t>(numerator) / static_cast<std::uint32_t>(denominator);
  return numerator / denominator;
}

/// Indices that one coordinate of `mine` shares with one coordinate of `theirs`: `count` runs of
/// `length` indices that follow each other at a stride (DimensionPair::family_stride), a family of
/// line segments (l, r, s, n) of FALLS. Whatever reaches beyond the extent of the array does not
/// exist.
struct IndexFamily {
  std::int64_t position;  ///< global index of the first element, in the first period
  std::int64_t local;     ///< its local index on my side
  std::int64_t length;
  std::int64_t count;
  std::int32_t peer;  ///< coordinate of theirs
};

/// What is common to all coordinates of two layouts of the same dimension: strides and the period
/// after which everything repeats. A dimension with one rank counts as one block, as long as the
/// array: its blocks are contiguous. Swap the arguments for the other side's view.
class VALET_EXPORT DimensionPair {
 public:
  /// @param mine, theirs  Have equal extents. @throws Error invalid_argument otherwise. Local.
  DimensionPair(const Dimension& mine, const Dimension& theirs, int number = 0);

  /// One side as the algorithms see it.
  struct Side {
    std::int64_t block;   ///< indices of a block, at most the extent
    std::int64_t stride;  ///< from a coordinate's block to its next: block * ranks
    std::int32_t ranks;
    std::int32_t first_rank;

    explicit Side(const Dimension& dimension);
    /// Where a coordinate's first block begins.
    [[nodiscard]] std::int64_t start(std::int32_t coordinate) const noexcept {
      const std::int32_t turn = coordinate - first_rank;
      return (turn < 0 ? turn + ranks : turn) * block;
    }
  };

  std::int64_t extent;
  Side mine;
  Side theirs;
  /// Indices after which both layouts repeat: lcm of the strides, or the extent where that is less.
  std::int64_t period;
  bool repeats;  ///< whether the period is shorter than the extent
  /// From an own block to the next, in their numbers: how far the position inside their block and
  /// the coordinate move on. Saves ASPEN the divisions.
  std::int64_t offset_step = 0;
  std::int64_t peer_step = 0;

  /// Local indices of a coordinate of mine in one period.
  [[nodiscard]] std::int64_t local_period() const noexcept { return period / mine.ranks; }
  /// From a run of a family to the next: their blocks inside a block of mine, or mine inside a
  /// block of theirs. Only one of the two can repeat.
  [[nodiscard]] std::int64_t family_stride() const noexcept {
    return theirs.stride < mine.block ? theirs.stride : mine.stride;
  }
  [[nodiscard]] std::int64_t local_stride() const noexcept {
    return theirs.stride < mine.block ? theirs.stride : mine.block;
  }
};

}  // namespace valet::layout
