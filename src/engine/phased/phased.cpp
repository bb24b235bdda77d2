// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased.hpp"

#include "engine/phased/centralized_phases.hpp"
#include "engine/phased/distributed_phases.hpp"
#include "mpi/agreement.hpp"
#include "mpi/root.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

namespace valet::engine {
namespace {

/// The bytes that are promised for the slots of a plan (plan.hpp) and that nothing else uses.
template <class Index>
std::uint64_t unused_slot_bytes(const plan::Flows<Index>& flows) {
  const std::uint64_t promised = flows.words_per_slot() * sizeof(Index) * flows.slots;
  const std::uint64_t lists = flows.exports.size() + flows.arrivals.size() +
                              flows.resident_from.size() + flows.resident_to.size() + flows.slots;
  const std::uint64_t bitmaps = 3 * (flows.slots / 8 + flows.slots / 512 + 32);
  const std::uint64_t used = lists * sizeof(Index) + bitmaps;
  return promised > used ? promised - used : 0;
}

/// Receivers cannot know what comes where blocks wait on their way, and what a root packs where it
/// keeps memory for its schedule.
bool needs_announcements(const Options& options) {
  return blocks_wait(options) || options.phased.scheduler == Scheduler::centralized;
}

template <class Flow>
void list_blocks(const Vector<Flow>& flows, Vector<PeerBlocks>& list) {
  list.reserve(flows.size());
  for (const Flow& flow : flows) list.push_back({flow.rank, flow.count});
}

std::optional<Diagnostic> check_lists(const schedule::PhasedLimits& limits) {
  const std::uint64_t needed = schedule::phased_least_budget(limits);
  if (needed <= limits.budget_bytes || schedule::phased_list_charge(limits) == 0)
    return std::nullopt;
  std::string text = "method phased keeps lists of ";
  text += limits.blocks_wait ? "all " + std::to_string(limits.ranks) + " ranks, for any may park"
                             : std::to_string(limits.neighbours) + " neighbours";
  text += " and needs a budget of " + std::to_string(needed) + " bytes for them; the budget is " +
          std::to_string(limits.budget_bytes) + " bytes; raise budget_bytes";
  if (limits.blocks_wait) text += " or take parking 0 and a heuristic other than continuous";
  return Diagnostic{ErrorCode::budget_too_small, text};
}

template <class Index>
PhaseProblem problem_of(Ledger& ledger, const plan::Flows<Index>& flows, const PhaseStart& start) {
  PhaseProblem problem(ledger);
  list_blocks(flows.outgoing, problem.outgoing);
  list_blocks(flows.incoming, problem.incoming);
  problem.start = start;
  return problem;
}

/// What decides how the scratch of this rank is divided.
/// @param node            Memory shared inside the node; it comes off the budget.
/// @param reserved_bytes  Of the budget, for the schedule that the root makes.
template <class Index>
schedule::PhasedLimits phased_limits(const Options& options, const BlockTraits& blocks,
                                     const plan::Flows<Index>& flows,
                                     const storage::NodeMemory& node, int ranks,
                                     std::size_t reserved_bytes) {
  schedule::PhasedLimits limits =
      schedule::phased_limits(options, blocks, flows.exports.size(), reserved_bytes);
  limits.arriving = flows.blocks_arriving;
  limits.node_bytes = node.own().size();
  // A place takes an entry of a list and a bit besides.
  limits.shared_bytes = limits.node_bytes + node.mapped_bytes() +
                        limits.node_bytes / blocks.block_bytes * (sizeof(Index) + 1);
  limits.index_bytes = sizeof(Index);
  limits.slots = flows.slots;
  limits.neighbours = std::max(flows.outgoing.size(), flows.incoming.size());
  limits.ranks = static_cast<std::uint64_t>(ranks);
  limits.slot_bytes = unused_slot_bytes(flows);
  return limits;
}

}  // namespace

void reserve_schedule(plan::State& state) {
  if (state.options.method != Method::phased) return;
  state.visit([&](const auto& flows) {
    const schedule::PhasedLimits limits = phased_limits(
        state.options, state.blocks, flows, state.node->memory, state.channel.size(), 0);
    mpi::agree(state.channel, check_lists(limits));
    if (state.options.phased.scheduler != Scheduler::centralized) return;
    const auto least_bytes =
        std::max<std::size_t>(state.blocks.least_scratch_blocks() * state.blocks.block_bytes,
                              static_cast<std::size_t>(schedule::phased_least_budget(limits)));
    mpi::agree(state.channel,
               find_room_for_schedule(state.channel, state.ledger, state.options,
                                      flows.outgoing.size(), least_bytes, state.schedule_bytes));
  });
}

template <class Index>
Phased<Index>::Phased(const ExchangeContext& context, const plan::Flows<Index>& flows)
    : context_(context),
      flows_(flows),
      sizes_(
          schedule::phased_sizes(phased_limits(context.options, context.blocks, flows, context.node,
                                               context.channel.size(), context.schedule_bytes))),
      transport_(context, flows, sizes_, needs_announcements(context.options)) {}

template <class Index>
PhaseStart Phased<Index>::start_of_phase(Transfer<Index>& transfer) const {
  PhaseStart start{.free = transport_.memory().free(transfer)};
  if (context_.options.phased.available_bytes && start.free > 0) {
    const std::uint64_t available =
        context_.options.phased.available_bytes() / context_.blocks.block_bytes;
    start.free = std::clamp<std::uint64_t>(available, 1, start.free);
  }
  start.waiting_room = transport_.memory().waiting_room();
  return start;
}

template <class Index>
void Phased<Index>::run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) {
  const std::size_t places =
      static_cast<std::size_t>(sizes_.scratch_places) * context_.blocks.block_bytes;
  transport_.start(scratch.data(), scratch.data() + places);
  PhaseMoves moves(context_.ledger);
  std::unique_ptr<Phases> phases;
  {
    const PhaseProblem problem = problem_of(context_.ledger, flows_, start_of_phase(transfer));
    if (context_.options.phased.scheduler == Scheduler::centralized)
      phases =
          std::make_unique<CentralizedPhases>(context_.channel, context_.ledger, context_.options,
                                              problem, context_.schedule_bytes, report);
    else
      phases = std::make_unique<DistributedPhases>(context_.channel, context_.ledger,
                                                   context_.options, problem);
  }
  observe::Trace* const trace = transfer.trace();
  const auto decide = [&](std::uint64_t phase) {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "decide", {.number = phase});
    return phases->next(start_of_phase(transfer), moves);
  };
  for (std::uint64_t phase = 1; decide(phase); ++phase) {
    const observe::TraceSpan span(trace, observe::TraceKind::phase, "phase", {.number = phase});
    if (!moves.sends.empty() || !moves.receives.empty()) report.phases = phase;
    transport_.run(transfer, phase, moves, *phases, report);
  }
}

template class Phased<std::uint32_t>;
template class Phased<std::uint64_t>;

}  // namespace valet::engine
