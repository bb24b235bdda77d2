// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans of numbered objects for adapters.

#include <valet/export.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <span>

namespace valet::operations {

/// plan_to_layout() for intervals of any lengths: rank r gets the numbers bounds[r] to
/// bounds[r + 1] - 1 of the objects that are numbered through by rank and slot. Collective.
/// @param bounds  P + 1 of them, ascending from 0 to the number of objects [global]; read during
///                this call only.
[[nodiscard]] VALET_EXPORT Plan plan_to_bounds(MPI_Comm communicator, const BlockStorage& storage,
                                               std::uint64_t count,
                                               std::span<const std::int64_t> bounds,
                                               const Options& options);

}  // namespace valet::operations
