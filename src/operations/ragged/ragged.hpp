// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "operations/ragged/plan_state.hpp"

#include <cstdint>
#include <memory>
#include <span>

namespace valet::ragged {

/// The frame of a call. Local.
[[nodiscard]] std::shared_ptr<call::Frame> open_call(mpi::Channel channel, const Options& options);

/// plan_to_ranks() in its frame. Collective.
[[nodiscard]] std::unique_ptr<PlanState> make_plan(std::shared_ptr<call::Frame> call,
                                                   const RaggedStorage& storage,
                                                   std::uint64_t count, std::span<const int> ranks,
                                                   const Options& options);

/// execute() of what that returned. Collective.
[[nodiscard]] Report carry_out(PlanState& plan, const RaggedStorage& storage,
                               std::span<const int> ranks);

}  // namespace valet::ragged
