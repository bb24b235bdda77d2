// SPDX-License-Identifier: BSD-3-Clause
#include "tools/schedules/relaxation.hpp"

#include <algorithm>
#include <vector>

namespace valet::schedule {

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

}  // namespace valet::schedule
