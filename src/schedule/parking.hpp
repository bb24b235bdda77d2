// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Parking (Pinar and Hendrickson section 5.1 and Figure 8): blocks wait on a rank that has more
/// free memory than it will ever receive, so that ranks that are short of memory can receive.
/// Which blocks a rank parks: choose_blocks() over its destinations. Parked blocks are
/// from then on like any other outgoing blocks of the rank they wait on; their destinations must
/// know of them. A block is parked once at most: a rank with parking space always keeps free memory
/// for all it is to receive, so it never has anything to park itself.

#include "base/partition_index.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace valet::schedule {

/// Blocks of one pair of ranks that a root has matched.
struct Match {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t blocks = 0;
  [[nodiscard]] bool operator==(const Match&) const = default;
};

/// What a rank has when a phase begins.
struct PhaseStart {
  std::uint64_t free = 0;  ///< blocks that it may receive
  /// Blocks of others that can be kept account of besides; at most as many.
  std::uint64_t waiting_room = std::numeric_limits<std::int64_t>::max();
};

/// What a rank reports to the root in a phase with parking, when the credits of that phase are
/// known (MADRE Figure 3, lines 27 to 31): positive, blocks it must part with beyond the `sending`
/// ones to receive all the rest in the next phase; negative, blocks it has room for until the end.
/// @param incoming  Blocks it has still to receive, this phase's among them.
/// @param free      Free slots at the beginning of the phase.
/// @param sending   Blocks it sends in this phase.
[[nodiscard]] inline std::int64_t parking_balance(std::uint64_t incoming, std::uint64_t free,
                                                  std::uint64_t sending) {
  if (incoming < free) return -static_cast<std::int64_t>(free - incoming);
  const std::uint64_t lacking = incoming - free;
  return lacking > sending ? static_cast<std::int64_t>(lacking - sending) : 0;
}

/// Matches surplus with shortage, each in rank order, until one of the two is used up: what the
/// root does. Entries of one `from` are passed to `sink(Match)` one after another.
/// @param balance  Per rank: positive is given away, negative is taken; sums within 2^62.
/// Local, no memory, O(ranks) time and at most ranks-1 matches.
template <class Sink>
void match_in_order(std::span<const std::int64_t> balance, Sink&& sink) {
  std::size_t taker = 0;
  std::int64_t room = 0;
  for (std::size_t giver = 0; giver < balance.size(); ++giver) {
    for (std::int64_t left = std::max<std::int64_t>(0, balance[giver]); left > 0;) {
      while (room == 0 && taker < balance.size())
        room = std::max<std::int64_t>(0, -balance[taker++]);
      if (room == 0) return;
      const std::int64_t blocks = std::min(left, room);
      sink(Match{static_cast<std::uint32_t>(giver), static_cast<std::uint32_t>(taker - 1),
                 static_cast<std::uint64_t>(blocks)});
      left -= blocks;
      room -= blocks;
    }
  }
}

/// Divides the blocks of one rank among its matches: those for or from a match's other side first,
/// of all matches, then in order, each match until it is full.
///
/// @param matches    Those of this rank, as the root sent them; their blocks are counted down, and
///                   what stays did not exist.
/// @param peer_of    The other side of a match. @param rank_of  The rank of entry 0, 1, ...:
/// ascending.
/// @param remaining  Blocks of each entry; counted down.
/// @param sink       Is passed (match, entry, blocks), blocks > 0.
/// Local, no memory. O(entries + matches * log entries) time.
template <class PeerOf, class RankOf, class Sink>
void choose_blocks(std::span<Match> matches, PeerOf&& peer_of, RankOf&& rank_of,
                   std::span<std::uint64_t> remaining, Sink&& sink) {
  const auto take = [&](Match& match, std::size_t entry) {
    const std::uint64_t blocks = std::min(match.blocks, remaining[entry]);
    if (blocks == 0) return;
    match.blocks -= blocks;
    remaining[entry] -= blocks;
    sink(match, entry, blocks);
  };
  for (Match& match : matches) {
    const auto is_below = [&](std::size_t entry) { return rank_of(entry) < peer_of(match); };
    const auto low =
        static_cast<std::size_t>(detail::partition_index(0, remaining.size(), is_below));
    if (low < remaining.size() && rank_of(low) == peer_of(match)) take(match, low);
  }
  std::size_t current = 0;
  for (std::size_t entry = 0; entry < remaining.size(); ++entry)
    while (current < matches.size() && remaining[entry] > 0) {
      take(matches[current], entry);
      if (matches[current].blocks == 0) ++current;
    }
}

}  // namespace valet::schedule
