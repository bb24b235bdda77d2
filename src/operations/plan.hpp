// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans of numbered objects for adapters.

#include "plan/plan_state.hpp"
#include <valet/export.hpp>
#include <valet/plan.hpp>

#include <cstdint>

namespace valet::operations {

/// plan_to_layout(), also for intervals of any lengths in place of a layout. Collective.
/// @param move  What it refers to is read during this call only.
[[nodiscard]] VALET_EXPORT Plan plan_objects(MPI_Comm communicator, const BlockStorage& storage,
                                             std::uint64_t count, const plan::ObjectMove& move,
                                             const Options& options);

}  // namespace valet::operations
