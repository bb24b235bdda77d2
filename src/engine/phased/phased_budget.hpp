// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What PHASED needs of the budget, and what it makes of it.

#include "plan/plan_state.hpp"
#include "schedule/phased_sizes.hpp"

namespace valet::engine {

/// What decides how the scratch of this rank is divided; memory shared inside the node comes off
/// the budget.
/// @param reserved_bytes  Part of the budget, for the schedule that the root makes.
[[nodiscard]] schedule::PhasedLimits phased_limits(const plan::State& state,
                                                   std::size_t reserved_bytes);

/// The most pairs of ranks that the root's schedule of so many transfers has room for within these
/// bytes of the budget, at least the transfers.
[[nodiscard]] std::size_t most_pairs(std::size_t ranks, std::size_t transfers, std::size_t bytes);

/// Whether executions after the first have the phases of the first.
[[nodiscard]] inline bool keeps_schedule(const Options& options) {
  return options.phased.scheduler == Scheduler::centralized && !options.phased.available_bytes;
}

/// Ends the planning of Method::phased: checks that the budget holds a block, the lists of all
/// ranks that this one may have to do with, and on the root the schedule of the centralized
/// scheduler, and reserves memory for that and for what ranks keep of it. Collective. @throws Error
/// budget_too_small on all ranks alike.
void reserve_schedule(plan::State& state);

/// A budget that is enough for that on this rank where pages move, before there are any. Collective
/// with the centralized scheduler.
/// @param outgoing, incoming  Ranks that pages go to, and come from.
[[nodiscard]] std::uint64_t enough_for_pages(const mpi::Channel& channel, Ledger& ledger,
                                             const Options& options, const plan::PageBudget& caller,
                                             std::uint64_t outgoing, std::uint64_t incoming);

}  // namespace valet::engine
