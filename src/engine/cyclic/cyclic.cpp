// SPDX-License-Identifier: BSD-3-Clause
#include "engine/cyclic/cyclic.hpp"

#include <algorithm>

namespace valet::engine {
namespace {

// Request slots beside those of the exchange; the root's follow.
constexpr std::size_t other_action = 0;
constexpr std::size_t other_edge = 1;
constexpr std::size_t other_done = 2;
constexpr std::size_t own_others = 3;

bool is_root(const ExchangeContext& context) { return context.channel.rank() == cyclic_root; }

std::size_t first_edge(const ExchangeContext& context, const plan::Flows& flows) {
  if (context.options.cyclic.edge_order == EdgeOrder::ascending) return 0;
  return flow_from(flows.outgoing, context.channel.rank() + 1);
}

}  // namespace

Cyclic::Cyclic(const ExchangeContext& context, const plan::Flows& flows)
    : SlotExchange(
          context, flows,
          {.is_limited = true,
           .most_ahead = schedule::actions_ahead,
           .others = own_others + (is_root(context) ? CyclicRoot::others : std::size_t{0})}),
      flows_(flows),
      first_edge_(first_edge(context, flows)),
      actions_(context.ledger, action_window) {
  if (is_root(context)) root_ = std::make_unique<CyclicRoot>(context, transport(), own_others);
}

/// The k-th in the order of the options: ascending, or beginning behind this rank.
const plan::Outgoing& Cyclic::edge(std::size_t k) const {
  return flows_.outgoing[(first_edge_ + k) % flows_.outgoing.size()];
}

/// Blocks that fit a message, as if as much came as goes: or one rank would shorten those of all.
std::uint32_t Cyclic::most_increment() const {
  const std::uint64_t most = std::max<std::uint64_t>(flows_.exports.size(), flows_.blocks_arriving);
  const schedule::StreamSizes sizes =
      schedule::stream_sizes(schedule::limits_of(context_.options, context_.blocks, most, most));
  return static_cast<std::uint32_t>(std::min(sizes.send_blocks, sizes.receive_blocks));
}

void Cyclic::start(const Transfer& transfer) {
  if (root_) root_->start();
  next_ = waiting_ = 0;
  busy_ = owes_edge_ = false;
  unscheduled_ = flows_.exports.size() + flows_.blocks_arriving;
  carried_out_ = notes_sent_ = steps_ = 0;
  edge_ = 0;
  const schedule::StreamSizes& sizes = SlotExchange::sizes();
  CyclicNote note{.kind = CyclicNote::Kind::joins};
  note.known = {.edges = static_cast<std::uint32_t>(flows_.outgoing.size()),
                .most_increment = most_increment(),
                .free = transfer.free().count() + sizes.receive_blocks * sizes.receive_buffers +
                        sizes.node_blocks * sizes.node_buffers};
  if (note.known.edges > 0) {
    edge_left_ = edge(0).count;
    note.destination = static_cast<std::uint32_t>(edge(0).rank);
    note.blocks = edge_left_;
  }
  post_note(other_edge, note);
  listen();
}

void Cyclic::move(Report& report) {
  CreditTransport& transport = SlotExchange::transport();
  if (root_) {
    transport.advance(*this);
    root_->schedule_all([&] { transport.step(*this); });
  }
  transport.run(*this);
  report.steps = std::max(report.steps, steps_);
  report.credits += notes_sent_ + (root_ ? root_->actions_sent() : 0);
}

void Cyclic::post_note(std::size_t other, const CyclicNote& note) {
  CyclicNote& message = notes_[other - other_edge];
  message = note;
  mpi::post_send(context_.channel, &message, sizeof message, cyclic_root, mpi::tag_note,
                 transport().other(other));
  ++notes_sent_;
}

/// Waits for the next action while there is one to come. The root knows how many fit here.
void Cyclic::listen() {
  if (unscheduled_ == 0 || waiting_ == action_window || !transport().idle_other(other_action))
    return;
  mpi::post_receive(context_.channel, &action_, sizeof action_, cyclic_root, mpi::tag_action,
                    transport().other(other_action));
}

void Cyclic::take_action() {
  actions_[(next_ + waiting_) % action_window] = action_;
  ++waiting_;
  if (observe::Trace* const trace = context_.observer().trace)
    trace->instant(observe::TraceKind::mark, "action", {.number = action_.step});
  steps_ = std::max<std::uint64_t>(steps_, action_.step + std::uint64_t{1});
  if (action_.source != schedule::no_rank) unscheduled_ -= action_.blocks;
  if (action_.destination == schedule::no_rank) return;
  unscheduled_ -= action_.blocks;
  edge_left_ -= action_.blocks;
  if (edge_left_ > 0 || edge_ + 1 == flows_.outgoing.size()) return;
  edge_left_ = edge(++edge_).count;
  owes_edge_ = true;
}

void Cyclic::inform_root() {
  if (owes_edge_ && transport().idle_other(other_edge)) {
    owes_edge_ = false;
    post_note(other_edge, {.kind = CyclicNote::Kind::edge,
                           .destination = static_cast<std::uint32_t>(edge(edge_).rank),
                           .blocks = edge_left_});
  }
  if (carried_out_ >= actions_per_note && transport().idle_other(other_done)) {
    carried_out_ -= actions_per_note;
    post_note(other_done, {.kind = CyclicNote::Kind::done});
  }
}

void Cyclic::begin_action() {
  if (busy_ || waiting_ == 0) return;
  const schedule::Action& action = actions_[next_];
  busy_ = true;
  if (action.source != schedule::no_rank)
    receiver().allow(static_cast<int>(action.source), action.blocks, action.increment);
  if (action.destination != schedule::no_rank)
    sender().allow(static_cast<int>(action.destination), action.blocks);
}

bool Cyclic::end_action() {
  if (!busy_) return false;
  const schedule::Action& action = actions_[next_];
  if ((action.source != schedule::no_rank &&
       !receiver().has_received(static_cast<int>(action.source))) ||
      (action.destination != schedule::no_rank &&
       !sender().has_sent(static_cast<int>(action.destination))))
    return false;
  busy_ = false;
  next_ = (next_ + 1) % action_window;
  --waiting_;
  ++carried_out_;
  return true;
}

void Cyclic::advance() {
  do {
    begin_action();
    SlotExchange::advance();
  } while (end_action());
  inform_root();
  listen();
}

void Cyclic::handle(const Event& event) {
  if (event.kind != Event::Kind::other)
    SlotExchange::handle(event);
  else if (event.index >= own_others)
    root_->completed(event.index, event.rank);
  else if (event.index == other_action)
    take_action();
}

bool Cyclic::done() const {
  return SlotExchange::done() && !busy_ && waiting_ == 0 && unscheduled_ == 0 &&
         carried_out_ < actions_per_note && (!root_ || root_->done());
}

}  // namespace valet::engine
