// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace valet::flows {

/// The last step of making any plan, once its flows and its method are agreed upon: memory shared
/// inside nodes, room for a schedule, clocks for the trace. Collective.
/// @throws Error budget_too_small on all ranks alike.
void prepare(plan::State& state);

/// Bytes of memory that move_flows() takes from a caller who lends it. Makes what else it needs.
/// @throws std::bad_alloc. Local.
[[nodiscard]] std::uint64_t workspace_bytes(plan::State& state);

/// Moves the blocks of a plan, whatever they are: looks at the storage, agrees that all ranks can
/// go on, then exchanges, moves inside the rank and verifies. Collective, inside
/// call::Frame::run().
/// @param lent         Has workspace_bytes(), aligned as by malloc(); empty for memory of the plan.
/// @param make_blocks  Called once all ranks have agreed: brings blocks to where the plan has them.
/// @throws Error as execute(), on all ranks alike.
[[nodiscard]] Report move_flows(plan::State& state, StorageBackend& backend,
                                std::span<std::byte> lent,
                                const std::function<void()>& make_blocks = {});

}  // namespace valet::flows
