// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "geometry/dimension_pair.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace valet::layout {

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
