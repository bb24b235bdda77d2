// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What one coordinate of mine shares with all coordinates of theirs, by adjacent shifting of
/// periodic node data (C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for
/// Data Redistribution Between Producer and Consumer Grids", section 4.4). Pure and without memory
/// of its own.

#include "geometry/intersection.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace valet::layout {

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
    sink(IndexFamily{start, local, length, count, static_cast<std::int32_t>(peer)});
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
///
/// Calls sink(IndexFamily) for every family of the first period, ascending by position for each
/// peer. @return Own blocks visited and families made: at most twice the families.
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
    const std::int64_t room = std::min(theirs.block - offset, pair.period - start);
    std::int64_t blocks = 1;
    if (mine.block <= room) {
      if (room - mine.block >= mine.stride) blocks += quotient(room - mine.block, mine.stride);
      sink(IndexFamily{start, local, mine.block, blocks, static_cast<std::int32_t>(peer)});
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

/// Whether blocks of two coordinates meet anywhere, if both layouts go on for ever: multiples of
/// their strides differ by all multiples of the greatest common divisor.
inline bool can_meet(const DimensionPair& pair, std::int64_t own, std::int64_t other) {
  const std::int64_t step = std::gcd(pair.mine.stride, pair.theirs.stride);
  const std::int64_t behind =
      own >= other ? (own - other) % step : step - 1 - (other - own - 1) % step;
  return behind < pair.theirs.block || step - behind < pair.mine.block;
}

/// The same families for one coordinate of theirs (paper, section 4.1): from a block straight to
/// the first one of the other side that ends behind its beginning. Operations are those steps: at
/// most two per block of the side that has fewer in a period, and one per family; none where the
/// layouts repeat and the two share nothing.
template <class Sink>
std::int64_t walk_aspen_to(const DimensionPair& pair, std::int32_t coordinate, std::int32_t peer,
                           Sink&& sink) {
  const DimensionPair::Side& mine = pair.mine;
  const DimensionPair::Side& theirs = pair.theirs;
  std::int64_t own = mine.start(coordinate), other = theirs.start(peer), local = 0;
  std::int64_t operations = 0;
  if (pair.repeats && !can_meet(pair, own, other)) return operations;
  while (own < pair.period && other < pair.period) {
    ++operations;
    const std::int64_t own_end = std::min(own + mine.block, pair.period);
    const std::int64_t other_end = std::min(other + theirs.block, pair.period);
    const std::int64_t left = std::max(own, other);
    const std::int64_t length = std::min(own_end, other_end) - left;
    IndexFamily found{left, local + (left - own), length, 1, peer};
    // The one that ends first is left behind, with those that lie before the other one or, if it is
    // whole, with it inside the other one.
    if (own_end <= other_end) {
      const std::int64_t reach = length == mine.block ? other_end : std::max(own_end, other);
      if (reach - own_end >= mine.stride) found.count += quotient(reach - own_end, mine.stride);
      own += found.count * mine.stride;
      local += found.count * mine.block;
    } else {
      const std::int64_t reach = length == theirs.block ? own_end : std::max(other_end, own);
      if (reach - other_end >= theirs.stride)
        found.count += quotient(reach - other_end, theirs.stride);
      other += found.count * theirs.stride;
    }
    if (length > 0) sink(found);
  }
  return operations;
}

}  // namespace valet::layout
