// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/exchange.hpp"
#include "plan/stream_limits.hpp"

namespace valet::engine {

/// What the sizes of an exchange follow from, memory shared on the node included.
[[nodiscard]] inline schedule::StreamLimits limits_of(const ExchangeContext& context,
                                                      const plan::Flows& flows) {
  schedule::StreamLimits limits = plan::stream_limits(context.options, context.blocks, flows);
  limits.shares_memory = context.node.shares();
  limits.node_bytes = context.node.own().size();
  for (const plan::Outgoing& flow : flows.outgoing)
    if (context.node.of(flow.rank) != nullptr) limits.blocks_sent_on_node += flow.count;
  for (const plan::Incoming& flow : flows.incoming)
    if (context.node.is_written_by(flow.rank)) limits.blocks_received_on_node += flow.count;
  return limits;
}

}  // namespace valet::engine
