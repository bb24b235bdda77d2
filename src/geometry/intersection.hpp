// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/block_cyclic.hpp>
#include <valet/dimension.hpp>
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <span>

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

/// What one coordinate of my layout shares with every coordinate of theirs along one dimension:
/// the families of one period, sorted by peer and by position. The indices shared with a peer are a
/// sequence that ascends; both sides see the same one.
class VALET_EXPORT DimensionIntersection {
 public:
  /// One period of a family, with the indices of the same peer in front of it in the period.
  struct Family {
    std::int64_t position, local, length, count, before;
  };

  DimensionIntersection() = default;
  /// @throws std::bad_alloc.
  DimensionIntersection(Ledger& ledger, const DimensionPair& pair, int coordinate);

  /// The dimension of both layouts.
  [[nodiscard]] const DimensionPair& pair() const noexcept { return pair_; }
  [[nodiscard]] std::span<const Family> families(int peer) const noexcept {
    const auto p = static_cast<std::size_t>(peer);
    return {families_.data() + first_[p], static_cast<std::size_t>(first_[p + 1] - first_[p])};
  }
  /// Indices shared with a peer. O(log families).
  [[nodiscard]] std::int64_t size(int peer) const noexcept;
  /// Indices shared with a peer in one period. O(1).
  [[nodiscard]] std::int64_t size_of_period(int peer) const noexcept;

 private:
  Array<Family> families_;
  Array<std::int64_t> first_;  ///< for each peer, and the end
  DimensionPair pair_{{}, {}};
};

/// What one rank of my layout shares with every rank of theirs: the cross product of its
/// dimensions, copied by SequenceCopy and never stored.
///
/// The elements shared with a peer are a sequence: ascending by global indices in row- or
/// column-major order as the caller chooses. The peer, who builds an Intersection with the
/// arguments swapped, sees the same sequence, so data packed in this order needs no indices. Local:
/// nothing here communicates.
///
/// Memory, counted by the ledger: 40 bytes per family and 8 per coordinate of their grid, summed
/// over dimensions. A dimension has at most as many families as one period has runs of shared
/// indices; at most R + 2 per own block, R their coordinates; and at most 3 per block of theirs
/// that holds a whole turn of mine. So BLOCK to CYCLIC and back are O(R), not O(extent).
class VALET_EXPORT Intersection {
 public:
  /// @param rank  In my layout's grid, 0 to mine.ranks()-1.
  /// @throws Error invalid_argument: the extents differ, or the rank is not in the grid; the text
  ///         has the numbers. std::bad_alloc.
  Intersection(Ledger& ledger, const BlockCyclic& mine, int rank, const BlockCyclic& theirs);

  [[nodiscard]] const BlockCyclic& theirs() const noexcept { return theirs_; }
  [[nodiscard]] const DimensionIntersection& dimension(std::size_t d) const noexcept {
    return dimensions_[d];
  }

  /// Elements shared with a rank of theirs. O(dimensions * log families).
  [[nodiscard]] std::int64_t elements(int peer) const;
  /// The lowest rank of theirs from `from` on with which there is something to share;
  /// theirs().ranks() when there is none. `for (int p = next_peer(0); ...; p = next_peer(p + 1))`.
  [[nodiscard]] int next_peer(int from) const;

 private:
  BlockCyclic theirs_;
  std::array<DimensionIntersection, most_dimensions> dimensions_;
};

}  // namespace valet::layout
