// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/parking_match.hpp"

#include "engine/phased/phases.hpp"

#include <algorithm>
#include <array>

namespace valet::engine {

using schedule::Flow;

void scatter_flows(const mpi::Channel& channel, Ledger& ledger, std::span<const Flow> flows,
                   Vector<Flow>& by_from, Vector<Flow>& by_to) {
  const auto scatter = [&](Vector<Flow>& own, std::uint32_t Flow::*end) {
    schedule::KeyedCounts counts(ledger);
    scatter_counts(
        channel, ledger, flows, [&](const Flow& flow) { return flow.*end; },
        [](const Flow& flow) {
          return schedule::KeyedCounts::Key{flow.from, flow.to};
        },
        counts);
    own.clear();
    own.reserve(counts.keys.size());
    for (std::size_t i = 0; i < counts.keys.size(); ++i)
      own.push_back({counts.keys[i].peer, counts.keys[i].target, counts.counts[i]});
  };
  scatter(by_from, &Flow::from);
  scatter(by_to, &Flow::to);
}

bool match_parking(const mpi::Channel& channel, Ledger& ledger, const ParkingWish& wish,
                   Vector<Flow>& giving, Vector<Flow>& taking) {
  const std::size_t ranks = mpi::ranks_on_root(channel);
  Vector<Flow> flows(ledger);
  std::array<std::uint64_t, 1> done{0};
  {
    const std::array<std::uint64_t, 2> mine{static_cast<std::uint64_t>(wish.balance),
                                            wish.has_blocks ? 1U : 0U};
    Array<std::uint64_t> all(ledger, 2 * ranks);
    mpi::gather_words(channel, mine, {all.data(), all.size()});
    Array<std::int64_t> balances(ledger, ranks);
    bool some_left = false;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      balances[rank] = static_cast<std::int64_t>(all[2 * rank]);
      some_left = some_left || all[2 * rank + 1] != 0;
    }
    done[0] = some_left ? 0 : 1;
    if (ranks > 0) flows.reserve(ranks - 1);
    schedule::match_in_order(std::span<const std::int64_t>(balances.data(), balances.size()),
                             [&](const Flow& flow) { flows.push_back(flow); });
  }
  mpi::broadcast_words(channel, done);
  scatter_flows(channel, ledger, flows, giving, taking);
  return done[0] != 0;
}

}  // namespace valet::engine
