// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/map/plan_state.hpp>

namespace valet {

/// Lets the ranks of a plan whose flows are known share memory inside their nodes, where the
/// method, the options and the storage allow it. Collective over all ranks of the plan.
void share_memory(Plan::State& state);

}  // namespace valet
