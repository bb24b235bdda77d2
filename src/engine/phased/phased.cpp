// SPDX-License-Identifier: BSD-3-Clause

// PHASED: in every phase each rank receives at most as many blocks as it has free memory when the
// phase begins, and what is sent frees memory for the next one.
//
// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
// 15(7), 2004, sections 4 to 6; with Heuristic::first_fit and parking at every phase it is also
// MADRE's parking algorithm (Siegel and Siegel, section 3.1), without its sorting of all blocks
// after each phase: blocks that do not land in their final slots are put right once, when
// these become free.
//
// Why it is complete, also without parking. Scratch gives every rank a place more than it needs in
// the end, so the argument of STREAM (stream.cpp) holds: while blocks are left, some rank has both
// blocks to receive and a free place. Available memory that shrinks (Figure 9) may slow it down but
// not stop it, because one block is always let in.
//
// What moves in a phase, in numbers, is decided by Phases; here, which blocks exactly, and in
// which messages. A receiver allows one message after another: it takes extra slots, posts the
// receive, and credits the sender with so many blocks. So no data message is unexpected, and a few
// requests are outstanding on either side. Where the receiver cannot know what comes (blocks that
// wait on their way), the sender's message is of one origin and target, perhaps of fewer blocks
// than were credited, and a message before it says so.
//
// Why it is not a policy of SlotExchange, as CYCLIC is. What a phase may move follows from free
// memory that is counted block by block; a receive buffer of SlotExchange is free or busy as a
// whole, so a rank would have less, and there would be more phases. SlotExchange credits the next
// blocks of a flow; blocks that wait on their way belong to flows of other ranks, come in any
// order, and must be found again by target, in slots or in scratch.
//
// Why a phase ends. All that may arrive fits the slots that are free when it begins. An extra slot
// is busy while a message is on the way to it, which needs nothing more, and then while no slot is
// free for its block; if all are busy in this second way, all that may arrive has.
//
// Memory. A rank keeps lists of its neighbours, 224 bytes each. Where blocks wait on their way any
// rank may become a neighbour, so lists of all ranks are reckoned with, 512 bytes each (schedule::
// phased_list_bytes). What goes beyond 64 bytes a neighbour and 24 KiB comes off the budget: from
// about 190 neighbours on, or 48 ranks with parking. The root gathers two words a rank for parking
// and matches within 40 bytes a rank; for Heuristic::continuous it has 72, of which 8 are reckoned
// with for lists that are empty then. What a root decided is kept for further executions, within
// 2 KiB and a small part of the budget (kept_phases.hpp).

#include "engine/credit_transport.hpp"
#include "engine/phased/kept_phases.hpp"
#include "engine/phased/phased_budget.hpp"
#include "engine/phased/phased_memory.hpp"
#include "mpi/tags.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

namespace valet::engine {
namespace {

int credit_tag(std::uint64_t phase) {
  return mpi::tag_phase_credit + static_cast<int>(phase % mpi::phase_tags);
}

/// Receivers cannot know what comes where blocks wait on their way, and what a root packs where it
/// keeps memory for its schedule.
bool needs_announcements(const Options& options) {
  return blocks_wait(options) || options.phased.scheduler == Scheduler::centralized;
}

class Phased final : public Exchange, public Participant {
 public:
  explicit Phased(const plan::State& state)
      : state_(state),
        flows_(state.flows),
        sizes_(schedule::phased_sizes(
            phased_limits(state, state.schedule_bytes + state.kept_schedule_bytes))),
        announces_(needs_announcements(state.options)),
        memory_(state, sizes_),
        transport_(
            state.channel, state.ledger, state.node(),
            CreditTransport::RequestCounts{.receives = window,
                                           .sends = most_sending,
                                           .others = announces_ ? window + most_sending : 0}),
        pieces_(state.ledger),
        sent_(flows_.outgoing.size(), 0, state.ledger),
        reached_(flows_.incoming.size(), Reached{}, state.ledger) {
    if (sizes_.send_buffers == 0)
      pieces_.reserve(static_cast<std::size_t>(sizes_.send_blocks) * state.blocks.pieces_per_block);
    if (keeps_schedule(state.options))
      kept_.emplace(state.ledger, state.kept_schedule_bytes + schedule::free_for_schedule);
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return scratch_bytes_of(state_.options, state_.blocks, sizes_.scratch_blocks());
  }
  void begin(LocalSlots& local, std::span<std::byte> scratch) override {
    local_ = &local;
    memory_.start(scratch.data());
    buffers_ = scratch.data() + sizes_.scratch_slots * state_.blocks.block_bytes;
    std::fill(sent_.begin(), sent_.end(), SlotIndex{0});
    for (std::size_t i = 0; i < reached_.size(); ++i) reached_[i] = {0, flows_.incoming[i].cursor};
  }
  /// Phases begin with words of all neighbours, which are waited for.
  void finish(Report& report) override {
    report_ = &report;
    PhaseMoves moves(state_.ledger);
    moves_ = &moves;
    const bool is_kept = kept_ && kept_->is_complete(state_.channel);
    const std::unique_ptr<Phases> made = is_kept ? nullptr : make_phases();
    phases_ = is_kept ? &*kept_ : made.get();
    observe::Trace* const trace = local_->trace();
    const auto decide = [&](std::uint64_t phase) {
      const observe::TraceSpan span(trace, observe::TraceKind::phase, "decide", {.number = phase});
      const bool more = phases_->next(start_of_phase(), moves);
      if (kept_ && !is_kept) kept_->note(more ? &moves : nullptr);
      return more;
    };
    for (std::uint64_t phase = 1; decide(phase); ++phase) {
      const observe::TraceSpan span(trace, observe::TraceKind::phase, "phase", {.number = phase});
      if (!moves.sends.keys.empty() || !moves.receives.keys.empty()) report.phases = phase;
      run_phase(phase);
    }
  }

