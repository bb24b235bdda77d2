// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/slots/slot_receiver.hpp"
#include "engine/slots/slot_sender.hpp"
#include "schedule/patience.hpp"

#include <algorithm>
#include <optional>

namespace valet::engine {

/// Blocks from slots to slots over the credit transport: all flows in proportion, or those that a
/// policy allows, one after another. Why it never gets stuck: engine/stream.cpp.
class SlotExchange : public Exchange, public Participant {
 public:
  /// What a policy adds.
  struct Policy {
    bool is_limited = false;  ///< blocks move as allow() of the sender and of the receiver says
    /// Destinations at most that may credit before allow() here, as they were allowed earlier.
    std::size_t most_ahead = 0;
    std::size_t others = 0;  ///< requests of its own
  };
  SlotExchange(const plan::State& state, const Policy& policy)
      : state_(state),
        sizes_(schedule::stream_sizes(limits_of(state))),
        transport_(state.channel, state.ledger, state.node(),
                   {.receives = SlotReceiver::receives(state.options),
                    .sends = SlotSender::sends(sizes_),
                    .signals = SlotSender::signals,
                    .others = policy.others}),
        receiver_(state, sizes_, transport_, policy.is_limited),
        sender_(state, sizes_, transport_, policy.is_limited, policy.most_ahead) {}

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return scratch_bytes_of(state_.options, state_.blocks, sizes_.scratch_blocks());
  }
  [[nodiscard]] bool begins_alone() const override { return true; }
  void begin(LocalSlots& local, std::span<std::byte> scratch) override {
    local_ = &local;
    patience_.emplace(std::max(sizes_.receive_blocks, sizes_.node_blocks));
    const std::size_t receive_bytes = static_cast<std::size_t>(sizes_.receive_blocks) *
                                      sizes_.receive_buffers * state_.blocks.block_bytes;
    receiver_.start(scratch.data());
    sender_.start(scratch.data() + receive_bytes);
    start(local);
    transport_.begin(*this);
  }
  bool progress() override { return transport_.progress(*this); }
  void finish(Report& report) override {
    transport_.run(*this);
    transport_.report_to(report);
  }

  /// Staged messages free slots, so credits that could not be given before may be given after.
  void advance() override {
    bool progress = true;
    while (progress) {
      progress = sender_.serve(*local_);
      progress = sender_.stage_ahead(*local_) || progress;
      progress = receiver_.store_held(*local_, !sender_.done()) || progress;
      const bool waits = receiver_.better_waits(
          [&](std::uint64_t slot) { return sender_.frees_soon(*local_, slot); });
      progress = (!waits && receiver_.give_credit(*local_)) || progress;
    }
    sender_.listen();
  }
  void handle(const Event& event) override {
    if (event.kind == Event::Kind::received)
      receiver_.received(*local_, event.index);
    else
      sender_.handle(*local_, event);
  }
  [[nodiscard]] bool done() const override { return sender_.done() && receiver_.done(); }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    return sender_.bytes_in_use() + receiver_.bytes_in_use();
  }
  [[nodiscard]] bool is_full() override {
    if (receiver_.is_full(*local_)) return true;
    patience_->succeeded();
    return false;
  }
  [[nodiscard]] bool looks_again() override { return patience_->lasts(); }
  void force() override {
    patience_->failed();
    receiver_.misplace_held(*local_);
  }

 protected:
  /// Before the first credit: what `buffers` has room for is ready.
  virtual void start(const LocalSlots& /*local*/) {}

  const plan::State& state_;
  const schedule::StreamSizes sizes_;
  CreditTransport transport_;
  SlotReceiver receiver_;
  SlotSender sender_;

 private:
  std::optional<schedule::Patience> patience_;
  LocalSlots* local_ = nullptr;  ///< while it runs
};

}  // namespace valet::engine
