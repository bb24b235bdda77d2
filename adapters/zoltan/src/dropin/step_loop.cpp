// SPDX-License-Identifier: BSD-3-Clause
#include "step_loop.hpp"

#include "cyclic_division.hpp"
#include "mpi/agreement.hpp"
#include "mpi/word_lists.hpp"
#include "schedule/phased_rank.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace valet::zoltan {
namespace {

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

}  // namespace

std::unique_ptr<Division> make_division(Context& context, std::span<const Peer> sources) {
  const MigrationParameters& parameters = context.parameters;
  if (parameters.method == Method::cyclic)
    return std::make_unique<CyclicDivision>(context.channel, context.ledger, sources,
                                            context.matrix);
  if (parameters.method != Method::phased) return std::make_unique<ProportionalDivision>();
  if (parameters.scheduler == Scheduler::centralized)
    return std::make_unique<CentralDivision>(context.channel, context.ledger, parameters.heuristic,
                                             sources.size(), context.matrix);
  return std::make_unique<HeuristicDivision>(parameters.heuristic, context.channel.rank());
}

StepLoop::StepLoop(Context& context, const StepParts& parts)
    : context_(context),
      parts_(parts),
      parking_(context, parts.planner, parts.sender, parts.object_bytes),
      words_(context.ledger) {}

/// What the application can take right now; asked in every step.
std::uint64_t StepLoop::ask_memory() {
  std::optional<Diagnostic>& diagnostic = parts_.sender.diagnostic;
  if (!context_.callbacks.has_memory() || !context_.agreed.memory_fn || diagnostic) return no_limit;
  std::uint64_t answer = 0;
  diagnostic = context_.callbacks.memory(context_.report.steps, answer);
  return diagnostic ? 0 : answer;
}

bool StepLoop::parks() const {
  return context_.parameters.parks() &&
         schedule::parks_in(context_.report.steps + 1,
                            static_cast<std::uint64_t>(context_.parameters.parking));
}

/// Every source reports how many of its own objects it can send now.
void StepLoop::receive_offers() {
  mpi::WordLists sent(context_.ledger), received(context_.ledger);
  const std::span<const Peer> destinations = parts_.sender.destinations();
  for (std::size_t pair = 0; pair < destinations.size(); ++pair)
    if (parts_.sender.left_of(pair) > 0)
      sent.add(destinations[pair].rank, parts_.sender.ready(pair));
  const std::span<const Peer> sources = parts_.planner.sources();
  for (std::size_t pair = 0; pair < sources.size(); ++pair)
    if (parts_.planner.left_of(pair) > 0) received.add(sources[pair].rank, 0);
  exchange_lists(context_.channel, context_.ledger, sent, received);
  std::size_t pair = 0;
  for (std::size_t i = 0; i < received.size(); ++i) {
    while (sources[pair].rank < received.rank(i)) ++pair;
    parts_.planner.offer(pair, received[i][0]);
  }
}

/// Every rank sends its sources what it takes, when it is ready to receive it.
void StepLoop::exchange_credits() {
  mpi::WordLists sent(context_.ledger), received(context_.ledger);
  const std::span<const Peer> from = parts_.planner.connections();
  for (std::size_t s = 0; s < from.size(); ++s)
    if (parts_.planner.left(s) + parts_.planner.credited(s) > 0)
      sent.add(from[s].rank, parts_.planner.credited(s));
  const std::span<const Peer> to = parts_.sender.connections();
  for (std::size_t d = 0; d < to.size(); ++d)
    if (parts_.sender.left(d) > 0) received.add(to[d].rank, 0);
  exchange_lists(context_.channel, context_.ledger, sent, received);
  words_.assign(to.size(), 0);
  std::size_t d = 0;
  for (std::size_t i = 0; i < received.size(); ++i) {
    while (to[d].rank < received.rank(i)) ++d;
    words_[d] = received[i][0];
  }
  parts_.receiver.begin_step(parts_.planner, parts_.memory);
  parts_.sender.begin_step(words_);
}

StepLoop::Moved StepLoop::move(bool takes) {
  ParkedObjects& parked = parts_.sender.parked();
  parked.compact();
  parts_.sender.prepare();
  if (parts_.sources_offer) receive_offers();
  const std::uint64_t room = parts_.limit - std::min(parts_.limit, parked.cost());
  Moved moved{0, ask_memory()};
  const ParkingStart start{parts_.planner.cost_left(), std::min(room, moved.memory_answer), room};
  if (takes)
    moved.objects = parts_.planner.plan(parts_.division, room, moved.memory_answer).objects;
  else
    parts_.planner.skip();
  const std::size_t peers =
      parts_.planner.connections().size() + parts_.sender.connections().size();
  if (!transport_ || peers_ != peers) {  // parking has met further ranks
    if (transport_) context_.report.messages += transport_->messages();
    transport_.emplace(context_.channel, context_.ledger, context_.workspace.node,
                       parts_.sender.connections(), parts_.planner.connections());
    peers_ = peers;
  }
  exchange_credits();
  transport_->run(parts_.sender, parts_.receiver);
  if (parks()) moved.objects += parking_.run(start);
  return moved;
}

/// Errors of this step before anybody uses what arrived in it. True when there is a further one.
bool StepLoop::agree_on_step(const Moved& moved, std::uint64_t all) {
  std::uint64_t left = parts_.planner.objects_left();
  bool has_moved = moved.objects > 0;
  mpi::Agreement agreement;
  agreement.largest(left);
  agreement.largest(has_moved);
  agreement.run(context_.channel, parts_.sender.diagnostic);
  const bool could_park = !context_.parameters.parks() || parks();
  const std::uint64_t step = ++context_.report.steps;
  if (all > 0) return step < all;
  if (left > 0 && !has_moved && could_park && !parts_.division.stalled()) {
    std::optional<Diagnostic> stuck;
    if (parts_.planner.objects_left() > 0)
      stuck = Diagnostic{
          ErrorCode::out_of_memory,
          "no rank can take another object; this one expects " +
              std::to_string(parts_.planner.objects_left()) + ", of which the smallest next has " +
              std::to_string(parts_.planner.smallest_next()) +
              " bytes, and its VALET_MEMORY_FN answers " + std::to_string(moved.memory_answer)};
    mpi::agree(context_.channel, stuck);
  }
  return left > 0;
}

void StepLoop::run(std::uint64_t own, std::uint64_t all, const std::function<void()>& finish) {
  context_.report.steps = 0;
  for (bool more = true; more;) {
    const bool takes = all == 0 || takes_part(context_.report.steps, own, all);
    const Moved moved = move(takes);
    more = agree_on_step(moved, all);
    finish();
  }
  context_.report.messages += transport_->messages();
  agree_on_callbacks(context_, parts_.sender.diagnostic);
}

}  // namespace valet::zoltan
