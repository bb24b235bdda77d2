// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From a map to validated flows: the map is counted, counts are exchanged or computed, exports
/// sorted, final slots exchanged, and what is wrong on any rank agreed upon.

#include "plan/plan_state.hpp"
#include <valet/block_storage.hpp>
#include <valet/plan.hpp>

#include <span>

namespace valet::plan {

/// Fills in the blocks, the method and the flows of `state`, whose channel and options are set; a
/// rank for each block. Collective. @throws Error on all ranks alike.
void plan_ranks(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const int> ranks);
/// The same for an address for each block.
void plan_slots(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const Address> addresses);

}  // namespace valet::plan
