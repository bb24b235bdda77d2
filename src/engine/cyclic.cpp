// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/cyclic.hpp"

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "engine/slots/slot_exchange.hpp"
#include "mpi/message.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>

namespace valet::engine {
namespace {

constexpr int cyclic_root = 0;  ///< the rank

using schedule::action_window;
using schedule::actions_per_note;
using schedule::CyclicNote;

/// The root of CYCLIC: gets the edges of all ranks, one at a time of each, and sends them actions
/// while it searches. It takes part as any other rank besides, and sends itself what it sends
/// others.
///
/// Whenever it waits it has sent all that it scheduled, but for a part of the one cycle or shift at
/// hand. Of those before, the first that is not carried out has all of its ranks at it, so the
/// ranks go on, take what waits for them, and the root goes on too.
class CyclicRoot final : public schedule::CyclicLink {
 public:
  /// Requests that it uses of the transport's others, from `first_other` on.
  static constexpr std::size_t others = 33;
  /// Memory: 64 bytes a rank, 2 KiB.
  CyclicRoot(const plan::State& state, CreditTransport& transport, std::size_t first_other)
      : state_(state),
        transport_(transport),
        first_other_(first_other),
        scheduler_(state.ledger, static_cast<std::size_t>(state.channel.size())),
        ranks_(state.ledger, static_cast<std::size_t>(state.channel.size())),
        messages_(state.ledger, others - 1) {}

  /// Starts an execution: listens.
  void start() {
    for (RankState& state : ranks_) state = RankState{.window = action_window};
    to_join_ = ranks_.size();
    to_come_ = ranks_.size();
    actions_sent_ = 0;
    listen();
  }
  /// Schedules everything. `wait` waits for a request of this rank, whatever it is for, and lets
  /// the rank carry out its own actions meanwhile.
  void schedule_all(const std::function<void()>& wait) {
    wait_ = &wait;
    while (to_join_ > 0) wait();
    scheduler_.run(*this);
  }
  /// Another request of the transport completed; `rank` sent it.
  void completed(std::size_t other, int rank) {
    if (other != first_other_) return;  // an action has left
    const auto source = static_cast<std::uint32_t>(rank);
    RankState& state = ranks_[source];
    --to_come_;
    if (note_.kind == CyclicNote::Kind::done) {
      state.window = static_cast<std::uint16_t>(state.window + actions_per_note);
    } else {
      state.blocks = note_.blocks;
      state.destination = note_.destination;
    }
    if (note_.kind == CyclicNote::Kind::joins) {
      scheduler_.set(source, note_.known);
      --to_join_;
      if (note_.known.edges > 0) to_come_ += note_.known.edges - 1;
    }
    listen();
  }
  /// Everything that ranks will send has come.
  [[nodiscard]] bool done() const { return to_come_ == 0; }
  [[nodiscard]] std::uint64_t actions_sent() const { return actions_sent_; }

 private:
  /// What it knows of one rank.
  struct RankState {
    std::uint64_t blocks = 0;  ///< on its edge; 0 when that was not sent yet
    std::uint32_t destination = 0;
    std::uint16_t window = 0;     ///< actions that may be sent to it
    std::uint16_t scheduled = 0;  ///< actions since the last that it will report
  };
  static_assert(sizeof(RankState) == 16, "64 bytes a rank with the scheduler's 48");

  schedule::Edge next_edge(std::uint32_t rank) override {
    RankState& state = ranks_[rank];
    while (state.blocks == 0) (*wait_)();
    const schedule::Edge edge{state.destination, state.blocks};
    state.blocks = 0;
    return edge;
  }
  void schedule(std::uint32_t rank, const schedule::Action& action) override {
    RankState& state = ranks_[rank];
    while (state.window == 0 || idle_message() == messages_.size()) (*wait_)();
    const std::size_t k = idle_message();
    messages_[k] = action;
    mpi::post_send(state_.channel, &messages_[k], sizeof messages_[k], static_cast<int>(rank),
                   mpi::tag_action, transport_.other(first_other_ + 1 + k));
    ++actions_sent_;
    --state.window;
    if (++state.scheduled < actions_per_note) return;
    state.scheduled = 0;
    ++to_come_;
    listen();
  }
  void listen() {
    if (to_come_ == 0 || !transport_.idle_other(first_other_)) return;
    mpi::post_receive(state_.channel, &note_, sizeof note_, MPI_ANY_SOURCE, mpi::tag_note,
                      transport_.other(first_other_));
  }
  [[nodiscard]] std::size_t idle_message() const {
    std::size_t k = 0;
    while (k < messages_.size() && !transport_.idle_other(first_other_ + 1 + k)) ++k;
    return k;
  }

