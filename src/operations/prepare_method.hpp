// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"

namespace valet::operations {

/// The last step of making a plan, once its flows and its method are agreed upon: memory shared
/// inside nodes, room for a schedule, clocks for the trace. Collective.
/// @throws Error budget_too_small on all ranks alike.
void prepare_method(plan::State& state);

}  // namespace valet::operations
