// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The algorithms that the ASPEN paper compares with its own, to find what one coordinate of mine
/// shares with coordinates of theirs. Each calls sink(IndexFamily) for the same families as
/// walk_aspen(), sorted by peer and by position, and returns how often it compared two blocks.

#include "geometry/intersection.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::layout {

/// Compares blocks, and makes families of the runs that they share: those inside one block, at a
/// family_stride.
template <class Sink>
class BlockComparison {
 public:
  BlockComparison(const DimensionPair& pair, Sink& sink) : pair_(pair), sink_(sink) {}

  /// @param own, other  Where the blocks begin. @param local  Local index of `own`.
  void compare(std::int64_t own, std::int64_t local, std::int64_t other, std::int32_t peer) {
    ++comparisons_;
    const std::int64_t left = std::max(own, other);
    const std::int64_t right = std::min(own + pair_.mine.block, other + pair_.theirs.block);
    if (left < right && left < pair_.period)
      share(left, std::min(right, pair_.extent) - left, own, local, other, peer);
  }

  /// Hands out the last family. @return Comparisons.
  std::int64_t finish() {
    if (family_.count > 0) sink_(family_);
    family_.count = 0;
    return comparisons_;
  }

 private:
  void share(std::int64_t left, std::int64_t length, std::int64_t own, std::int64_t local,
             std::int64_t other, std::int32_t peer) {
    const std::int64_t around = pair_.theirs.stride < pair_.mine.block ? own : other;
    if (around == around_ && peer == family_.peer && length == family_.length &&
        left == family_.position + family_.count * pair_.family_stride()) {
      ++family_.count;
      return;
    }
    finish();
    family_ = {left, local + (left - own), length, 1, peer};
    around_ = around;
  }

  const DimensionPair& pair_;
  Sink& sink_;
  IndexFamily family_{0, 0, 0, 0, 0};
  std::int64_t around_ = -1;  ///< where the block begins that has the runs of the family
  std::int64_t comparisons_ = 0;
};

enum class Comparing {
  all,      ///< each own block with each block of each peer: ASPEN paper, Algorithm 2, CLASSICAL
  onwards,  ///< inside one period, and never back: Algorithm 3, FALLS
};

/// With the peers outermost the first of a peer's blocks that is still of interest is one number
/// and not one per peer.
template <Comparing which, class Sink>
std::int64_t walk_comparing(const DimensionPair& pair, std::int32_t coordinate, Peers peers,
                            Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  const std::int64_t end = which == Comparing::all ? pair.extent : pair.period;
  const std::int64_t first = mine.start(coordinate);
  if (first >= end) return 0;
  BlockComparison blocks(pair, sink);
  for (std::int32_t peer = peers.first; peer < peers.end; ++peer) {
    std::int64_t local = 0;
    std::int64_t unchecked = theirs.start(peer);
    for (std::int64_t own = first; own < end && unchecked < end;
         own += mine.stride, local += mine.block)
      for (std::int64_t other = unchecked; other < end; other += theirs.stride) {
        blocks.compare(own, local, other, peer);
        if (which == Comparing::all) continue;
        if (other + theirs.block > own + mine.block) break;
        unchecked = other + theirs.stride;
      }
  }
  return blocks.finish();
}

}  // namespace valet::layout
