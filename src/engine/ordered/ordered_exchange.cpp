// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ordered/ordered_receiver.hpp"

namespace valet::engine {
namespace {

/// STREAM where blocks land in the order of plan/holes.hpp: imports are credited in the order of
/// their grains, and so are exports by their receivers, so that each finds its slot just left.
///
/// Why it never gets stuck. Take the block of the least key, over all ranks, that has not arrived.
/// All exports before it have left, so of the imports before it at most AnyOrder::in_wait wait for
/// their holes, and planning saw to it that there is room for one more on every rank. So its
/// receiver can credit it; a sender that holds a credit has the block at hand and waits for
/// nothing. tests/model/ordered.pml checks it for all small transfer matrices.
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
        receiver_(state, sizes_, transport_, sender_),
        sender_(state, sizes_.messages, transport_, false) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return scratch_bytes_of(state_.options, state_.blocks,
                            receiver_.scratch_blocks() + sizes_.send_blocks());
  }
  void run(LocalSlots& local, std::span<std::byte> scratch, Report& report) override {
    local_ = &local;
    receiver_.start(scratch.data());
    sender_.start(scratch.data() + receiver_.scratch_blocks() * state_.blocks.block_bytes);
    transport_.run(*this);
    transport_.report_to(report);
  }

  void advance() override { answer_and_credit(false); }
  /// Brings a message to its holes, or else stages one ahead of its credit.
  bool work() override {
    const bool worked = receiver_.land(*local_) || sender_.stage_ahead(*local_);
    const bool any = answer_and_credit(!worked);
    return worked || any;
  }
  void handle(const Event& event) override {
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
      const bool less = takes_less && !receiver_.expects() && !sender_.sends();
      progress = receiver_.give_credit(*local_, less) || progress;
    }
    sender_.listen();
    return any;
  }

  const plan::State& state_;
  schedule::OrderedSizes sizes_;
  CreditTransport transport_;
  OrderedReceiver receiver_;
  SlotSender sender_;
  LocalSlots* local_ = nullptr;  ///< while it runs
};

}  // namespace

std::unique_ptr<Exchange> make_ordered(const plan::State& state) {
  return std::make_unique<OrderedExchange>(state);
}

}  // namespace valet::engine