  void advance() override {
    listen();
    while (give_credit()) {
    }
  }
  void handle(const Event& event) override {
    switch (event.kind) {
      case Event::Kind::credit: answer(event.rank, event.credit); break;
      case Event::Kind::received: arrived(posted_[event.index]); break;
      case Event::Kind::other:
        if (event.index < window) arrived(posted_[event.index]);
        break;
      case Event::Kind::sent: sent(sendings_[event.index]); break;
      default: break;
    }
  }
  [[nodiscard]] bool done() const override {
    return to_come_ == 0 && to_send_ == 0 && sending_ == 0;
  }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    std::uint64_t blocks = memory_.scratch_in_use();
    for (std::size_t k = 0; k < sizes_.send_buffers; ++k)
      if (!transport_.can_send(k) && !sendings_[k].in_place) blocks += sendings_[k].pair_run.count;
    return blocks * state_.blocks.block_bytes;
  }

 private:
  static constexpr std::size_t window = 8;  ///< messages that are credited and not here
  static constexpr std::size_t most_of_a_source = 2;
  static constexpr std::size_t most_sending = 4;

  /// A message that was credited.
  struct PostedReceive {
    std::size_t source = 0;  ///< in the list of the phase
    storage::SlotRun run = {};
    PairRun pair_run = {};
    SlotIndex cursor = 0;  ///< at its first block, where that is known before
    int parts = 0;         ///< messages to come
  };
  /// A message on its way.
  struct Sending {
    PairRun pair_run;
    SlotList slots;         ///< own blocks
    std::size_t entry = 0;  ///< where those that waited here are listed
    bool in_place = false;
    [[nodiscard]] bool is_own() const { return !slots.empty(); }
  };

