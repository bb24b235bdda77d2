// SPDX-License-Identifier: BSD-3-Clause
#include "geometry/run_cursor.hpp"

#include <valet/error.hpp>

#include <string>

namespace valet::layout {

RunCursor::RunCursor(const Intersection& intersection, int peer,
                     const BlockCyclic::Extents& strides, IndexOrder order)
    : intersection_(&intersection),
      peer_(intersection.theirs().coordinates(peer)),
      order_(order),
      slow_count_(peer_.size() - 1) {
  if (strides.size() != peer_.size())
    throw Error(ErrorCode::invalid_argument, "an array of " + std::to_string(peer_.size()) +
                                                 " dimensions needs as many strides, " +
                                                 std::to_string(strides.size()) + " were given");
  const std::size_t fast = dimension_at(0);
  fastest_ = SegmentCursor(intersection.dimension(fast), peer_[fast]);
  fastest_stride_ = strides[fast];
  for (std::size_t s = 0; s < slow_count_; ++s) {
    const std::size_t d = dimension_at(s + 1);
    Slow& slow = slow_[s];
    slow.stride = strides[d];
    slow.cursor = SegmentCursor(intersection.dimension(d), peer_[d]);
    if (!slow.cursor.next(slow.segment)) {
      done_ = true;
      return;
    }
    base_ += slow.segment.local * slow.stride;
  }
}

std::size_t RunCursor::dimension_at(std::size_t step) const noexcept {
  return order_ == IndexOrder::column_major ? step : peer_.size() - 1 - step;
}

bool RunCursor::step(Slow& slow) noexcept {
  const std::int64_t before = slow.segment.local + slow.inside;
  if (++slow.inside == slow.segment.length) {
    if (!slow.cursor.next(slow.segment)) return false;
    slow.inside = 0;
  }
  base_ += (slow.segment.local + slow.inside - before) * slow.stride;
  return true;
}

void RunCursor::advance() noexcept {
  // Like an odometer: a dimension that is through begins again, and the next slower one moves on.
  std::size_t through = 0;
  while (through < slow_count_ && !step(slow_[through])) ++through;
  if (through == slow_count_) {
    done_ = true;
    return;
  }
  const auto restarted = [this](std::size_t s) {
    const std::size_t d = dimension_at(s);
    return SegmentCursor(intersection_->dimension(d), peer_[d]);
  };
  fastest_ = restarted(0);
  for (std::size_t s = 0; s < through; ++s) {
    Slow& slow = slow_[s];
    const std::int64_t last = slow.segment.local + slow.segment.length - 1;
    slow.cursor = restarted(s + 1);
    slow.cursor.next(slow.segment);
    slow.inside = 0;
    base_ += (slow.segment.local - last) * slow.stride;
  }
}

BlockCyclic::Extents RunCursor::position() const {
  auto position = BlockCyclic::Extents::filled(peer_.size(), 0);
  position[dimension_at(0)] = position_;
  for (std::size_t s = 0; s < slow_count_; ++s)
    position[dimension_at(s + 1)] = slow_[s].segment.position + slow_[s].inside;
  return position;
}

}  // namespace valet::layout
