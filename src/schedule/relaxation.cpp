// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/relaxation.hpp"

#include <algorithm>

namespace valet::schedule {
namespace {

/// Matches surplus with shortage; counted first, so that nothing grows by doubling.
template <class Turn>
void match_into(Vector<Match>& matches, std::span<const std::int64_t> balance, Turn&& turn) {
  std::size_t count = 0;
  match_in_order(balance, [&](const Match&) { ++count; });
  matches.reserve(count);
  match_in_order(balance, [&](const Match& match) { matches.push_back(turn(match)); });
}

/// Rounds up what is lacking, and down what is more than needed.
std::int64_t whole_blocks(std::int64_t parts, std::int64_t parts_per_block) {
  return parts > 0 ? (parts - 1) / parts_per_block + 1 : -(-parts / parts_per_block);
}

}  // namespace

ContinuousMatches continuous_matches(Ledger& ledger, std::span<const RankTotals> totals) {
  ContinuousMatches matches{equal_phases_of(totals), Vector<Match>(ledger), Vector<Match>(ledger)};
  if (matches.equal_phases == 0) return matches;
  Array<std::int64_t> balance(ledger, totals.size());
  const std::span<const std::int64_t> balances(balance.data(), balance.size());
  const auto set = [&](std::size_t rank, std::int64_t blocks) {
    balance[rank] = std::max(blocks, -static_cast<std::int64_t>(totals[rank].waiting_room / 2));
  };
  for (std::size_t i = 0; i < totals.size(); ++i)
    set(i, whole_blocks(lacking(totals[i], matches.equal_phases),
                        static_cast<std::int64_t>(matches.equal_phases + 1)));
  match_into(matches.after, balances, [](const Match& match) {
    return Match{.from = match.to, .to = match.from, .blocks = match.blocks};
  });
  std::fill(balance.begin(), balance.end(), std::int64_t{0});
  for (const Match& match : matches.after) {
    balance[match.to] += static_cast<std::int64_t>(match.blocks);
    balance[match.from] -= static_cast<std::int64_t>(match.blocks);
  }
  for (std::size_t i = 0; i < totals.size(); ++i)
    set(i, balance[i] + static_cast<std::int64_t>(totals[i].sent) -
               static_cast<std::int64_t>(totals[i].received));
  match_into(matches.before, balances, [](const Match& match) { return match; });
  return matches;
}

}  // namespace valet::schedule
