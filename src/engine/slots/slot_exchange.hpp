// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/slots/slot_receiver.hpp"
#include "engine/slots/slot_sender.hpp"
#include "schedule/patience.hpp"

#include <optional>

namespace valet::engine {

/// Blocks from slots to slots over the credit transport: all flows in proportion, or those that a
/// policy allows, one after another. Why it never gets stuck: stream/stream.hpp.
class SlotExchange : public Exchange, public Participant {
 public:
  /// What a policy adds.
  struct Policy {
    bool is_limited = false;  ///< blocks move as allow() of the sender and of the receiver says
    /// Destinations at most that may credit before allow() here, as they were allowed earlier.
    std::size_t most_ahead = 0;
    std::size_t others = 0;  ///< request slots of its own
  };
  SlotExchange(const ExchangeContext& context, const plan::Flows& flows, const Policy& policy);

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return context_.scratch_bytes(sizes_.scratch_blocks());
  }
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

  void advance() override;
  void handle(const Event& event) override;
  [[nodiscard]] bool done() const override { return sender_.done() && receiver_.done(); }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    return sender_.bytes_in_use() + receiver_.bytes_in_use();
  }
  [[nodiscard]] bool is_full() override;
  [[nodiscard]] bool looks_again() override { return patience_->lasts(); }
  void force() override;

 protected:
  /// Before the first credit: what `buffers` has room for is ready.
  virtual void start(const Transfer& /*transfer*/) {}
  /// Lets everything move; a policy may do more.
  virtual void move(Report& /*report*/) { transport_.run(*this); }

  const ExchangeContext context_;

  [[nodiscard]] CreditTransport& transport() { return transport_; }
  [[nodiscard]] SlotSender& sender() { return sender_; }
  [[nodiscard]] SlotReceiver& receiver() { return receiver_; }
  [[nodiscard]] const schedule::StreamSizes& sizes() const { return sizes_; }

 private:
  schedule::StreamSizes sizes_;
  CreditTransport transport_;
  SlotReceiver receiver_;
  SlotSender sender_;
  std::optional<schedule::Patience> patience_;
  Transfer* transfer_ = nullptr;  ///< while it runs
};

}  // namespace valet::engine
