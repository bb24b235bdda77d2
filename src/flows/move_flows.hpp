// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plan/plan_state.hpp"
#include <valet/block_storage.hpp>
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

/// Begins to move the blocks of a plan, whatever they are: looks at the storage, enlarges it if it
/// grows and must, agrees that all ranks can go on, and starts the exchange. Collective.
/// @param lent         Has workspace_bytes(), aligned as by malloc(); empty for memory of the plan.
/// @param make_blocks  Called once all ranks have agreed: brings blocks to where the plan has them.
/// @throws Error as execute(), on all ranks alike.
void begin(plan::State& state, const BlockStorage& storage, std::span<std::byte> lent,
           const std::function<void()>& make_blocks = {});
/// Looks at the storage and agrees once, for all executions until one gets a storage. Collective.
/// @throws Error as execute(), on all ranks alike.
void bind(plan::State& state, const BlockStorage& storage);
/// Ends that: nothing stands for the next execution, and memory of the plan may be given back.
/// Local.
/// @throws Error invalid_argument while an execution is under way.
void unbind(plan::State& state);
/// Begins to move the blocks of the bound storage, without a reduction. Collective.
void begin(plan::State& state);
/// Goes on as far as that takes no waiting. @return Whether nothing is left to wait for. Local.
bool progress(plan::State& state);
/// Ends what has begun: exchanges what is left, moves inside the rank and verifies. Collective.
[[nodiscard]] Report finish(plan::State& state);

/// begin() and finish(), inside call::Frame::run().
[[nodiscard]] inline Report move_flows(plan::State& state, const BlockStorage& storage,
                                       std::span<std::byte> lent,
                                       const std::function<void()>& make_blocks = {}) {
  begin(state, storage, lent, make_blocks);
  return finish(state);
}

}  // namespace valet::flows
