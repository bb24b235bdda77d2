// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/ordered/ordered_receiver.hpp"
#include "engine/slots/slot_sender.hpp"

namespace valet::engine {

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
  OrderedExchange(const ExchangeContext& context, const plan::Flows& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override;
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

  void advance() override;
  bool work() override;
  void handle(const Event& event) override;
  [[nodiscard]] bool done() const override { return sender_.done() && receiver_.done(); }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    return sender_.bytes_in_use() + receiver_.bytes_in_use();
  }

 private:
  bool answer_and_credit(bool takes_less);

  const ExchangeContext context_;
  schedule::OrderedSizes sizes_;
  CreditTransport transport_;
  OrderedReceiver receiver_;
  SlotSender sender_;
  Transfer* transfer_ = nullptr;  ///< while it runs
};

}  // namespace valet::engine
