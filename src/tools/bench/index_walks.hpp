// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The algorithms that the ASPEN paper compares with its own, to find what one coordinate of mine
/// shares with all coordinates of theirs. Each calls sink(IndexFamily) for every family,
/// ascending by position for each peer, and returns its operations: block comparisons of CLASSICAL
/// and FALLS, those of walk_aspen(). CLASSICAL finds the segments of the whole extent, the others
/// those of the first period.

#include "geometry/aspen.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace valet::bench {

using layout::DimensionPair;
using layout::IndexFamily;

enum class IndexAlgorithm {
  classical,  ///< every own block against every block of every peer (ASPEN paper, section 4.2)
  falls,      ///< the same inside one period (ASPEN paper, section 4.3)
  aspen,      ///< what Valet uses
  scalapack,  ///< ScaLAPACK's, where it can be called
};

/// ASPEN paper, Algorithm 2: each own block against each block of each peer, over the extent.
template <class Sink>
std::int64_t walk_classical(const DimensionPair& pair, std::int32_t coordinate, Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  std::int64_t operations = 0;
  std::int64_t local = 0;
  for (std::int64_t own = mine.start(coordinate); own < pair.extent; own += mine.stride) {
    for (std::int32_t peer = 0; peer < theirs.ranks; ++peer)
      for (std::int64_t other = theirs.start(peer); other < pair.extent; other += theirs.stride) {
        ++operations;
        const std::int64_t left = std::max(own, other);
        const std::int64_t right = std::min(own + mine.block, other + theirs.block);
        if (left < right) sink(IndexFamily{left, local + (left - own), right - left, 1, peer});
      }
    local += mine.block;
  }
  return operations;
}

/// ASPEN paper, Algorithm 3: inside one period, and onwards only. With the peers outermost the
/// first of a peer's blocks that is still of interest is one number and not one per peer.
template <class Sink>
std::int64_t walk_falls(const DimensionPair& pair, std::int32_t coordinate, Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  std::int64_t operations = 0;
  const std::int64_t first = mine.start(coordinate);
  if (first >= pair.period) return operations;
  for (std::int32_t peer = 0; peer < theirs.ranks; ++peer) {
    std::int64_t local = 0;
    std::int64_t unchecked = theirs.start(peer);
    for (std::int64_t own = first; own < pair.period && unchecked < pair.period;
         own += mine.stride) {
      for (std::int64_t other = unchecked; other < pair.period; other += theirs.stride) {
        ++operations;
        const std::int64_t left = std::max(own, other);
        const std::int64_t right = std::min(own + mine.block, other + theirs.block);
        if (left < right) sink(IndexFamily{left, local + (left - own), right - left, 1, peer});
        if (other + theirs.block > own + mine.block) break;
        unchecked = other + theirs.stride;
      }
      local += mine.block;
    }
  }
  return operations;
}

/// The one of the three that `algorithm` names.
template <class Sink>
std::int64_t walk(const DimensionPair& pair, std::int32_t coordinate, IndexAlgorithm algorithm,
                  Sink&& sink) {
  switch (algorithm) {
    case IndexAlgorithm::classical: return walk_classical(pair, coordinate, sink);
    case IndexAlgorithm::falls: return walk_falls(pair, coordinate, sink);
    default: return layout::walk_aspen(pair, coordinate, sink);
  }
}

struct Segment {
  std::int64_t position, local, length;
  [[nodiscard]] bool operator==(const Segment&) const = default;
};

/// All segments that a coordinate shares with each one of theirs, in all periods.
inline std::vector<std::vector<Segment>> segments_of(const DimensionPair& pair, int coordinate,
                                                     IndexAlgorithm algorithm) {
  std::vector<std::vector<Segment>> segments(static_cast<std::size_t>(pair.theirs.ranks));
  const bool is_whole = algorithm == IndexAlgorithm::classical;  // it knows no period
  std::int64_t local = 0;
  for (std::int64_t begin = 0; begin < pair.extent;
       begin += is_whole ? pair.extent : pair.period, local += pair.local_period())
    walk(pair, coordinate, algorithm, [&](const IndexFamily& family) {
      for (std::int64_t k = 0; k < family.count; ++k) {
        const std::int64_t position = begin + family.position + k * pair.family_stride();
        if (position < pair.extent)
          segments[static_cast<std::size_t>(family.peer)].push_back(
              {position, local + family.local + k * pair.local_stride(),
               std::min(family.length, pair.extent - position)});
      }
    });
  return segments;
}

}  // namespace valet::bench
