// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The three ways to find what one coordinate of mine shares with all coordinates of theirs. Each
/// calls sink(SegmentFamily) for every family, ascending by position for each peer, and returns its
/// operations: block comparisons of CLASSICAL and FALLS; own blocks visited and families made by
/// ASPEN, at most twice the families. CLASSICAL finds the segments of the whole extent, the others
/// those of the first period. Pure and without memory of their own.

#include "geometry/dimension_pair.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::layout {

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
        if (left < right) sink(SegmentFamily{left, local + (left - own), right - left, 1, peer});
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
        if (left < right) sink(SegmentFamily{left, local + (left - own), right - left, 1, peer});
        if (other + theirs.block > own + mine.block) break;
        unchecked = other + theirs.stride;
      }
      local += mine.block;
    }
  }
  return operations;
}

/// An own block that reaches over the end of one of their blocks: the rest of that block, then
/// whole blocks of adjacent coordinates, then the beginning of one. Where whole blocks go round all
/// coordinates, those of one coordinate are one family. @return Families made.
template <class Sink>
std::int64_t split_block(const DimensionPair& pair, std::int64_t start, std::int64_t local,
                         std::int64_t offset, std::int64_t peer, Sink&& sink) {
  const DimensionPair::Side& theirs = pair.theirs;
  // Nothing of the array is behind the extent, so nothing needs to be found there.
  std::int64_t left = std::min(pair.mine.block, pair.extent - start);
  std::int64_t families = 0;
  const auto emit = [&](std::int64_t length, std::int64_t count) {
    sink(SegmentFamily{start, local, length, count, static_cast<std::int32_t>(peer)});
    ++families;
    start += length;
    local += length;
    if (++peer == theirs.ranks) peer = 0;
    return length;
  };
  if (offset > 0) left -= emit(std::min(theirs.block - offset, left), 1);
  if (left >= theirs.stride) {
    const std::int64_t whole_blocks = quotient(left, theirs.block);
    const std::int64_t rounds = quotient(whole_blocks, theirs.ranks);
    const std::int64_t rest = whole_blocks - rounds * theirs.ranks;
    for (std::int64_t turn = 0; turn < theirs.ranks; ++turn)
      left -= emit(theirs.block, rounds + (turn < rest ? 1 : 0));
    // Behind the last whole block, where the first `rest` coordinates have had one block more.
    const std::int64_t further = (whole_blocks - theirs.ranks) * theirs.block;
    start += further;
    local += further;
    left -= further;
    peer = (peer + rest) % theirs.ranks;
  }
  while (left > 0) left -= emit(std::min(theirs.block, left), 1);
  return families;
}

/// ASPEN paper, Algorithm 4: the position of an own block inside their block says which coordinate
/// has it, and adjacent pieces belong to adjacent coordinates, so every family is found at once. It
/// goes beyond the paper in two ways: it steps from block to block without dividing, and own blocks
/// that lie in the same block of theirs are one family.
template <class Sink>
std::int64_t walk_aspen(const DimensionPair& pair, std::int32_t coordinate, Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  std::int64_t operations = 0;
  std::int64_t start = mine.start(coordinate);
  if (start >= pair.period) return operations;
  std::int64_t local = 0;
  const std::int64_t their_number = quotient(start, theirs.block);
  std::int64_t offset = start - their_number * theirs.block;
  std::int64_t peer = their_number + theirs.first_rank;
  if (peer >= theirs.ranks) peer -= quotient(peer, theirs.ranks) * theirs.ranks;
  for (;;) {
    ++operations;
    const std::int64_t room = theirs.block - offset;
    std::int64_t blocks = 1;
    if (mine.block <= room) {
      if (room - mine.block >= mine.stride) blocks += quotient(room - mine.block, mine.stride);
      sink(SegmentFamily{start, local, mine.block, blocks, static_cast<std::int32_t>(peer)});
      ++operations;
    } else {
      operations += split_block(pair, start, local, offset, peer, sink);
    }
    start += blocks * mine.stride;
    if (start >= pair.period) return operations;
    local += blocks * mine.block;
    // All steps but the last stayed inside the block.
    offset += (blocks - 1) * mine.stride + pair.offset_step;
    peer += pair.peer_step;
    if (offset >= theirs.block) {
      offset -= theirs.block;
      ++peer;
    }
    if (peer >= theirs.ranks) peer -= theirs.ranks;
  }
}

/// The one of the three that `algorithm` names.
template <class Sink>
std::int64_t walk(const DimensionPair& pair, std::int32_t coordinate, Algorithm algorithm,
                  Sink&& sink) {
  switch (algorithm) {
    case Algorithm::classical: return walk_classical(pair, coordinate, sink);
    case Algorithm::falls: return walk_falls(pair, coordinate, sink);
    case Algorithm::aspen: break;
  }
  return walk_aspen(pair, coordinate, sink);
}

}  // namespace valet::layout