  const plan::State& state_;
  CreditTransport& transport_;
  std::size_t first_other_;
  schedule::CyclicScheduler scheduler_;
  Array<RankState> ranks_;
  Array<schedule::Action> messages_;
  CyclicNote note_;
  std::uint64_t to_come_ = 0;  ///< notes
  std::size_t to_join_ = 0;
  const std::function<void()>* wait_ = nullptr;
  std::uint64_t actions_sent_ = 0;
};

// Requests beside those of the exchange; the root's follow.
constexpr std::size_t other_action = 0;
constexpr std::size_t other_edge = 1;
constexpr std::size_t other_done = 2;
constexpr std::size_t own_others = 3;

bool is_root(const plan::State& state) { return state.channel.rank() == cyclic_root; }

std::size_t first_edge(const plan::State& state) {
  if (state.options.cyclic.edge_order == EdgeOrder::ascending) return 0;
  return flow_from(state.flows.outgoing, state.channel.rank() + 1);
}

/// CYCLIC: a root finds cycles and shifts, the ranks carry them out without root and barriers.
///
/// Source: S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 3.2, which the search follows (schedule/cyclic.hpp). What differs: ranks begin while the
/// root still schedules, so nobody stores a whole schedule; a message is at most what a buffer
/// holds; blocks are not sorted between actions, they wait in buffers for their slots and what is
/// misplaced is put right when its slot becomes free. An action allows its blocks to come and to
/// go; how, is the business of SlotExchange.
///
/// Why it is complete. A rank carries its actions out in the order in which the root made them. Of
/// the cycles and shifts that are not carried out take the first: all its ranks are at it. A rank
/// credits a message when it has an idle buffer, and can fill free slots from a buffer. If none of
/// the ranks of a cycle could go on, each would hold arrivals for which no slot is free, so it
/// would have received more than it has sent; but around a cycle as many blocks are received as are
/// sent. The first rank of a shift only sends, and the last has free slots for all that it
/// receives.
///
/// That needs one rule more: the credits of the action at hand must reach a rank whatever came
/// before them. Ranks that are ahead credit for actions that this one has not begun, of
/// schedule::actions_ahead destinations at most. All of those credits are taken and kept, three of
/// each destination (SlotSender); with room for fewer, a rank that sends to many others would stop
/// taking credits before the one that all wait for. tests/model/cyclic.pml checks this.
///
/// Memory: 8 bytes a neighbour and 4 KiB; on the root 64 bytes a rank besides.
class Cyclic final : public SlotExchange {
 public:
  explicit Cyclic(const plan::State& state)
      : SlotExchange(
            state, {.is_limited = true,
                    .most_ahead = schedule::actions_ahead,
                    .others = own_others + (is_root(state) ? CyclicRoot::others : std::size_t{0})}),
        first_edge_(first_edge(state)),
        actions_(state.ledger, action_window) {
    if (is_root(state)) root_ = std::make_unique<CyclicRoot>(state, transport_, own_others);
  }

  [[nodiscard]] bool begins_alone() const override { return false; }
  void advance() override {
    do {
      begin_action();
      SlotExchange::advance();
    } while (end_action());
    inform_root();
    listen();
  }
  void handle(const Event& event) override {
    if (event.kind != Event::Kind::other)
      SlotExchange::handle(event);
    else if (event.index >= own_others)
      root_->completed(event.index, event.rank);
    else if (event.index == other_action)
      take_action();
  }
  /// Every action has been carried out, and the root been sent what it waits for.
  [[nodiscard]] bool done() const override {
    return SlotExchange::done() && !busy_ && waiting_ == 0 && unscheduled_ == 0 &&
           carried_out_ < actions_per_note && (!root_ || root_->done());
  }

 private:
  void start(const LocalSlots& local) override {
    if (root_) root_->start();
    next_ = waiting_ = 0;
    busy_ = owes_edge_ = false;
    unscheduled_ = state_.flows.exports.size() + state_.flows.blocks_arriving;
    carried_out_ = notes_sent_ = steps_ = 0;
    edge_ = 0;
    CyclicNote note{.kind = CyclicNote::Kind::joins};
    note.known = {.edges = static_cast<std::uint32_t>(state_.flows.outgoing.size()),
                  .most_message_blocks = most_message_blocks(),
                  .free = local.free().count() + sizes_.receive_blocks * sizes_.receive_buffers +
                          sizes_.node_blocks * sizes_.node_buffers};
    if (note.known.edges > 0) {
      edge_left_ = edge(0).count;
      note.destination = static_cast<std::uint32_t>(edge(0).rank);
      note.blocks = edge_left_;
    }
    post_note(other_edge, note);
    listen();
  }
  /// Only in finish(): the root searches and waits by turns.
  bool progress() override { return true; }
  void finish(Report& report) override {
    if (root_) root_->schedule_all([&] { transport_.step(*this, true); });
    SlotExchange::finish(report);
    report.steps = std::max(report.steps, steps_);
    report.credits += notes_sent_ + (root_ ? root_->actions_sent() : 0);
  }

