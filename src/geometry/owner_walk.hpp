// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Walks over a rank's part in the order of memory and says to whom of another layout the elements
/// belong, run by run; forwards, or backwards through the same runs. O(1) memory.

#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace valet::layout {

enum class Direction { forward, backward };

/// Calls sink(coordinate of theirs, length) for the runs of one dimension, of which `extent`
/// indices are mine. Divides only where a block of mine begins.
template <Direction direction, class Sink>
void walk_row(const Dimension& mine, int coordinate, std::int64_t extent, const Dimension& theirs,
              Sink&& sink) {
  constexpr bool ascends = direction == Direction::forward;
  const std::int64_t block = theirs.block_size();
  const int ranks = theirs.ranks();
  std::int64_t length = 0;  // a block's of mine
  for (std::int64_t left = extent; left > 0; left -= length) {
    const std::int64_t local = ascends ? extent - left : left - 1;
    length = ascends ? std::min(mine.block_size(), left) : local % mine.block_size() + 1;
    const std::int64_t position = mine.global_index(coordinate, local);
    int peer = theirs.owner(position);
    std::int64_t room = ascends ? block - position % block : position % block + 1;
    for (std::int64_t rest = length; rest > 0; rest -= room, room = block) {
      sink(peer, std::min(room, rest));
      if constexpr (ascends)
        peer = peer + 1 == ranks ? 0 : peer + 1;
      else
        peer = peer == 0 ? ranks - 1 : peer - 1;
    }
  }
}

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

/// Calls sink(rank of theirs, length) for the runs of a whole part, which are contiguous in memory.
template <Direction direction, class Sink>
void walk_owners(const BlockCyclic& mine, int rank, const BlockCyclic& theirs, IndexOrder order,
                 Sink&& sink) {
  const std::size_t count = mine.dimensions();
  const BlockCyclic::Coordinates grid_coordinates = mine.coordinates(rank);
  const BlockCyclic::Extents extents = mine.local_extents(rank);
  if (mine.local_elements(rank) == 0) return;
  const auto dimension_at = [&](std::size_t step) {
    return order == IndexOrder::column_major ? step : count - 1 - step;
  };
  const std::array<int, most_dimensions> weight = rank_weights(theirs);
  const std::size_t fast = dimension_at(0);
  // An odometer of the slower dimensions, from the first or from the last row.
  std::array<std::int64_t, most_dimensions> index{};
  std::array<int, most_dimensions> base{};
  const auto turn_to = [&](std::size_t d, std::int64_t local) {
    index[d] = local;
    base[d] = weight[d] *
              theirs.dimension(d).owner(mine.dimension(d).global_index(grid_coordinates[d], local));
  };
  constexpr bool ascends = direction == Direction::forward;
  for (std::size_t step = 1; step < count; ++step) {
    const std::size_t d = dimension_at(step);
    turn_to(d, ascends ? 0 : extents[d] - 1);
  }
  for (;;) {
    int peer = 0;
    for (std::size_t step = 1; step < count; ++step) peer += base[dimension_at(step)];
    walk_row<direction>(mine.dimension(fast), grid_coordinates[fast], extents[fast],
                        theirs.dimension(fast), [&](int coordinate, std::int64_t length) {
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
