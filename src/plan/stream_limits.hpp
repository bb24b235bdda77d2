// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/flows.hpp"
#include "schedule/stream_sizes.hpp"

namespace valet::plan {

/// What the sizes of an exchange follow from, but for the memory that is shared in it.
template <class Index>
[[nodiscard]] schedule::StreamLimits stream_limits(const Options& options,
                                                   const BlockTraits& blocks,
                                                   const Flows<Index>& flows) {
  schedule::StreamLimits limits =
      schedule::limits_of(options, blocks, flows.exports.size(), flows.blocks_arriving);
  if (flows.in_order()) limits.waiting = flows.any.in_wait + flows.any.shift;
  return limits;
}

}  // namespace valet::plan
