// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What a rank of one layout shares with the ranks of another, for codes that move their data
/// themselves. Nothing here communicates.

#include <valet/block_cyclic.hpp>
#include <valet/dimension.hpp>
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace valet {

/// How an intersection is found: C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient
/// Algorithm for Data Redistribution Between Producer and Consumer Grids", sections 4.2 to 4.4. All
/// find the same families, after different numbers of operations. Below are those of one dimension
/// of N indices, for all L coordinates of mine, with blocks of b1, and all R of theirs, with blocks
/// of b2; a single coordinate has one block, of N. P is the period: lcm(b1 L, b2 R), or N if that
/// is less. Where a dimension of a layout is cut, there is one way for all three.
enum class IntersectionAlgorithm {
  aspen,      ///< own blocks visited and families made: at most 2 ceil(P/b1) + ceil(P/b2)
  falls,      ///< block comparisons: at most R ceil(P/b1) + L ceil(P/b2)
  classical,  ///< block comparisons: ceil(N/b1) ceil(N/b2), each block with each
};

/// What to find, and how.
struct IntersectOptions {
  /// As a peer: every rank of the other layout.
  static constexpr int all_peers = -1;
  /// The rank of the other layout, or all of them. For one, nothing about others is computed or
  /// stored, and dimensions are not looked at behind one in which nothing is shared.
  int peer = all_peers;
  /// ASPEN, unless algorithms are compared.
  IntersectionAlgorithm algorithm = IntersectionAlgorithm::aspen;
};

}  // namespace valet

namespace valet::layout {

/// One side of a DimensionPair, as the algorithms see it. A dimension that is cut counts as one
/// block.
struct VALET_EXPORT DimensionSide {
  std::int64_t block = 1;       ///< indices of a block, at most the extent
  std::int64_t stride = 1;      ///< to a coordinate's next block: block * ranks, or block if cut
  std::int32_t ranks = 1;       ///< coordinates
  std::int32_t first_rank = 0;  ///< coordinate that owns index 0
  /// Of Dimension::cuts(): coordinate c has the indices from cut c to the next.
  std::shared_ptr<const std::vector<std::int64_t>> cuts = {};

  /// Of an empty dimension.
  DimensionSide() = default;
  /// Of a dimension.
  explicit DimensionSide(const Dimension& dimension);
  /// Where a coordinate's first block begins, unless the dimension is cut.
  [[nodiscard]] std::int64_t start(std::int32_t coordinate) const noexcept {
    const std::int32_t turn = coordinate - first_rank;
    return (turn < 0 ? turn + ranks : turn) * block;
  }
};

/// What is common to all coordinates of two layouts of the same dimension: strides and the period
/// after which everything repeats. A dimension with one rank counts as one block, as long as the
/// array: its blocks are contiguous. Swap the arguments for the other side's view.
class VALET_EXPORT DimensionPair {
 public:
  /// Of an empty dimension.
  DimensionPair() = default;
  /// @param mine, theirs  Have equal extents. @throws Error invalid_argument otherwise. Local.
  /// @param number        The number of this dimension in the array, for error texts.
  DimensionPair(const Dimension& mine, const Dimension& theirs, int number = 0);

  /// One of the two layouts.
  using Side = DimensionSide;

  std::int64_t extent = 0;  ///< indices of the dimension
  Side mine;                ///< the first layout
  Side theirs;              ///< the second one
  /// Indices after which both layouts repeat: lcm of the strides, or the extent where that is less.
  std::int64_t period = 0;
  bool repeats = false;  ///< whether the period is shorter than the extent
  /// From an own block to the next, in their numbers: how far the position inside their block and
  /// the coordinate move on. Saves ASPEN the divisions.
  std::int64_t offset_step = 0;
  std::int64_t peer_step = 0;  ///< see offset_step

  /// Local indices of a coordinate of mine in one period.
  [[nodiscard]] std::int64_t local_period() const noexcept { return period / mine.ranks; }
  /// From a run of a family to the next: their blocks inside a block of mine, or mine inside a
  /// block of theirs. Only one of the two can repeat.
  [[nodiscard]] std::int64_t family_stride() const noexcept {
    return theirs.stride < mine.block ? theirs.stride : mine.stride;
  }
  /// The same in local indices of mine.
  [[nodiscard]] std::int64_t local_stride() const noexcept {
    return theirs.stride < mine.block ? theirs.stride : mine.block;
  }
};

/// A family of line segments (l, r, s, n) of FALLS: `count` runs of `length` indices at a
/// DimensionPair::family_stride(), which a coordinate shares with one of theirs. It is that of the
/// first period, and repeats every period. What would lie beyond the extent does not exist.
struct IndexFamily {
  std::int64_t position;  ///< global index of the first element
  std::int64_t local;     ///< its local index on my side
  std::int64_t length;    ///< indices of a run
  std::int64_t count;     ///< runs
  std::int32_t peer;      ///< coordinate of theirs
  /// Compares the numbers.
  [[nodiscard]] bool operator==(const IndexFamily&) const = default;
};

/// An IndexFamily of one peer.
struct PeerFamily {
  std::int64_t position;  ///< global index of the first element
  std::int64_t local;     ///< its local index on my side
  std::int64_t length;    ///< indices of a run
  std::int64_t count;     ///< runs
  std::int64_t before;    ///< indices of the same peer in front of it in the period
  /// Compares the numbers.
  [[nodiscard]] bool operator==(const PeerFamily&) const = default;
};

/// What one coordinate of my layout shares with every coordinate of theirs, or one, along one
/// dimension: the families of one period, sorted by peer and by position. The indices shared with a
/// peer are a sequence that ascends; both sides see the same one.
class VALET_EXPORT DimensionIntersection {
 public:
  /// Of the peer that is asked for.
  using Family = PeerFamily;

