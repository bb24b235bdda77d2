// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased.hpp"

#include "engine/phased/centralized_phases.hpp"
#include "engine/phased/distributed_phases.hpp"
#include "mpi/agreement.hpp"
#include "mpi/root.hpp"
#include "plan/planner.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

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

/// Receivers cannot know what comes where blocks wait on their way, and what a root packs where it
/// keeps memory for its schedule.
bool needs_announcements(const Options& options) {
  return blocks_wait(options) || options.phased.scheduler == Scheduler::centralized;
}

/// What a rank needs of its budget at least.
struct BudgetNeed {
  std::uint64_t least_bytes = 0;  ///< for a block of scratch and the lists
  ScheduleNeed schedule = {};
  [[nodiscard]] std::uint64_t bytes() const { return least_bytes + schedule.least_bytes; }
};

/// Pages grow with the budget, up to a size.
std::uint64_t enough_for_pages(const plan::PageBudget& caller, schedule::PhasedLimits limits,
                               const ScheduleNeed& schedule) {
  limits.block_bytes = static_cast<std::size_t>(caller.largest_page);
  const std::uint64_t least =
      std::max(2 * caller.largest_page, schedule::phased_least_budget(limits));
  return caller.beside + caller.plans * (least + schedule.least_bytes);
}

Diagnostic too_small(const plan::State& state, const schedule::PhasedLimits& limits,
                     const BudgetNeed& need) {
  const bool has_schedule = need.schedule.least_bytes > 0;
  if (!has_schedule && schedule::phased_list_charge(limits) == 0)
    return plan::budget_below_blocks(state);
  std::string text = "method phased";
  if (has_schedule)
    text += " with the centralized scheduler";
  else
    text += " keeps lists of " +
            (limits.blocks_wait ? "all " + std::to_string(limits.ranks) + " ranks, for any may park"
                                : std::to_string(limits.neighbours) + " neighbours") +
            ", and";
  text.append(" needs a budget of ").append(mpi::enough_mark).append(" bytes");
  text += has_schedule ? ", for its lists and the " + std::to_string(need.schedule.transfers) +
                             " transfers of all ranks"
                       : " for them";
  const std::uint64_t budget = state.page_budget ? state.page_budget->whole : limits.budget_bytes;
  text += "; the budget is " + std::to_string(budget) + " bytes; raise budget_bytes";
  if (has_schedule)
    text += " or take the distributed scheduler";
  else if (limits.blocks_wait)
    text += " or take parking 0 and a heuristic other than continuous";
  return {ErrorCode::budget_too_small, text};
}

/// Every rank can work within its budget, or all learn which budget is enough for every rank.
/// Collective.
void agree_on_budget(const plan::State& state, const schedule::PhasedLimits& limits,
                     const BudgetNeed& need) {
  mpi::Agreement agreement;
  agreement.enough(state.page_budget ? enough_for_pages(*state.page_budget, limits, need.schedule)
                                     : need.bytes());
  std::optional<Diagnostic> mine;
  if (state.options.budget_bytes < need.bytes()) mine = too_small(state, limits, need);
  agreement.run(state.channel, mine);
}

/// Whether executions after the first have the phases of the first.
bool keeps_schedule(const Options& options) {
  return options.phased.scheduler == Scheduler::centralized && !options.phased.available_bytes;
}

/// What decides how the scratch of this rank is divided.
/// @param node            Memory shared inside the node; it comes off the budget.
/// @param reserved_bytes  Of the budget, for the schedule that the root makes.
schedule::PhasedLimits phased_limits(const Options& options, const BlockTraits& blocks,
                                     const plan::Flows& flows, const storage::NodeMemory& node,
                                     int ranks, std::size_t reserved_bytes) {
  schedule::PhasedLimits limits =
      schedule::phased_limits(options, blocks, flows.exports.size(), reserved_bytes);
  limits.arriving = flows.blocks_arriving;
  limits.node_bytes = node.own().size();
  // A place takes an entry of a list and a bit besides.
  limits.shared_bytes = limits.node_bytes + node.mapped_bytes() +
                        limits.node_bytes / blocks.block_bytes * (sizeof(SlotIndex) + 1);
  limits.slots = flows.slots;
  limits.neighbours = std::max(flows.outgoing.size(), flows.incoming.size());
  limits.ranks = static_cast<std::uint64_t>(ranks);
  limits.slot_bytes = unused_slot_bytes(flows);
  return limits;
}

}  // namespace

