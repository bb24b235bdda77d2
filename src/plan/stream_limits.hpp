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

/// Whether this rank has no room for the blocks that wait when they come in the order of any.
/// Local.
[[nodiscard]] inline bool lacks_room(const State& state) {
  schedule::StreamLimits limits = stream_limits(state.options, state.blocks, state.flows);
  limits.shares_memory = state.options.share_memory;
  return state.flows.in_order() && limits.waiting >= schedule::room_to_wait(limits);
}

/// Whether this rank exchanges so little, and all of it by messages, that a credit for each would
/// be most of the time. With ranks that share memory it is not: the source packs into memory that
/// its destination reads. Local.
[[nodiscard]] inline bool is_little(const State& state) {
  const Flows& flows = state.flows;
  const Options& options = state.options;
  const auto is_near = [&](const auto& flow) {
    return options.share_memory && state.is_on_node(flow.rank);
  };
  const std::uint64_t most =
      std::min<std::uint64_t>(schedule::little_bytes, options.budget_bytes / schedule::little_part);
  return (options.method == Method::stream || options.method == Method::automatic) &&
         options.message_bytes == 0 &&
         std::max(flows.outgoing.size(), flows.incoming.size()) <=
             static_cast<std::size_t>(options.stream.window) &&
         (state.blocks.block_bytes > 0 || flows.blocks_arriving == 0) &&
         (flows.exports.size() + 2 * flows.blocks_arriving) * state.blocks.block_bytes <= most &&
         std::ranges::none_of(flows.outgoing, is_near) &&
         std::ranges::none_of(flows.incoming, is_near);
}

}  // namespace valet::plan