  /// Nothing shared with anyone.
  DimensionIntersection() = default;
  /// @param ledger      Must outlive the object.
  /// @param pair        The dimension of both layouts.
  /// @param coordinate  Of mine.
  /// @param options     Their peer is a coordinate of theirs.
  /// @throws std::bad_alloc.
  DimensionIntersection(Ledger& ledger, const DimensionPair& pair, int coordinate,
                        const IntersectOptions& options = {});

  /// The dimension of both layouts.
  [[nodiscard]] const DimensionPair& pair() const noexcept { return pair_; }
  /// What is shared with a coordinate of theirs, ascending; nothing with those not asked for.
  [[nodiscard]] std::span<const Family> families(int peer) const noexcept {
    if (first_.size() == 0) {
      const auto [first, end] = std::equal_range(peers_.begin(), peers_.end(), peer);
      return {families_.data() + (first - peers_.begin()), static_cast<std::size_t>(end - first)};
    }
    const auto p = static_cast<std::size_t>(peer - lowest_);
    if (peer < lowest_ || p + 1 >= first_.size()) return {};
    return {families_.data() + first_[p], static_cast<std::size_t>(first_[p + 1] - first_[p])};
  }
  /// Whether nothing is shared with anyone.
  [[nodiscard]] bool is_empty() const noexcept { return families_.size() == 0; }
  /// Indices shared with a peer. O(log families).
  [[nodiscard]] std::int64_t size(int peer) const noexcept {
    return size_before(peer, pair_.extent);
  }
  /// Those of them below a global index, which is at most the extent.
  [[nodiscard]] std::int64_t size_before(int peer, std::int64_t position) const noexcept;
  /// Indices shared with a peer in one period.
  [[nodiscard]] std::int64_t size_of_period(int peer) const noexcept;
  /// What finding them took, as IntersectionAlgorithm counts.
  [[nodiscard]] std::int64_t operations() const noexcept { return operations_; }

  /// Calls action(position, local, length) for every run of indices shared with a peer, in all
  /// periods, ascending: global and local index of the first, and how many.
  template <class Action>
  void for_each_run(int peer, Action&& action) const {
    const std::span<const Family> shared = families(peer);
    if (shared.empty()) return;
    const DimensionPair pair = pair_;
    const std::int64_t step = pair.local_period();
    for (std::int64_t begin = 0, local = 0; begin < pair.extent;
         begin += pair.period, local += step)
      for (const Family& family : shared)
        for (std::int64_t k = 0; k < family.count; ++k) {
          const std::int64_t position = begin + family.position + k * pair.family_stride();
          if (position >= pair.extent) break;
          action(position, local + family.local + k * pair.local_stride(),
                 std::min(family.length, pair.extent - position));
        }
  }

 private:
  void find_few(Ledger& ledger, int coordinate, const IntersectOptions& options, std::size_t most);

  Array<Family> families_;
  Array<std::int64_t> first_;  ///< for each peer, and the end; or
  Array<std::int32_t> peers_;  ///< of each family, where they are few
  int lowest_ = 0;
  std::int64_t operations_ = 0;
  DimensionPair pair_;
};

/// What one rank of my layout shares with every rank of theirs, or one: the cross product of its
/// dimensions, which is never stored. intersect() makes one.
///
/// The elements shared with a peer are a sequence: ascending by global indices in row- or
/// column-major order as the caller chooses. The peer, who has the arguments swapped, sees the same
/// sequence, so data packed in this order needs no indices.
///
/// Memory: 40 bytes per family and 8 per coordinate of their grid (16 for one peer), summed over
/// dimensions; where the former are few, 44 bytes and nothing per coordinate. A dimension has at
/// most as many families as one period has runs of shared indices; at most R + 2 per own block, R
/// their coordinates; and at most 3 per block of theirs that holds a whole turn of mine. So BLOCK
/// to CYCLIC and back are O(R), not O(extent). An interval of a dimension that is cut has at most 3
/// families with each coordinate of theirs.
class VALET_EXPORT Intersection {
 public:
  /// See intersect().
  Intersection(const BlockCyclic& mine, int rank, const BlockCyclic& theirs,
               const IntersectOptions& options = {});
  /// The same, with memory counted by a ledger, which must outlive the object.
  Intersection(Ledger& ledger, const BlockCyclic& mine, int rank, const BlockCyclic& theirs,
               const IntersectOptions& options = {});
  /// Takes what another has.
  Intersection(Intersection&&) noexcept = default;
  /// The same.
  Intersection& operator=(Intersection&& other) noexcept {
    theirs_ = other.theirs_;
    dimensions_ = std::move(other.dimensions_);  // which frees what the present ledger counts
    ledger_ = std::move(other.ledger_);
    return *this;
  }
  ~Intersection() = default;

