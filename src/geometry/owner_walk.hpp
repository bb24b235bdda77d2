// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Walks over a rank's part in the order of memory and says to whom of another layout the elements
/// belong, stretch by stretch; forwards, or backwards through the same stretches. O(1) memory.

#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace valet::layout {

enum class Direction { forward, backward };

/// The stretches of one dimension. Divides only where a block of mine begins.
template <Direction direction>
class OwnerSegments {
 public:
  OwnerSegments(const Dimension& mine, int coordinate, const Dimension& theirs)
      : mine_(&mine),
        theirs_(&theirs),
        coordinate_(coordinate),
        extent_(mine.local_extent(coordinate)) {}

  [[nodiscard]] std::int64_t extent() const { return extent_; }

  /// Calls sink(coordinate of theirs, length) for all of them.
  template <class Sink>
  void walk(Sink&& sink) const {
    for (std::int64_t left = extent_; left > 0;) {
      if constexpr (direction == Direction::forward)
        left -= forward_block(extent_ - left, sink);
      else
        left -= backward_block(left, sink);
    }
  }

 private:
  template <class Sink>
  std::int64_t forward_block(std::int64_t local, Sink&& sink) const {
    const std::int64_t length = std::min(mine_->block_size(), extent_ - local);
    const std::int64_t position = mine_->global_index(coordinate_, local);
    const std::int64_t block = theirs_->block_size();
    int peer = theirs_->owner(position);
    std::int64_t room = block - position % block;
    for (std::int64_t left = length; left > 0; left -= room, room = block) {
      sink(peer, std::min(room, left));
      peer = peer + 1 == theirs_->ranks() ? 0 : peer + 1;
    }
    return length;
  }

  /// The block that ends in front of local index `end`.
  template <class Sink>
  std::int64_t backward_block(std::int64_t end, Sink&& sink) const {
    const std::int64_t length = (end - 1) % mine_->block_size() + 1;
    const std::int64_t last = mine_->global_index(coordinate_, end - 1);
    const std::int64_t block = theirs_->block_size();
    int peer = theirs_->owner(last);
    std::int64_t room = last % block + 1;
    for (std::int64_t left = length; left > 0; left -= room, room = block) {
      sink(peer, std::min(room, left));
      peer = peer == 0 ? theirs_->ranks() - 1 : peer - 1;
    }
    return length;
  }

  const Dimension* mine_;
  const Dimension* theirs_;
  int coordinate_;
  std::int64_t extent_;
};

/// What a step of one coordinate adds to a rank: a rank is a sum over the dimensions.
inline std::array<int, most_dimensions> rank_weights(const BlockCyclic& layout) {
  std::array<int, most_dimensions> weights{};
  for (std::size_t d = 0; d < layout.dimensions(); ++d) {
    auto unit = BlockCyclic::Coordinates::filled(layout.dimensions(), 0);
    unit[d] = 1;
    weights[d] = layout.dimension(d).ranks() > 1 ? layout.rank(unit) : 0;
  }
  return weights;
}

/// Calls sink(rank of theirs, length) for the stretches of a whole part, which are contiguous in
/// memory.
template <Direction direction, class Sink>
void walk_owners(const BlockCyclic& mine, int rank, const BlockCyclic& theirs, IndexOrder order,
                 Sink&& sink) {
  const std::size_t count = mine.dimensions();
  const BlockCyclic::Coordinates place = mine.coordinates(rank);
  const BlockCyclic::Extents extents = mine.local_extents(rank);
  if (mine.local_elements(rank) == 0) return;
  const auto dimension_at = [&](std::size_t step) {
    return order == IndexOrder::column_major ? step : count - 1 - step;
  };
  const std::array<int, most_dimensions> weight = rank_weights(theirs);
  const std::size_t fast = dimension_at(0);
  const OwnerSegments<direction> row(mine.dimension(fast), place[fast], theirs.dimension(fast));
  // An odometer of the slower dimensions, from the first or from the last row.
  std::array<std::int64_t, most_dimensions> index{};
  std::array<int, most_dimensions> base{};
  const auto turn_to = [&](std::size_t d, std::int64_t local) {
    index[d] = local;
    base[d] =
        weight[d] * theirs.dimension(d).owner(mine.dimension(d).global_index(place[d], local));
  };
  constexpr bool ascends = direction == Direction::forward;
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t d = dimension_at(step);
    turn_to(d, ascends ? 0 : extents[d] - 1);
  }
  for (;;) {
    int peer = 0;
    for (std::size_t step = 1; step < count; ++step) peer += base[dimension_at(step)];
    row.walk([&](int coordinate, std::int64_t length) {
      sink(peer + weight[fast] * coordinate, length);
    });
    std::size_t step = 1;
    for (; step < count; ++step) {
      const std::size_t d = dimension_at(step);
      const std::int64_t next = index[d] + (ascends ? 1 : -1);
      if (next >= 0 && next < extents[d]) {
        turn_to(d, next);
        break;
      }
      turn_to(d, ascends ? 0 : extents[d] - 1);
    }
    if (step == count) return;
  }
}

}  // namespace valet::layout
