// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased_budget.hpp"

#include "base/diagnose.hpp"
#include "base/partition_index.hpp"
#include "engine/phased/phases.hpp"
#include "mpi/agreement.hpp"
#include "mpi/root.hpp"
#include "plan/planner.hpp"
#include "schedule/phase_scheduler.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace valet::engine {
namespace {

/// The bytes that are promised for the slots of a plan (plan.hpp) and that nothing else uses.
std::uint64_t unused_slot_bytes(const plan::Flows& flows) {
  const std::uint64_t promised = flows.words_per_slot() * sizeof(SlotIndex) * flows.slots;
  const std::uint64_t lists = flows.exports.size() + flows.arrivals.size() +
                              flows.resident_from.size() + flows.resident_to.size() + flows.slots;
  const std::uint64_t bitmaps = 3 * (flows.slots / 8 + flows.slots / 512 + 32);
  const std::uint64_t used = lists * sizeof(SlotIndex) + bitmaps;
  return promised > used ? promised - used : 0;
}

/// All that the root keeps with room for so many pairs and as many moves in a phase.
std::size_t schedule_bytes_for(std::size_t ranks, std::size_t nonzeros, std::size_t pairs) {
  // While the scheduler is made: the matrix, and the rows that it is made of, with their lengths.
  const std::size_t gathered = 2 * sizeof(schedule::TransferEntry) * nonzeros +
                               (2 * sizeof(schedule::PhaseStart) + 2 * sizeof(int)) * ranks;
  // In a phase: lengths again, and the words that moves are turned into.
  const std::size_t scattered =
      2 * sizeof(int) * ranks + 4 * sizeof(std::uint64_t) * (pairs + ranks);
  return schedule::PhaseScheduler::bytes(ranks, pairs) + std::max(gathered, scattered);
}

std::size_t promised_bytes(std::size_t ranks) { return 64 * ranks; }

/// What the schedule of all ranks takes of the budget of rank 0; nothing on the others.
struct ScheduleNeed {
  std::uint64_t transfers = 0;  ///< of all ranks
  std::size_t least_bytes = 0;
  std::size_t wanted_bytes = 0;  ///< with room for what parking adds
};

/// Nothing with the distributed scheduler. Collective with the other.
/// @param transfers  Ranks that this rank sends to.
ScheduleNeed schedule_need(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                           std::uint64_t transfers) {
  if (options.phased.scheduler != Scheduler::centralized) return {};
  const std::size_t ranks = mpi::ranks_on_root(channel);
  Array<std::uint64_t> rows(ledger, ranks);
  mpi::gather_words(channel, {&transfers, 1}, rows);
  if (ranks == 0) return {};
  const auto nonzeros =
      static_cast<std::size_t>(std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}));
  // Pairs that parking adds: a quarter of the transfers and a few for every rank, if they fit.
  const std::size_t added = blocks_wait(options) ? nonzeros / 4 + 4 * ranks : 0;
  const auto of_budget = [&](std::size_t pairs) {
    const std::size_t bytes = schedule_bytes_for(ranks, nonzeros, pairs);
    return bytes - std::min(bytes, promised_bytes(ranks));
  };
  return {nonzeros, of_budget(nonzeros), of_budget(nonzeros + added)};
}

/// Pages grow with the budget, up to a size.
std::uint64_t enough_for_pages(const plan::PageBudget& caller, schedule::PhasedLimits limits,
                               const ScheduleNeed& schedule) {
  limits.block_bytes = static_cast<std::size_t>(caller.largest_page);
  const std::uint64_t least =
      std::max(2 * caller.largest_page, schedule::phased_least_budget(limits));
  return caller.beside + caller.plans * (least + schedule.least_bytes);
}

