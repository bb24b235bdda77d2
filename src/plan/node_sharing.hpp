// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"

namespace valet::plan {

/// Lets the ranks of a plan whose flows are known share memory inside their nodes, where the
/// method, the options and the storage allow it. Collective over all ranks of the plan.
void share_memory(plan::State& state);

}  // namespace valet::plan
