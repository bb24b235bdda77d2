// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From two layouts of numbered objects to flows and final slots: all of it is computed, from the
/// number of objects that each rank has.

#include "geometry/shared_objects.hpp"
#include "plan/plan_state.hpp"
#include <valet/block_storage.hpp>

#include <cstdint>
#include <optional>

namespace valet::plan {

/// Fills in the blocks, the method and the flows of `state`, whose channel and options are set, as
/// plan_slots() does. Collective. @throws Error on all ranks alike.
/// @param move  The same on all ranks; else they throw.
void plan_objects(State& state, const BlockStorage& storage, std::uint64_t count,
                  const ObjectMove& move);

/// What is wrong with a layout of so many objects on so many ranks. @param name  Of the layout.
[[nodiscard]] std::optional<Diagnostic> check_layout(const ObjectLayout& layout, const char* name,
                                                     std::uint64_t objects, int ranks);
/// How the objects lie in such a layout.
[[nodiscard]] layout::ObjectSide side_of(const ObjectLayout& layout, std::uint64_t objects,
                                         int ranks);

}  // namespace valet::plan
