// SPDX-License-Identifier: BSD-3-Clause

// STREAM, the default method: receivers credit, senders stream, nobody can get stuck.
//
// Why it is complete. Let a be the free places of a rank (slots and scratch together), in and out
// the blocks it still has to receive and send. Scratch gives every rank a place more than it needs
// at the end: a + out - in >= 1. Suppose blocks are left and no rank with in > 0 has a place to
// credit. Then each such rank has out >= in + 1, every other rank out >= in, and summed over the
// ranks more blocks would be sent than received, which count the same blocks. So some receiver can
// always credit; a sender that holds a credit has its blocks at hand and waits for nothing.
//
// Ranks of one node need no message for the data: a receiver credits a buffer in memory that it
// shares with the source (storage/node_memory.hpp), the source packs its blocks straight into it,
// and an empty message says that they are there. A sender then has nothing to stage and never
// waits.
//
// With scratch divided into buffers the argument needs three rules, kept by SlotReceiver and
// SlotSender (slots/): arrivals wait in receive buffers for their final slots only while a buffer
// of their kind is idle, and beyond that only for a few looks at the requests, and while no slot
// at all is free; one send buffer never waits for a credit; without send buffers blocks are sent
// from where they are. A rank that cannot credit then has buffers of a kind that hold a block each
// and no free slot, so out >= in + 1 as above, whichever kind its next source needs. Credits are
// held back only while a message is on the way, which completes without them.
//
// A credit says "send me g blocks": g places are reserved and the receive is posted before it
// leaves. It is answered by one message with exactly the next g blocks of that pair, and never
// crosses a multiple of the sender's message size, so that what a sender staged ahead always
// answers whole credits. Sources advance in proportion to their totals and are tried starting
// after the own rank, so that no rank is everybody's first.
//
// tests/model/slots.pml checks this for all small transfer matrices, but for memory shared on a
// node, and that each of the rules is needed.

#include "engine/ordered/ordered_receiver.hpp"
#include "engine/slots/slot_exchange.hpp"

#include <chrono>
#include <thread>

namespace valet::engine {
namespace {

/// Asked once: the system reads a file for it, which takes as long as a small migration.
std::size_t cores() {
  static const std::size_t number = std::thread::hardware_concurrency();
  return number;
}

/// STREAM where blocks land in the order of plan/any_order.hpp: imports are credited in the order
/// of their grains, and so are exports by their receivers, so that each finds its slot just left.
///
/// Why it never gets stuck. Take the block of the least key, over all ranks, that has not arrived.
/// All exports before it have left, so of the imports before it at most AnyOrder::in_wait wait for
/// their holes, and planning saw to it that there is room for one more on every rank. So its
/// receiver can credit it; a sender that holds a credit has the block at hand and waits for
/// nothing. tests/model/ordered.pml checks it for all small transfer matrices.
///
/// Blocks in memory of the node are taken by their receiver, in the same order and into the same
/// holes: what it takes is credited, sent and received at once, so that the argument holds. A rank
/// whose blocks are taken looks at memory while it waits, and cannot block in MPI. Where none have
/// been taken for a while it takes what comes next into its scratch, although the holes are not
/// free, so that others can go on; then it sleeps.
class OrderedExchange final : public Exchange, public Participant {
 public:
  explicit OrderedExchange(const plan::State& state)
      : state_(state),
        sizes_(schedule::ordered_sizes(limits_of(state), state.flows.any.in_wait,
                                       state.flows.any.shift)),
        transport_(state.channel, state.ledger, state.node(),
                   {.receives = OrderedReceiver::receives(state.options, state.flows),
                    .sends = SlotSender::sends(sizes_.messages),
                    .signals = SlotSender::signals}),
        pulls_(state),
        receiver_(state, sizes_, transport_, sender_, pulls_),
        sender_(state, sizes_.messages, transport_, false, 0, &pulls_),
        most_looks_(state.channel.node_ranks().size() > cores() ? 0 : 4000) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return scratch_bytes_of(state_.options, state_.blocks,
                            receiver_.scratch_blocks() + sizes_.send_blocks());
  }
  [[nodiscard]] Pulls* pulls() override { return &pulls_; }
  [[nodiscard]] bool begins_alone() const override { return true; }
  void begin(LocalSlots& local, std::span<std::byte> scratch) override {
    local_ = &local;
    pulls_.start();
    receiver_.start(scratch.data());
    sender_.start(scratch.data() + receiver_.scratch_blocks() * state_.blocks.block_bytes);
    transport_.begin(*this);
  }
  bool progress() override { return transport_.progress(*this); }
  void finish(Report& report) override {
    transport_.run(*this);
    pulls_.finish();
    transport_.report_to(report);
    report.blocks_pulled = receiver_.blocks_pulled();
  }

