// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/parking_match.hpp"

#include "mpi/root.hpp"

#include <algorithm>
#include <array>

namespace valet::engine {

using schedule::Flow;

void scatter_flows(const mpi::Channel& channel, Ledger& ledger, std::span<const Flow> flows,
                   FlowEnd end, Vector<Flow>& own) {
  static_assert(sizeof(Flow) == 2 * sizeof(std::uint64_t));
  Array<int> counts(ledger, mpi::ranks_on_root(channel));
  std::fill(counts.begin(), counts.end(), 0);
  for (const Flow& flow : flows) counts[end == FlowEnd::from ? flow.from : flow.to] += 2;
  Vector<std::uint64_t> words{LedgerAllocator<std::uint64_t>(ledger)};
  words.reserve(2 * flows.size());
  for (const Flow& flow : flows) {
    words.push_back(std::uint64_t{flow.from} << 32 | flow.to);
    words.push_back(flow.blocks);
  }
  Vector<std::uint64_t> mine{LedgerAllocator<std::uint64_t>(ledger)};
  mpi::scatter_lists(channel, words, {counts.data(), counts.size()}, mine, ledger);
  own.clear();
  own.reserve(mine.size() / 2);
  for (std::size_t k = 0; k < mine.size(); k += 2)
    own.push_back({static_cast<std::uint32_t>(mine[k] >> 32),
                   static_cast<std::uint32_t>(mine[k] & 0xffffffff), mine[k + 1]});
}

bool match_parking(const mpi::Channel& channel, Ledger& ledger, const ParkingWish& wish,
                   Vector<Flow>& giving, Vector<Flow>& taking) {
  constexpr std::uint64_t has_blocks_bit = std::uint64_t{1} << 63;
  const std::size_t ranks = mpi::ranks_on_root(channel);
  Vector<Flow> flows{LedgerAllocator<Flow>(ledger)};
  std::array<std::uint64_t, 1> done{0};
  {
    const std::array<std::uint64_t, 2> mine{static_cast<std::uint64_t>(wish.balance),
                                            wish.groups | (wish.has_blocks ? has_blocks_bit : 0)};
    Array<std::uint64_t> all(ledger, 2 * ranks);
    mpi::gather_words(channel, mine, {all.data(), all.size()});
    Array<std::int64_t> balances(ledger, ranks);
    bool some_left = false;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      balances[rank] = static_cast<std::int64_t>(all[2 * rank]);
      some_left = some_left || (all[2 * rank + 1] & has_blocks_bit) != 0;
    }
    done[0] = some_left ? 0 : 1;
    if (ranks > 0) flows.reserve(ranks - 1);
    schedule::GroupLimit limit;
    const auto groups_of = [&](std::size_t rank) { return all[2 * rank + 1] & ~has_blocks_bit; };
    schedule::match_in_order(
        std::span<const std::int64_t>(balances.data(), balances.size()),
        [&](std::size_t giver, std::size_t taker, std::uint64_t blocks) {
          return limit(giver, taker, blocks, groups_of);
        },
        [&](const Flow& flow) { flows.push_back(flow); });
  }
  mpi::broadcast_words(channel, done);
  scatter_flows(channel, ledger, flows, FlowEnd::from, giving);
  scatter_flows(channel, ledger, flows, FlowEnd::to, taking);
  return done[0] != 0;
}

}  // namespace valet::engine