  /// The k-th in the order of the options: ascending, or beginning behind this rank.
  [[nodiscard]] const plan::Outgoing& edge(std::size_t k) const {
    return state_.flows.outgoing[(first_edge_ + k) % state_.flows.outgoing.size()];
  }
  /// Blocks that fit a message, sized for as many arrivals as exports: a rank with few of either
  /// would shorten the messages of all.
  [[nodiscard]] std::uint32_t most_message_blocks() const {
    const std::uint64_t most =
        std::max<std::uint64_t>(state_.flows.exports.size(), state_.flows.blocks_arriving);
    const schedule::StreamSizes sizes =
        schedule::stream_sizes(schedule::limits_of(state_.options, state_.blocks, most, most));
    return static_cast<std::uint32_t>(std::min(sizes.send_blocks, sizes.receive_blocks));
  }
  /// Waits for the next action while there is one to come. The root knows how many fit here.
  void listen() {
    if (unscheduled_ == 0 || waiting_ == action_window || !transport_.idle_other(other_action))
      return;
    mpi::post_receive(state_.channel, &action_, sizeof action_, cyclic_root, mpi::tag_action,
                      transport_.other(other_action));
  }
  void take_action() {
    actions_[(next_ + waiting_) % action_window] = action_;
    ++waiting_;
    if (observe::Trace* const trace = state_.observer.trace)
      trace->instant(observe::TraceKind::mark, "action", {.number = action_.step});
    steps_ = std::max<std::uint64_t>(steps_, action_.step + std::uint64_t{1});
    if (action_.source != schedule::no_rank) unscheduled_ -= action_.blocks;
    if (action_.destination == schedule::no_rank) return;
    unscheduled_ -= action_.blocks;
    edge_left_ -= action_.blocks;
    if (edge_left_ > 0 || edge_ + 1 == state_.flows.outgoing.size()) return;
    edge_left_ = edge(++edge_).count;
    owes_edge_ = true;
  }
  void begin_action() {
    if (busy_ || waiting_ == 0) return;
    const schedule::Action& action = actions_[next_];
    busy_ = true;
    if (action.source != schedule::no_rank)
      receiver_.allow(static_cast<int>(action.source), action.blocks, action.message_blocks);
    if (action.destination != schedule::no_rank)
      sender_.allow(static_cast<int>(action.destination), action.blocks);
  }
  bool end_action() {
    if (!busy_) return false;
    const schedule::Action& action = actions_[next_];
    if ((action.source != schedule::no_rank &&
         !receiver_.has_received(static_cast<int>(action.source))) ||
        (action.destination != schedule::no_rank &&
         !sender_.has_sent(static_cast<int>(action.destination))))
      return false;
    busy_ = false;
    next_ = (next_ + 1) % action_window;
    --waiting_;
    ++carried_out_;
    return true;
  }
  void inform_root() {
    if (owes_edge_ && transport_.idle_other(other_edge)) {
      owes_edge_ = false;
      post_note(other_edge, {.kind = CyclicNote::Kind::edge,
                             .destination = static_cast<std::uint32_t>(edge(edge_).rank),
                             .blocks = edge_left_});
    }
    if (carried_out_ >= actions_per_note && transport_.idle_other(other_done)) {
      carried_out_ -= actions_per_note;
      post_note(other_done, {.kind = CyclicNote::Kind::done});
    }
  }
  void post_note(std::size_t other, const CyclicNote& note) {
    CyclicNote& message = notes_[other - other_edge];
    message = note;
    mpi::post_send(state_.channel, &message, sizeof message, cyclic_root, mpi::tag_note,
                   transport_.other(other));
    ++notes_sent_;
  }

  std::size_t first_edge_;             ///< flow that is offered first
  std::unique_ptr<CyclicRoot> root_;   ///< on one rank
  schedule::Action action_;            ///< received last
  std::array<CyclicNote, 2> notes_{};  ///< being sent
  Array<schedule::Action> actions_;    ///< a ring
  std::size_t next_ = 0;               ///< position in the ring
  std::size_t waiting_ = 0;            ///< in the ring
  bool busy_ = false;                  ///< with an action
  std::uint64_t unscheduled_ = 0;      ///< blocks that leave or arrive and are in no action yet
  std::uint64_t carried_out_ = 0;      ///< actions that the root does not know of
  std::uint64_t notes_sent_ = 0;
  std::uint64_t steps_ = 0;

  std::size_t edge_ = 0;         ///< the root has it
  std::uint64_t edge_left_ = 0;  ///< blocks that are not scheduled
  bool owes_edge_ = false;
};

}  // namespace

std::unique_ptr<Exchange> make_cyclic(const plan::State& state) {
  return std::make_unique<Cyclic>(state);
}

}  // namespace valet::engine
