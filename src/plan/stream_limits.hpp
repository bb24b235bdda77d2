// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"
#include "schedule/methods.hpp"
#include "schedule/phased_sizes.hpp"
#include "schedule/stream_sizes.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::plan {

/// What the sizes of an exchange follow from, but for the memory that is shared in it.
[[nodiscard]] inline schedule::StreamLimits stream_limits(const Options& options,
                                                          const BlockTraits& blocks,
                                                          const Flows& flows) {
  schedule::StreamLimits limits =
      schedule::limits_of(options, blocks, flows.exports.size(), flows.blocks_arriving);
  limits.announced_blocks = flows.message_blocks;
  for (const Incoming& flow : flows.incoming)
    limits.largest_message =
        std::max<std::uint64_t>(limits.largest_message, std::min(flow.count, flow.message_blocks));
  if (flows.in_order()) limits.waiting = flows.any.in_wait + flows.any.shift;
  return limits;
}

/// What leaves a rank, as far as messages are sized by it.
struct Departures {
  std::uint64_t blocks = 0;
  std::uint64_t destinations = 0;  ///< 0: not known when messages are announced
  std::uint64_t largest = 0;       ///< most blocks for one of these

  void add(std::uint64_t flow) {
    blocks += flow;
    destinations += flow > 0 ? 1 : 0;
    largest = std::max(largest, flow);
  }
};

/// The size of this rank's messages, which receivers must know, and what it sends obeys
/// (Flows::message_blocks); of STREAM where the method is not known yet. Local.
[[nodiscard]] inline std::uint64_t message_blocks(const State& state, const Departures& leaving) {
  const Options& options = state.options;
  const schedule::MethodTraits* const traits = schedule::find_traits(options.method);
  if (traits != nullptr && traits->messages == schedule::MessageRule::phased)
    // A root that keeps a part for its schedule may send less at a time: it announces how much.
    return schedule::phased_sizes(schedule::phased_limits(options, state.blocks, leaving.blocks, 0))
        .send_blocks;
  schedule::StreamLimits limits = schedule::limits_of(options, state.blocks, leaving.blocks, 0);
  if (traits == nullptr || !traits->has_phases) {  // those send to one rank after the other
    limits.destinations = leaving.destinations;
    limits.largest_sent = leaving.largest;
  }
  return schedule::stream_sizes(limits).send_blocks;
}

}  // namespace valet::plan