  /// The layout of the peers.
  [[nodiscard]] const BlockCyclic& theirs() const noexcept { return theirs_; }
  /// Along dimension d, by coordinates of their grid: theirs().coordinates(peer)[d]. After a
  /// dimension in which nothing is shared, there are no others.
  [[nodiscard]] const DimensionIntersection& dimension(std::size_t d) const noexcept {
    return dimensions_[d];
  }
  /// What finding it took, in all dimensions.
  [[nodiscard]] std::int64_t operations() const noexcept;

  /// Elements shared with a rank of theirs. O(dimensions * log families).
  [[nodiscard]] std::int64_t elements(int peer) const;
  /// Those of them in front of an element of the array, which need not be shared, in the sequence
  /// of `order`.
  [[nodiscard]] std::int64_t elements_before(int peer, IndexOrder order,
                                             const BlockCyclic::Extents& global) const;
  /// The lowest rank of theirs from `from` on with which there is something to share;
  /// theirs().ranks() when there is none. `for (int p = next_peer(0); ...; p = next_peer(p + 1))`.
  [[nodiscard]] int next_peer(int from) const;

  /// Calls action(global, local, length) for the elements shared with a rank of theirs, in the
  /// sequence of `order`: `length` elements that follow each other along its fastest dimension, and
  /// the indices of the first one in the array and in my part, both const BlockCyclic::Extents&.
  /// Where the peer has it, theirs().local_indices(global) says.
  template <class Action>
  void for_each_run(int peer, IndexOrder order, Action&& action) const {
    if (elements(peer) == 0) return;
    const BlockCyclic::Coordinates at = theirs_.coordinates(peer);
    const std::size_t last = at.size() - 1;
    BlockCyclic::Extents global = theirs_.extents(), local = global;
    const auto visit = [&](const auto& self, std::size_t step) -> void {
      const std::size_t d = order == IndexOrder::row_major ? step : last - step;
      dimensions_[d].for_each_run(
          at[d], [&](std::int64_t position, std::int64_t own, std::int64_t length) {
            for (std::int64_t k = 0; k < (step == last ? 1 : length); ++k) {
              global[d] = position + k;
              local[d] = own + k;
              if (step < last)
                self(self, step + 1);
              else
                action(std::as_const(global), std::as_const(local), length);
            }
          });
    };
    visit(visit, 0);
  }

 private:
  void find(Ledger& ledger, const BlockCyclic& mine, int rank, const IntersectOptions& options);

  std::unique_ptr<Ledger> ledger_;
  BlockCyclic theirs_;
  std::array<DimensionIntersection, most_dimensions> dimensions_;
};

}  // namespace valet::layout

namespace valet {

/// What a rank of `mine` shares with the ranks of `theirs`. Local.
///
/// @param mine     The layout of this side.
/// @param rank     In its grid, 0 to mine.ranks()-1.
/// @param theirs   The other layout, of the same extents. It may be the same one.
/// @param options  One peer or all, and the algorithm.
/// @throws Error invalid_argument: the extents differ, the rank or the peer is not in its grid, an
///         unknown algorithm; the text has the numbers. std::bad_alloc.
///
/// Memory: see layout::Intersection.
[[nodiscard]] inline layout::Intersection intersect(const BlockCyclic& mine, int rank,
                                                    const BlockCyclic& theirs,
                                                    const IntersectOptions& options = {}) {
  return {mine, rank, theirs, options};
}

/// How many families there are, and what finding them took, as IntersectionAlgorithm counts.
struct FoundFamilies {
  std::size_t families = 0;     ///< perhaps more than there was room for
  std::int64_t operations = 0;  ///< of the algorithm
};

/// The same along one dimension, into memory of the caller: no other memory is needed. Local.
///
/// @param pair        The dimension of both layouts.
/// @param coordinate  Of mine.
/// @param families    Receives the families, as many as fit, ascending by position for each peer.
/// @param options     As above; the peer is a coordinate of theirs.
/// @throws Error invalid_argument, as above.
VALET_EXPORT FoundFamilies intersect(const layout::DimensionPair& pair, int coordinate,
                                     std::span<layout::IndexFamily> families,
                                     const IntersectOptions& options = {});

}  // namespace valet
