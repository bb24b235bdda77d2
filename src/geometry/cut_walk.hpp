// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What one coordinate of mine shares with coordinates of theirs, where at least one of the two
/// dimensions is cut anywhere: an interval meets other intervals, or blocks that are dealt in turn.
/// Nothing repeats, so the period is the extent.

#include "geometry/intersection.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::layout {

/// Indices of a dimension.
struct IndexRange {
  std::int64_t begin, end;
};

/// What a coordinate of a dimension that is cut has.
[[nodiscard]] inline IndexRange range_of(const DimensionSide& side, std::int32_t coordinate) {
  const auto c = static_cast<std::size_t>(coordinate);
  return {(*side.cuts)[c], (*side.cuts)[c + 1]};
}

/// Calls emit(position, length, count) for what a coordinate's blocks have of a range that is not
/// empty, ascending: the end of a block, whole ones, the beginning of one.
template <class Emit>
void cut_blocks(const IndexRange& range, const DimensionSide& side, std::int32_t coordinate,
                Emit&& emit) {
  std::int64_t block = side.start(coordinate);
  if (block + side.block <= range.begin)
    block += ((range.begin - block - side.block) / side.stride + 1) * side.stride;
  for (std::int64_t count = 1; block < range.end; block += count * side.stride) {
    const std::int64_t left = std::max(block, range.begin);
    const std::int64_t right = std::min(block + side.block, range.end);
    count = right - left == side.block ? (range.end - right) / side.stride + 1 : 1;
    emit(left, right - left, count);
  }
}

/// Calls sink(IndexFamily) as walk_aspen() does. @return Coordinates looked at and families made.
template <class Sink>
std::int64_t walk_cuts(const DimensionPair& pair, std::int32_t coordinate, const Peers& peers,
                       Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  std::int64_t operations = 0;
  if (!mine.cuts) {
    const std::int64_t start = mine.start(coordinate);
    for (std::int32_t peer = peers.first; peer < peers.end; ++peer, ++operations) {
      const IndexRange range = range_of(theirs, peer);
      if (range.begin == range.end) continue;
      cut_blocks(range, mine, coordinate, [&](auto position, auto length, auto count) {
        const std::int64_t number = (position - start) / mine.stride;
        const std::int64_t local = position - start - number * (mine.stride - mine.block);
        sink(IndexFamily{position, local, length, count, peer});
        ++operations;
      });
    }
    return operations;
  }
  const IndexRange own = range_of(mine, coordinate);
  if (own.begin == own.end) return operations;
  std::int32_t peer = peers.first;
  if (theirs.cuts) {
    const auto behind = std::ranges::upper_bound(*theirs.cuts, own.begin);
    peer = std::max(peer, static_cast<std::int32_t>(behind - theirs.cuts->begin() - 1));
  }
  for (; peer < peers.end; ++peer, ++operations) {
    const auto share = [&](std::int64_t position, std::int64_t length, std::int64_t count) {
      sink(IndexFamily{position, position - own.begin, length, count, peer});
      ++operations;
    };
    if (!theirs.cuts) {
      cut_blocks(own, theirs, peer, share);
      continue;
    }
    const IndexRange range = range_of(theirs, peer);
    if (range.begin >= own.end) break;
    const std::int64_t left = std::max(range.begin, own.begin);
    const std::int64_t right = std::min(range.end, own.end);
    if (left < right) share(left, right - left, 1);
  }
  return operations;
}

}  // namespace valet::layout
