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
template <class Limit, class Turn>
void match_into(Vector<Flow>& flows, std::span<const std::int64_t> balance, const Limit& limit,
                Turn&& turn) {
  std::size_t count = 0;
  match_in_order(balance, Limit(limit), [&](const Flow&) { ++count; });
  flows.reserve(count);
  match_in_order(balance, Limit(limit), [&](const Flow& flow) { flows.push_back(turn(flow)); });
}

/// Limits matches to the blocks, and the groups of them, that the takers can keep account of.
class WaitingMatches {
 public:
  /// @param block_is_group  Nothing is known of the groups.
  WaitingMatches(std::span<const WaitingLimit> limits, bool block_is_group)
      : limits_(limits), block_is_group_(block_is_group) {}
  std::uint64_t operator()(std::size_t giver, std::size_t taker, std::uint64_t blocks) {
    if (limits_.empty()) return blocks;
    if (taker != taker_) {
      taker_ = taker;
      left_ = limits_[taker].blocks;
      if (block_is_group_) {
        // The rest is for those that wait from the start, many to a group.
        left_ = std::min(left_, limits_[taker].groups);
        left_ -= left_ / 8;
      }
    }
    blocks = std::min(blocks, left_);
    if (!block_is_group_)
      blocks = groups_(giver, taker, blocks, [&](std::size_t rank) {
        return rank == taker ? limits_[rank].groups : limits_[rank].kinds;
      });
    left_ -= blocks;
    return blocks;
  }

 private:
  std::span<const WaitingLimit> limits_;
  bool block_is_group_;
  GroupLimit groups_;
  std::size_t taker_ = static_cast<std::size_t>(-1);
  std::uint64_t left_ = 0;
};

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

ContinuousFlows continuous_flows(Ledger& ledger, std::span<const RankTotals> totals,
                                 std::span<WaitingLimit> limits) {
  ContinuousFlows flows{pieces_of(totals), Vector<Flow>(LedgerAllocator<Flow>(ledger)),
                        Vector<Flow>(LedgerAllocator<Flow>(ledger))};
  if (flows.pieces == 0) return flows;
  Array<std::int64_t> balance(ledger, totals.size());
  for (std::size_t i = 0; i < totals.size(); ++i)
    balance[i] =
        whole_blocks(lacking(totals[i], flows.pieces), static_cast<std::int64_t>(flows.pieces + 1));
  const std::span<const std::int64_t> balances(balance.data(), balance.size());
  match_into(flows.after, balances, WaitingMatches(limits, true), [](const Flow& flow) {
    return Flow{.from = flow.to, .to = flow.from, .blocks = flow.blocks};
  });
  for (std::size_t i = 0; i < totals.size(); ++i)
    balance[i] =
        static_cast<std::int64_t>(totals[i].sent) - static_cast<std::int64_t>(totals[i].received);
  for (const Flow& flow : flows.after) {
    balance[flow.to] += static_cast<std::int64_t>(flow.blocks);
    balance[flow.from] -= static_cast<std::int64_t>(flow.blocks);
    if (limits.empty()) continue;
    limits[flow.from].blocks -= flow.blocks;
    limits[flow.from].groups -= flow.blocks;
  }
  match_into(flows.before, balances, WaitingMatches(limits, false),
             [](const Flow& flow) { return flow; });
  return flows;
}

}  // namespace valet::schedule
