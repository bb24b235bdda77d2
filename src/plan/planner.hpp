// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From a map to validated flows: the map is counted, counts are exchanged or computed, exports
/// sorted, final slots exchanged, and what is wrong on any rank agreed upon.

#include "plan/plan_state.hpp"
#include "plan/stream_limits.hpp"
#include <valet/block_storage.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace valet::plan {

/// Fills in the blocks, the method and the flows of `state`, whose channel and options are set; a
/// rank for each block. Collective. @throws Error on all ranks alike.
void plan_ranks(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const int> ranks);
/// The same for an address for each block.
void plan_slots(State& state, const BlockStorage& storage, const Occupied& occupied,
                std::span<const Address> addresses);

/// What this rank alone can find wrong before it looks at the map.
[[nodiscard]] std::optional<Diagnostic> check_call(const BlockStorage& storage,
                                                   const Occupied& occupied,
                                                   std::size_t map_entries, const State& state);
[[nodiscard]] Diagnostic no_memory_to_plan(std::uint64_t slots);

/// Whether the budget holds what the method needs of it, for the blocks of `state`. Local. What
/// PHASED and DIRECT need is known with the map only: the end of planning checks it.
[[nodiscard]] std::optional<Diagnostic> check_budget(const State& state);
/// The error that it does not.
[[nodiscard]] Diagnostic budget_below_blocks(const State& state);

/// What a plan wants of memory shared inside nodes. Local.
[[nodiscard]] storage::NodeWish node_wish(State& state);

/// Whether a plan can number so many slots of a rank, and blocks in them. If not, its flows have
/// that number and no more, and agree_on_flows() throws.
[[nodiscard]] bool can_number(State& state, std::uint64_t slots);
/// Throws where some rank would have too many pages to number. Local.
/// @param most  Pages of the rank that has most. [global]
void require_numbered_pages(std::uint64_t most);

/// Ends every planning, when the blocks and the flows of `state` are filled in: all ranks agree
/// that nothing is wrong and on what must be the same, and the method is chosen. Collective.
/// @param mine     What this rank found wrong.
/// @param backend  Whose fields must be the same everywhere; null for blocks that are just bytes.
void agree_on_flows(State& state, std::optional<Diagnostic> mine, Form form,
                    const StorageBackend* backend = nullptr);

}  // namespace valet::plan