std::uint64_t enough_for_pages(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                               const plan::PageBudget& caller, std::uint64_t outgoing,
                               std::uint64_t incoming) {
  schedule::PhasedLimits limits = schedule::phased_limits(options, {}, 0, 0);
  limits.neighbours = std::max(outgoing, incoming);
  limits.ranks = static_cast<std::uint64_t>(channel.size());
  ScheduleNeed schedule;
  if (options.phased.scheduler == Scheduler::centralized)
    schedule = schedule_need(channel, ledger, options, outgoing);
  return enough_for_pages(caller, limits, schedule);
}

void reserve_schedule(plan::State& state) {
  const Options& options = state.options;
  if (options.method != Method::phased) return;
  const schedule::PhasedLimits limits = phased_limits(options, state.blocks, state.flows,
                                                      state.node(), state.channel.size(), 0);
  BudgetNeed need{.least_bytes = std::max<std::uint64_t>(
                      state.blocks.least_scratch_blocks() * state.blocks.block_bytes,
                      schedule::phased_least_budget(limits))};
  if (options.phased.scheduler == Scheduler::centralized)
    need.schedule =
        schedule_need(state.channel, state.ledger, options, state.flows.outgoing.size());
  agree_on_budget(state, limits, need);
  const auto room = static_cast<std::size_t>(options.budget_bytes - need.least_bytes);
  state.schedule_bytes = std::min(room, need.schedule.wanted_bytes);
  if (keeps_schedule(options))
    state.kept_schedule_bytes =
        std::min(room - state.schedule_bytes, schedule::kept_schedule_charge(options.budget_bytes));
}

Phased::Phased(const ExchangeContext& context, const plan::Flows& flows)
    : context_(context),
      flows_(flows),
      sizes_(schedule::phased_sizes(phased_limits(
          context.options, context.blocks, flows, context.node, context.channel.size(),
          context.schedule_bytes + context.kept_schedule_bytes))),
      transport_(context, flows, sizes_, needs_announcements(context.options)) {
  if (keeps_schedule(context.options))
    kept_.emplace(context.ledger, context.kept_schedule_bytes + schedule::free_for_schedule);
}

PhaseStart Phased::start_of_phase(Transfer& transfer) const {
  PhaseStart start{.free = transport_.memory().free(transfer)};
  if (context_.options.phased.available_bytes && start.free > 0) {
    const std::uint64_t available =
        context_.options.phased.available_bytes() / context_.blocks.block_bytes;
    start.free = std::clamp<std::uint64_t>(available, 1, start.free);
  }
  start.waiting_room = transport_.memory().waiting_room();
  return start;
}

std::unique_ptr<Phases> Phased::make_phases(Transfer& transfer, Report& report) const {
  const PhaseStart start = start_of_phase(transfer);
  if (context_.options.phased.scheduler == Scheduler::centralized)
    return std::make_unique<CentralizedPhases>(context_.channel, context_.ledger, context_.options,
                                               flows_, start, context_.schedule_bytes, report);
  return std::make_unique<DistributedPhases>(context_.channel, context_.ledger, context_.options,
                                             flows_, start);
}

void Phased::run(Transfer& transfer, std::span<std::byte> scratch, Report& report) {
  const std::size_t places =
      static_cast<std::size_t>(sizes_.scratch_places) * context_.blocks.block_bytes;
  transport_.start(scratch.data(), scratch.data() + places);
  PhaseMoves moves(context_.ledger);
  const bool is_kept = kept_ && kept_->is_complete(context_.channel);
  const std::unique_ptr<Phases> made = is_kept ? nullptr : make_phases(transfer, report);
  Phases& phases = is_kept ? *kept_ : *made;
  observe::Trace* const trace = transfer.trace();
  const auto decide = [&](std::uint64_t phase) {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "decide", {.number = phase});
    const bool more = phases.next(start_of_phase(transfer), moves);
    if (kept_ && !is_kept) kept_->note(more ? &moves : nullptr);
    return more;
  };
  for (std::uint64_t phase = 1; decide(phase); ++phase) {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "phase", {.number = phase});
    if (!moves.sends.keys.empty() || !moves.receives.keys.empty()) report.phases = phase;
    transport_.run(transfer, phase, moves, phases, report);
  }
}

}  // namespace valet::engine
