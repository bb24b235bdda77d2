// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/relaxation.hpp"

#include <algorithm>
#include <vector>

namespace valet::schedule {
namespace {

std::uint64_t pieces_of(std::span<const RankTotals> totals) {
  std::uint64_t volume = 0;
  std::uint64_t free = 0;
  for (const RankTotals& rank : totals) {
    volume += rank.received;
    free += rank.free;
  }
  return phase_bounds(volume, free).lower;
}

/// What rank i lacks for its first piece, positive, or has beyond it, negative, in units of
/// 1/(L+1) block. Levelled, it has A' = A+S-R free slots and receives R. A block that it gives away
/// together with the duty to receive one adds a free slot and takes a block from what it receives,
/// so that A' + x >= (R - x)/L needs x >= (R - L*A')/(L+1). L*A' <= T+M: no overflow.
std::int64_t lacking(const RankTotals& rank, std::uint64_t pieces) {
  return static_cast<std::int64_t>(rank.received) -
         static_cast<std::int64_t>(pieces * (rank.free + rank.sent - rank.received));
}

/// Matches what is too much with what is missing; counted first, so that nothing grows by doubling.
template <class Turn>
void match_into(Vector<Flow>& flows, std::span<const std::int64_t> balance, Turn&& turn) {
  std::size_t count = 0;
  match_in_order(balance, [&](const Flow&) { ++count; });
  flows.reserve(count);
  match_in_order(balance, [&](const Flow& flow) { flows.push_back(turn(flow)); });
}

/// Rounds up what is lacking, and down what is more than needed.
std::int64_t whole_blocks(std::int64_t parts, std::int64_t parts_per_block) {
  return parts > 0 ? (parts - 1) / parts_per_block + 1 : -(-parts / parts_per_block);
}

}  // namespace

Relaxation relax(std::span<const RankTotals> totals) {
  Relaxation solution{.pieces = pieces_of(totals)};
  if (solution.pieces == 0) return solution;
  std::vector<std::int64_t> balance;
  for (const RankTotals& rank : totals) balance.push_back(lacking(rank, solution.pieces));
  std::vector<double> given(totals.size(), 0);
  const auto parts = static_cast<double>(solution.pieces + 1);
  match_in_order(balance, [&](const Flow& flow) {
    const double blocks = static_cast<double>(flow.blocks) / parts;
    given[flow.from] += blocks;
    given[flow.to] -= blocks;
    solution.blocks_after += blocks;
  });
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double sent =
        static_cast<double>(totals[i].sent) - static_cast<double>(totals[i].received) + given[i];
    // A send and a receive of the same rank cancel each other.
    solution.blocks_before += std::max(0.0, sent);
    solution.volume += static_cast<double>(totals[i].received);
  }
  solution.volume += solution.blocks_before + solution.blocks_after;
  return solution;
}

ContinuousFlows continuous_flows(Ledger& ledger, std::span<const RankTotals> totals) {
  ContinuousFlows flows{pieces_of(totals), Vector<Flow>(ledger), Vector<Flow>(ledger)};
  if (flows.pieces == 0) return flows;
  Array<std::int64_t> balance(ledger, totals.size());
  const std::span<const std::int64_t> balances(balance.data(), balance.size());
  const auto set = [&](std::size_t rank, std::int64_t blocks) {
    balance[rank] = std::max(blocks, -static_cast<std::int64_t>(totals[rank].waiting_room / 2));
  };
  for (std::size_t i = 0; i < totals.size(); ++i)
    set(i, whole_blocks(lacking(totals[i], flows.pieces),
                        static_cast<std::int64_t>(flows.pieces + 1)));
  match_into(flows.after, balances, [](const Flow& flow) {
    return Flow{.from = flow.to, .to = flow.from, .blocks = flow.blocks};
  });
  std::fill(balance.begin(), balance.end(), std::int64_t{0});
  for (const Flow& flow : flows.after) {
    balance[flow.to] += static_cast<std::int64_t>(flow.blocks);
    balance[flow.from] -= static_cast<std::int64_t>(flow.blocks);
  }
  for (std::size_t i = 0; i < totals.size(); ++i)
    set(i, balance[i] + static_cast<std::int64_t>(totals[i].sent) -
               static_cast<std::int64_t>(totals[i].received));
  match_into(flows.before, balances, [](const Flow& flow) { return flow; });
  return flows;
}

}  // namespace valet::schedule
