// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "geometry/intersection.hpp"
#include <valet/export.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace valet::layout {

/// Adjacent indices that a coordinate shares with a peer, along one dimension.
struct Segment {
  std::int64_t position;  ///< global index of the first
  std::int64_t local;     ///< its local index
  std::int64_t length;
};

/// Walks over the segments of one dimension and one peer, ascending. O(1) state and time a step.
class SegmentCursor {
 public:
  SegmentCursor() = default;
  SegmentCursor(const DimensionIntersection& dimension, int peer)
      : dimension_(&dimension), families_(dimension.families(peer)) {}

  /// The next segment; false, and `segment` as it was, behind the last.
  bool next(Segment& segment) noexcept {
    if (family_ == families_.size()) {
      if (family_ == 0 || !dimension_->repeats()) return false;
      family_ = 0;
      period_ += dimension_->period();
      local_period_ += dimension_->local_period();
    }
    const DimensionIntersection::Family& family = families_[family_];
    const std::int64_t position = period_ + family.position + count_ * dimension_->segment_stride();
    const std::int64_t rest = dimension_->extent() - position;
    if (rest <= 0) return false;  // they ascend, so all others are behind the extent too
    segment = {position, local_period_ + family.local + count_ * dimension_->local_stride(),
               family.length < rest ? family.length : rest};
    if (++count_ == family.count) {
      count_ = 0;
      ++family_;
    }
    return true;
  }

 private:
  const DimensionIntersection* dimension_ = nullptr;
  std::span<const DimensionIntersection::Family> families_;
  std::size_t family_ = 0;
  std::int64_t count_ = 0;
  std::int64_t period_ = 0;
  std::int64_t local_period_ = 0;
};

/// Elements of this rank that are adjacent in the sequence shared with a peer.
struct Run {
  std::int64_t offset;  ///< of the first in the local array, in elements
  std::int64_t length;  ///< elements; they are stride() elements apart
};

/// Walks over all elements shared with one peer, run by run, in ascending order of their global
/// indices; the peer's cursor meets the same elements in the same order, if in other runs.
///
/// State is O(dimensions), a step O(1) amortised over the elements of the slower dimensions. It
/// refers to the intersection, which must outlive it; copies are independent and mark a place.
class VALET_EXPORT RunCursor {
 public:
  /// @param peer     Rank of theirs.
  /// @param strides  Elements from an index to the next in the local array, per dimension; leading
  ///                 dimensions are in them, and so is whether the array is LayoutLeft or Right.
  /// @param order    Order of the sequence; both sides must choose alike. Runs are along its
  ///                 fastest dimension, so the one that is contiguous in memory is best.
  RunCursor(const Intersection& intersection, int peer, const BlockCyclic::Extents& strides,
            IndexOrder order);

  /// The next run; false, and `run` as it was, when all have been met.
  bool next(Run& run) noexcept {
    while (!done_) {
      Segment segment;
      if (fastest_.next(segment)) {
        position_ = segment.position;
        run = {base_ + segment.local * fastest_stride_, segment.length};
        return true;
      }
      advance();
    }
    return false;
  }

  /// Elements between two of a run, in the local array.
  [[nodiscard]] std::int64_t stride() const noexcept { return fastest_stride_; }
  /// Global index, per dimension, of the first element of the run met last.
  [[nodiscard]] BlockCyclic::Extents position() const;

 private:
  /// One of the dimensions that are walked element by element.
  struct Slow {
    SegmentCursor cursor;
    Segment segment{};
    std::int64_t inside = 0;  ///< element of the segment
    std::int64_t stride = 0;
  };

  void advance() noexcept;
  bool step(Slow& slow) noexcept;
  [[nodiscard]] std::size_t dimension_at(std::size_t step) const noexcept;

  const Intersection* intersection_;
  BlockCyclic::Coordinates peer_;
  IndexOrder order_;
  SegmentCursor fastest_;
  std::int64_t fastest_stride_ = 1;
  std::array<Slow, most_dimensions - 1> slow_;  ///< the fastest of them first
  std::size_t slow_count_ = 0;
  std::int64_t base_ = 0;      ///< offset of the slow dimensions
  std::int64_t position_ = 0;  ///< in the fastest dimension
  bool done_ = false;
};

}  // namespace valet::layout
