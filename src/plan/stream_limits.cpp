// SPDX-License-Identifier: BSD-3-Clause
#include "plan/stream_limits.hpp"

#include "schedule/methods.hpp"
#include "schedule/phased_sizes.hpp"

namespace valet::plan {

std::uint64_t message_blocks(const State& state, const Departures& leaving) {
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
