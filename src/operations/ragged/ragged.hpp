// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "operations/ragged/plan_state.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace valet::ragged {

/// plan_to_ranks() on a channel. Collective.
[[nodiscard]] std::unique_ptr<PlanState> make_plan(mpi::Channel channel,
                                                   const RaggedStorage& storage,
                                                   std::uint64_t count, std::span<const int> ranks,
                                                   const Options& options);

/// execute() of what that returned. Collective.
[[nodiscard]] Report carry_out(PlanState& plan, const RaggedStorage& storage,
                               std::span<const int> ranks);

}  // namespace valet::ragged