  [[nodiscard]] PhaseStart start_of_phase() const {
    PhaseStart start{.free = memory_.free(*local_), .waiting_room = memory_.waiting_room()};
    if (state_.options.phased.available_bytes && start.free > 0) {
      const std::uint64_t available =
          state_.options.phased.available_bytes() / state_.blocks.block_bytes;
      start.free = std::clamp<std::uint64_t>(available, 1, start.free);
    }
    return start;
  }
  [[nodiscard]] std::unique_ptr<Phases> make_phases() const {
    if (state_.options.phased.scheduler == Scheduler::centralized)
      return centralized_phases(state_, start_of_phase(), *report_);
    return distributed_phases(state_, start_of_phase());
  }
  /// Moves what a phase moves, which fits the free slots, and counts it down.
  void run_phase(std::uint64_t phase) {
    to_come_ = moves_->receives.sum();
    to_send_ = moves_->sends.sum();
    // Sources behind this rank first, so that nobody is everybody's first.
    next_source_ = moves_->receives.find_peer(static_cast<std::uint32_t>(state_.channel.rank()));
    transport_.set_credit_tag(credit_tag(phase));
    transport_.run(*this);
    transport_.report_to(*report_);
    memory_.finalize(*local_);
    transport_.note_in_use(*this);
  }
  void listen() {
    if (to_send_ > 0 && idle_send() < most_sending) transport_.listen();
  }
  /// Asks for the next message; false when there is none to ask for, or no room for it now.
  bool give_credit() {
    const std::size_t sources = moves_->receives.keys.size();
    std::size_t k = 0;
    while (k < window && (posted_[k].parts > 0 || !transport_.can_receive(k))) ++k;
    std::size_t tried = 0;
    while (tried < sources && !may_credit((next_source_ + tried) % sources)) ++tried;
    if (k == window || tried == sources) return false;
    const std::size_t s = (next_source_ + tried) % sources;
    std::uint64_t& blocks = moves_->receives.counts[s];
    const auto source = static_cast<int>(moves_->receives.keys[s].peer);
    std::uint64_t most = std::min(blocks, sizes_.receive_blocks);
    const std::size_t f = flow_from(flows_.incoming, source);
    const bool is_flow = f < flows_.incoming.size() && flows_.incoming[f].rank == source;
    if (is_flow) most = std::min<std::uint64_t>(most, flows_.incoming[f].message_blocks);
    const storage::SlotRun run =
        memory_.take_scratch(most, transport_.node().is_written_by(source));
    if (run.count == 0) return false;
    PostedReceive& posted = posted_[k];
    posted = {.source = s, .run = run, .parts = announces_ ? 2 : 1};
    if (announces_) {
      mpi::post_receive(state_.channel, &posted.pair_run, sizeof(PairRun), source,
                        mpi::tag_pair_run, transport_.other(k));
    } else {
      posted.pair_run = {state_.channel.rank(), source, reached_[f].blocks, run.count};
      posted.cursor = cursor_of(posted.pair_run);
    }
    std::byte* const memory = memory_.memory(run.first);
    const std::uint64_t bytes = run.count * state_.blocks.block_bytes;
    local_->finish(memory, bytes);
    transport_.give(k, source, memory, bytes, {.count = static_cast<std::uint32_t>(run.count)});
    blocks -= run.count;
    next_source_ = s + 1;
    return true;
  }
  [[nodiscard]] bool may_credit(std::size_t source) const {
    const auto of_source = [&](const PostedReceive& posted) {
      return posted.parts > 0 && posted.source == source;
    };
    return moves_->receives.counts[source] > 0 &&
           static_cast<std::size_t>(std::ranges::count_if(posted_, of_source)) < most_of_a_source;
  }
  /// The cursor of the first block of a run; that behind its last will be asked for next, probably.
  SlotIndex cursor_of(const PairRun& pair_run) {
    const std::size_t f = flow_from(flows_.incoming, pair_run.origin);
    Reached& reached = reached_[f];
    const SlotIndex cursor = pair_run.first >= reached.blocks
                                 ? flows_.advance(reached.cursor, pair_run.first - reached.blocks)
                                 : flows_.advance(flows_.incoming[f].cursor, pair_run.first);
    reached = {static_cast<SlotIndex>(pair_run.first + pair_run.count),
               flows_.advance(cursor, pair_run.count)};
    return cursor;
  }
  void arrived(PostedReceive& posted) {
    if (--posted.parts > 0) return;
    const auto [first, credited] = posted.run;
    const PairRun& pair_run = posted.pair_run;
    const storage::SlotRun run{first, pair_run.count};
    if (pair_run.count < credited) {
      memory_.give_back({first + pair_run.count, credited - pair_run.count});
      moves_->receives.counts[posted.source] += credited - pair_run.count;
    }
    to_come_ -= pair_run.count;
    if (pair_run.target == state_.channel.rank()) {
      state_.observer.moved(pair_run.count);
      memory_.arrived(*local_, run, announces_ ? cursor_of(pair_run) : posted.cursor);
    } else {
      memory_.arrived_to_wait(*local_, run, pair_run);
      phases_->waits_here(pair_run.target, pair_run.count);
      report_->detours += pair_run.count;
    }
  }
  void answer(int rank, const Credit& credit) {
    const schedule::KeyedCounts& sends = moves_->sends;
    std::size_t send = sends.find_peer(static_cast<std::uint32_t>(rank));
    while (sends.counts[send] == 0) ++send;
    const std::size_t k = idle_send();
    const bool writes = CreditTransport::is_for_writing(credit);
    Sending& message = sendings_[k];
    message = choose_blocks(
        send, writes ? credit.count : std::min<std::uint64_t>(credit.count, sizes_.send_blocks));
    const PairRun& pair_run = message.pair_run;
    to_send_ -= pair_run.count;
    ++sending_;
    if (announces_)
      mpi::post_send(state_.channel, &message.pair_run, sizeof(PairRun), rank, mpi::tag_pair_run,
                     transport_.other(window + k));
    const std::uint64_t bytes = pair_run.count * state_.blocks.block_bytes;
    if (message.is_own()) {
      state_.observer.moved(pair_run.count);
    } else {  // what leaves once is counted already
      report_->blocks_sent += pair_run.count;
      report_->bytes_sent += bytes;
    }
    if (writes) {
      gather(message, transport_.memory_of(rank, credit));
      return transport_.signal(k, rank, bytes);
    }
    message.in_place = send_in_place(message, rank, k);
    if (message.in_place) return;
    std::byte* const buffer = buffers_ + k * sizes_.send_blocks * state_.blocks.block_bytes;
    gather(message, buffer);
    local_->finish(buffer, bytes);
    transport_.send(k, rank, buffer, bytes);
  }
  /// Own blocks first, in the order of the flow, then those that wait here.
  [[nodiscard]] Sending choose_blocks(std::size_t send, std::uint64_t most) {
    Sending message;
    const auto target = static_cast<int>(moves_->sends.keys[send].target);
    most = std::min(most, moves_->sends.counts[send]);
    const std::size_t f = flow_from(flows_.outgoing, target);
    if (f < flows_.outgoing.size() && flows_.outgoing[f].rank == target &&
        sent_[f] < flows_.outgoing[f].count) {
      const plan::Outgoing& flow = flows_.outgoing[f];
      message.pair_run = {target, state_.channel.rank(), sent_[f],
                          std::min<std::uint64_t>(most, flow.count - sent_[f])};
      message.slots = local_->exports(flow, sent_[f], message.pair_run.count);
      sent_[f] = static_cast<SlotIndex>(sent_[f] + message.pair_run.count);
    } else {
      message.pair_run = memory_.take_waiting(target, most, message.entry);
      if (message.pair_run.count == 0)
        throw Error(ErrorCode::internal, "a phase sends blocks that are not there");
    }
    moves_->sends.counts[send] -= message.pair_run.count;
    return message;
  }
  void gather(const Sending& message, std::byte* packed) {
    if (message.is_own())
      local_->gather(message.slots, packed);
    else
      memory_.gather_waiting(*local_, message.entry, message.pair_run.count, packed);
  }
  /// Sends blocks from where they are if they stand in one run, or if there are no buffers.
  bool send_in_place(const Sending& message, int rank, std::size_t k) {
    const bool has_buffers = sizes_.send_buffers > 0;
    if (message.is_own()) {
      if (has_buffers && local_->run_of(message.slots) == nullptr) return false;
      transport_.send_from_slots(k, rank, *local_, message.slots, pieces_);
      return true;
    }
    if (has_buffers) return false;
    local_->backend().finish_all();  // they may be on their way into these slots
    pieces_.pieces.clear();
    memory_.list_waiting(*local_, message.entry, message.pair_run.count, pieces_.pieces);
    transport_.send(k, rank, pieces_, message.pair_run.count * state_.blocks.block_bytes);
    return true;
  }
  void sent(const Sending& message) {
    --sending_;
    if (!message.in_place) return;
    if (message.is_own())
      local_->release(message.slots);
    else
      memory_.release_waiting(*local_, message.entry, message.pair_run.count);
  }
  [[nodiscard]] std::size_t idle_send() const {
    const std::size_t end = sizes_.send_buffers > 0 ? sizes_.send_buffers : most_sending;
    std::size_t k = 0;
    while (k < end &&
           !(transport_.can_send(k) && (!announces_ || transport_.idle_other(window + k))))
      ++k;
    return k < end ? k : most_sending;
  }

