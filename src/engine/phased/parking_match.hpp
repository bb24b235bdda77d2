// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The root of parking (Pinar and Hendrickson, "Interprocessor Communication with Limited Memory",
/// IEEE TPDS 15(7), 2004, Figure 8): it sees two numbers of every rank and sends each its matches.

#include "engine/phased/phases.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace valet::engine {

/// Gives every rank the matches that it is an end of. Collective.
/// @param matches    On the root, ascending by `from` and by `to`. Elsewhere empty.
/// @param by_from  Gets those from this rank. @param by_to  Those to it.
inline void scatter_matches(const mpi::Channel& channel, Ledger& ledger,
                            std::span<const schedule::Match> matches,
                            Vector<schedule::Match>& by_from, Vector<schedule::Match>& by_to) {
  using schedule::Match;
  const auto scatter = [&](Vector<Match>& own, std::uint32_t Match::*end) {
    schedule::KeyedCounts counts(ledger);
    scatter_counts(channel, ledger, matches, end, &Match::from, &Match::to, counts);
    own.clear();
    own.reserve(counts.keys.size());
    for (std::size_t i = 0; i < counts.keys.size(); ++i)
      own.push_back({counts.keys[i].peer, counts.keys[i].target, counts.counts[i]});
  };
  scatter(by_from, &Match::from);
  scatter(by_to, &Match::to);
}

/// What a rank sends to the root.
struct ParkingWish {
  std::int64_t balance = 0;  ///< positive: to be parted with; negative: room for others
  bool has_blocks = false;   ///< it knows of blocks that are not where they belong
};

/// Matches what ranks want to part with and what they have room for. Collective.
///
/// @param wish    What this rank wants. [local]
/// @param giving  Gets the matches from this rank, by `to`. @param taking  Those to it, by `from`.
/// @return Whether nothing is left on any rank; there are no matches then.
/// Memory on the root: 60 bytes a rank while it runs.
[[nodiscard]] inline bool match_parking(const mpi::Channel& channel, Ledger& ledger,
                                        const ParkingWish& wish, Vector<schedule::Match>& giving,
                                        Vector<schedule::Match>& taking) {
  const std::size_t ranks = mpi::ranks_on_root(channel);
  Vector<schedule::Match> matches(ledger);
  std::array<std::uint64_t, 1> done{0};
  {
    const std::array<std::uint64_t, 2> mine{static_cast<std::uint64_t>(wish.balance),
                                            wish.has_blocks ? 1U : 0U};
    Array<std::uint64_t> all(ledger, 2 * ranks);
    mpi::gather_words(channel, mine, all);
    Array<std::int64_t> balances(ledger, ranks);
    bool some_left = false;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      balances[rank] = static_cast<std::int64_t>(all[2 * rank]);
      some_left = some_left || all[2 * rank + 1] != 0;
    }
    done[0] = some_left ? 0 : 1;
    if (ranks > 0) matches.reserve(ranks - 1);
    schedule::match_in_order(balances,
                             [&](const schedule::Match& match) { matches.push_back(match); });
  }
  mpi::broadcast_words(channel, done);
  scatter_matches(channel, ledger, matches, giving, taking);
  return done[0] != 0;
}

}  // namespace valet::engine
