// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/relaxation.hpp"

#include <algorithm>

namespace valet::schedule {
namespace {

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
