// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The three ways to find what one coordinate shares with all coordinates of the other side. Each
/// calls sink(position, local, length, count, peer) for every family of segments, ascending by
/// position for each peer, and returns its operations. A family may reach beyond the extent of the
/// array; who iterates it clips.

#include <valet/layout/dimension_pair.hpp>

#include <algorithm>

namespace valet::layout::detail {

struct Interval {
  std::int64_t start, end;
};

inline Interval block_of(const DimensionPair::Side& side, std::int64_t first, std::int64_t number) {
  const std::int64_t start = first + number * side.stride;
  return {start, start + side.block};
}

/// Blocks of a coordinate that begin before `limit`.
inline std::int64_t blocks_before(const DimensionPair::Side& side, std::int64_t first,
                                  std::int64_t limit) {
  return first < limit ? (limit - first - 1) / side.stride + 1 : 0;
}

/// ASPEN paper, Algorithm 2: each own block against each block of each peer, over the extent.
template <class Sink>
std::int64_t walk_classical(const DimensionPair& pair, std::int32_t coordinate, Sink&& sink) {
  std::int64_t operations = 0;
  const std::int64_t own_first = pair.mine.start(coordinate);
  const std::int64_t own_blocks = blocks_before(pair.mine, own_first, pair.extent);
  for (std::int64_t own = 0; own < own_blocks; ++own) {
    const Interval here = block_of(pair.mine, own_first, own);
    for (std::int32_t peer = 0; peer < pair.theirs.ranks; ++peer) {
      const std::int64_t first = pair.theirs.start(peer);
      const std::int64_t blocks = blocks_before(pair.theirs, first, pair.extent);
      for (std::int64_t block = 0; block < blocks; ++block) {
        const Interval there = block_of(pair.theirs, first, block);
        const std::int64_t left = std::max(here.start, there.start);
        const std::int64_t right = std::min(here.end, there.end);
        if (left < right)
          sink(left, own * pair.mine.block + (left - here.start), right - left, std::int64_t{1},
               peer);
      }
      operations += blocks;
    }
  }
  return operations;
}

/// ASPEN paper, Algorithm 3: inside one period, and onwards only. With the peers outermost the
/// first of a peer's blocks that is still of interest is one number and not one per peer.
template <class Sink>
std::int64_t walk_falls(const DimensionPair& pair, std::int32_t coordinate, Sink&& sink) {
  std::int64_t operations = 0;
  const std::int64_t own_first = pair.mine.start(coordinate);
  const std::int64_t own_blocks = blocks_before(pair.mine, own_first, pair.period);
  for (std::int32_t peer = 0; peer < pair.theirs.ranks; ++peer) {
    const std::int64_t first = pair.theirs.start(peer);
    const std::int64_t blocks = blocks_before(pair.theirs, first, pair.period);
    std::int64_t unchecked = 0;
    for (std::int64_t own = 0; own < own_blocks && unchecked < blocks; ++own) {
      const Interval here = block_of(pair.mine, own_first, own);
      for (std::int64_t block = unchecked; block < blocks; ++block) {
        ++operations;
        const Interval there = block_of(pair.theirs, first, block);
        const std::int64_t left = std::max(here.start, there.start);
        const std::int64_t right = std::min(here.end, there.end);
        if (left < right)
          sink(left, own * pair.mine.block + (left - here.start), right - left, std::int64_t{1},
               peer);
        if (there.end > here.end) break;
        unchecked = block + 1;
      }
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
    sink(start, local, length, count, peer);
    ++families;
    start += length;
    local += length;
    left -= length;
    if (++peer == theirs.ranks) peer = 0;
  };
  if (offset > 0) emit(std::min(theirs.block - offset, left), 1);
  if (left >= theirs.stride) {
    const std::int64_t whole_blocks = left / theirs.block;
    const std::int64_t rounds = whole_blocks / theirs.ranks;
    const std::int64_t rest = whole_blocks % theirs.ranks;
    for (std::int64_t turn = 0; turn < theirs.ranks; ++turn)
      emit(theirs.block, rounds + (turn < rest ? 1 : 0));
    // Behind the last whole block, where the first `rest` coordinates have had one block more.
    const std::int64_t further = (whole_blocks - theirs.ranks) * theirs.block;
    start += further;
    local += further;
    left -= further;
    peer = (peer + rest) % theirs.ranks;
  }
  while (left > 0) emit(std::min(theirs.block, left), 1);
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
  std::int64_t offset = start % theirs.block;
  std::int64_t peer = (start / theirs.block + theirs.first_rank) % theirs.ranks;
  for (;;) {
    ++operations;
    const std::int64_t room = theirs.block - offset;
    std::int64_t blocks = 1;
    if (mine.block <= room) {
      if (room - mine.block >= mine.stride) blocks += (room - mine.block) / mine.stride;
      sink(start, local, mine.block, blocks, peer);
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

}  // namespace valet::layout::detail