Diagnostic too_small(const plan::State& state, const schedule::PhasedLimits& limits,
                     const ScheduleNeed& schedule) {
  const bool has_schedule = schedule.least_bytes > 0;
  if (!has_schedule && schedule::phased_list_charge(limits) == 0)
    return plan::budget_below_blocks(state);
  const std::uint64_t budget = state.page_budget ? state.page_budget->whole : limits.budget_bytes;
  if (has_schedule)
    return diagnose(ErrorCode::budget_too_small,
                    "method phased with the centralized scheduler needs a budget of ",
                    mpi::enough_mark, " bytes, for its lists and the ", schedule.transfers,
                    " transfers of all ranks; the budget is ", budget,
                    " bytes; raise budget_bytes or take the distributed scheduler");
  const bool waits = limits.blocks_wait;
  return diagnose(ErrorCode::budget_too_small, "method phased keeps lists of ", waits ? "all " : "",
                  waits ? limits.ranks : limits.neighbours,
                  waits ? " ranks, for any may park" : " neighbours", ", and needs a budget of ",
                  mpi::enough_mark, " bytes for them; the budget is ", budget,
                  " bytes; raise budget_bytes",
                  waits ? " or take parking 0 and a heuristic other than continuous" : "");
}

}  // namespace

schedule::PhasedLimits phased_limits(const plan::State& state, std::size_t reserved_bytes) {
  const plan::Flows& flows = state.flows;
  const storage::NodeMemory& node = state.node();
  schedule::PhasedLimits limits =
      schedule::phased_limits(state.options, state.blocks, flows.exports.size(), reserved_bytes);
  limits.arriving = flows.blocks_arriving;
  limits.node_bytes = node.own().size();
  // An extra slot takes an entry of a list and a bit besides.
  limits.shared_bytes = limits.node_bytes + node.mapped_bytes() +
                        limits.node_bytes / state.blocks.block_bytes * (sizeof(SlotIndex) + 1);
  limits.slots = flows.slots;
  limits.neighbours = std::max(flows.outgoing.size(), flows.incoming.size());
  limits.ranks = static_cast<std::uint64_t>(state.channel.size());
  limits.slot_bytes = unused_slot_bytes(flows);
  return limits;
}

std::size_t most_pairs(std::size_t ranks, std::size_t transfers, std::size_t bytes) {
  const auto fits = [&](std::size_t pairs) {
    return schedule_bytes_for(ranks, transfers, transfers + pairs) <= bytes + promised_bytes(ranks);
  };
  const std::uint64_t end = bytes + promised_bytes(ranks) + 2;
  return transfers + static_cast<std::size_t>(detail::partition_index(1, end, fits) - 1);
}

std::uint64_t enough_for_pages(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                               const plan::PageBudget& caller, std::uint64_t outgoing,
                               std::uint64_t incoming) {
  schedule::PhasedLimits limits = schedule::phased_limits(options, {}, 0, 0);
  limits.neighbours = std::max(outgoing, incoming);
  limits.ranks = static_cast<std::uint64_t>(channel.size());
  return enough_for_pages(caller, limits, schedule_need(channel, ledger, options, outgoing));
}

void reserve_schedule(plan::State& state) {
  const Options& options = state.options;
  if (options.method != Method::phased) return;
  const schedule::PhasedLimits limits = phased_limits(state, 0);
  const std::uint64_t least =
      std::max<std::uint64_t>(state.blocks.least_scratch_blocks() * state.blocks.block_bytes,
                              schedule::phased_least_budget(limits));
  const ScheduleNeed schedule =
      schedule_need(state.channel, state.ledger, options, state.flows.outgoing.size());
  const std::uint64_t enough = least + schedule.least_bytes;
  mpi::Agreement agreement;
  agreement.enough(state.page_budget ? enough_for_pages(*state.page_budget, limits, schedule)
                                     : enough);
  std::optional<Diagnostic> mine;
  if (options.budget_bytes < enough) mine = too_small(state, limits, schedule);
  agreement.run(state.channel, mine);
  const auto room = static_cast<std::size_t>(options.budget_bytes - least);
  state.schedule_bytes = std::min(room, schedule.wanted_bytes);
  if (keeps_schedule(options))
    state.kept_schedule_bytes =
        std::min(room - state.schedule_bytes, schedule::kept_schedule_charge(options.budget_bytes));
}

}  // namespace valet::engine
