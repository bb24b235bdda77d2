// SPDX-License-Identifier: BSD-3-Clause
#include "plan/node_sharing.hpp"

#include "schedule/methods.hpp"
#include "schedule/stream_sizes.hpp"

namespace valet::plan {
namespace {

template <class Flow>
Vector<int> ranks_of(Ledger& ledger, const Vector<Flow>& flows) {
  Vector<int> ranks{LedgerAllocator<int>(ledger)};
  ranks.reserve(flows.size());
  for (const Flow& flow : flows) ranks.push_back(flow.rank);
  return ranks;
}

}  // namespace

void share_memory(plan::State& state) {
  const schedule::MethodTraits& traits = schedule::traits_of(state.options.method);
  if (traits.shares_memory == nullptr || !traits.shares_memory(state.options)) return;
  state.visit([&](const auto& flows) {
    const Vector<int> destinations = ranks_of(state.ledger, flows.outgoing);
    const bool takes_part = state.options.share_memory && state.blocks.reachable_by_mpi;
    const schedule::StreamLimits limits = schedule::limits_of(
        state.options, state.blocks, flows.exports.size(), flows.blocks_arriving);
    state.node.connect(state.channel, destinations, ranks_of(state.ledger, flows.incoming),
                       takes_part ? schedule::node_segment_bytes(limits, destinations.size()) : 0,
                       schedule::useful_segment_bytes(limits));
  });
}

}  // namespace valet::plan