  void advance() override {
    if (answer_and_credit(false)) is_patient_ = true;
  }
  [[nodiscard]] bool watches_memory() override {
    looks_ = 0;
    pulls_.wake();
    return pulls_.are_left();
  }
  [[nodiscard]] bool memory_has_changed(bool waits) override {
    for (int k = 0; k < looks_at_a_time; ++k)
      if (pulls_.look()) return is_patient_ = true;
    if (!waits) return is_short_ = !std::exchange(is_patient_, !is_patient_);
    if ((looks_ += looks_at_a_time) < most_looks_) return false;
    if (std::exchange(is_patient_, false)) return is_short_ = true;
    // Messages come without a wake.
    pulls_.sleep(std::chrono::microseconds(sender_.waits() || receiver_.expects() ? 50 : 10000));
    return pulls_.look();
  }
  /// Brings a message to its holes, or else stages one ahead of its credit.
  bool work() override {
    const bool worked = receiver_.land(*local_) || sender_.stage_ahead(*local_);
    const bool any = answer_and_credit(!worked);
    return worked || any;
  }
  void handle(const Event& event) override {
    is_patient_ = true;
    if (event.kind == Event::Kind::received)
      receiver_.received(event.index);
    else
      sender_.handle(*local_, event);
  }
  [[nodiscard]] bool done() const override { return sender_.done() && receiver_.done(); }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    return sender_.bytes_in_use() + receiver_.bytes_in_use();
  }

 private:
  /// True when anything could be answered or credited.
  /// @param takes_less  Nothing that is on its way will make room: a shorter message will do.
  bool answer_and_credit(bool takes_less) {
    bool any = false;
    for (bool progress = true; progress; any = any || progress) {
      progress = sender_.serve(*local_);
      const bool less = (is_short_ || (takes_less && !pulls_.are_left())) &&
                        (receiver_.pulls() || (!receiver_.expects() && !sender_.sends()));
      progress = receiver_.give_credit(*local_, less) || progress;
      is_short_ = false;
    }
    sender_.listen();
    return any;
  }

  const plan::State& state_;
  schedule::OrderedSizes sizes_;
  CreditTransport transport_;
  Pulls pulls_;
  OrderedReceiver receiver_;
  SlotSender sender_;
  LocalSlots* local_ = nullptr;  ///< while it runs

  // While others take blocks.
  static constexpr int looks_at_a_time = 32;  ///< between looks at MPI
  /// Some tens of microseconds, in which a chunk is copied; none where ranks share cores.
  const int most_looks_;
  int looks_ = 0;
  bool is_patient_ = true;  ///< it has not yet tried to make do with scratch
  bool is_short_ = false;   ///< it is to try that now
};

}  // namespace

std::unique_ptr<Exchange> make_stream(const plan::State& state) {
  if (state.at_once) return make_direct(state);
  if (state.flows.in_order()) return std::make_unique<OrderedExchange>(state);
  return std::make_unique<SlotExchange>(state, SlotExchange::Policy{});
}

}  // namespace valet::engine