  const plan::State& state_;
  const plan::Flows& flows_;
  const schedule::PhasedSizes sizes_;
  const bool announces_;  ///< senders say what a message has
  PhasedMemory memory_;
  CreditTransport transport_;
  std::optional<KeptPhases> kept_;
  LocalSlots* local_ = nullptr;  ///< these are set while it runs
  Report* report_ = nullptr;
  Phases* phases_ = nullptr;
  PhaseMoves* moves_ = nullptr;
  mpi::PieceList pieces_;
  Vector<SlotIndex> sent_;  ///< per flow: blocks sent, to wherever
  struct Reached {
    std::uint32_t blocks = 0;
    SlotIndex cursor = 0;
  };
  Vector<Reached> reached_;  ///< per source: the furthest cursor known
  std::array<PostedReceive, window> posted_{};
  std::array<Sending, most_sending> sendings_{};
  std::byte* buffers_ = nullptr;
  std::size_t next_source_ = 0;  ///< to credit
  std::uint64_t to_come_ = 0;    ///< blocks
  std::uint64_t to_send_ = 0;
  std::size_t sending_ = 0;  ///< messages on their way
};

}  // namespace

std::unique_ptr<Exchange> make_phased(const plan::State& state) {
  return std::make_unique<Phased>(state);
}

}  // namespace valet::engine
