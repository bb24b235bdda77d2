// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ordered/ordered_exchange.hpp"

#include "engine/slots/limits.hpp"

namespace valet::engine {

OrderedExchange::OrderedExchange(const ExchangeContext& context, const plan::Flows& flows)
    : context_(context),
      sizes_(
          schedule::ordered_sizes(limits_of(context, flows), flows.any.in_wait, flows.any.shift)),
      transport_(context.channel, context.ledger, context.node,
                 {.receives = OrderedReceiver::receives(context.options, flows),
                  .sends = SlotSender::sends(sizes_.messages),
                  .signals = SlotSender::signals}),
      receiver_(context, flows, sizes_, transport_),
      sender_(context, flows, sizes_.messages, transport_, false) {}

std::size_t OrderedExchange::scratch_bytes() const {
  return context_.scratch_bytes(receiver_.scratch_blocks() + sizes_.send_blocks());
}

void OrderedExchange::advance() { answer_and_credit(false); }

/// True when anything could be answered or credited.
/// @param takes_less  Nothing that is on its way will make room: a shorter message will do.
bool OrderedExchange::answer_and_credit(bool takes_less) {
  const auto blocks_left = [this](std::uint32_t flow) { return sender_.blocks_left_of(flow); };
  bool any = false;
  for (bool progress = true; progress; any = any || progress) {
    progress = sender_.serve(*transfer_);
    const bool less = takes_less && !receiver_.expects() && !sender_.sends();
    progress = receiver_.give_credit(*transfer_, less, blocks_left) || progress;
  }
  sender_.listen();
  return any;
}

/// Brings a message to its holes, or else stages one ahead of its credit.
bool OrderedExchange::work() {
  const auto blocks_left = [this](std::uint32_t flow) { return sender_.blocks_left_of(flow); };
  const bool worked = receiver_.land(*transfer_, blocks_left) || sender_.stage_ahead(*transfer_);
  const bool any = answer_and_credit(!worked);
  return worked || any;
}

void OrderedExchange::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::credit: sender_.credited(event.rank, event.credit); break;
    case Event::Kind::received: receiver_.received(event.index); break;
    case Event::Kind::sent: sender_.sent(*transfer_, event.index); break;
    case Event::Kind::signalled: sender_.signalled(); break;
    default: break;
  }
}

void OrderedExchange::run(Transfer& transfer, std::span<std::byte> scratch, Report& report) {
  transfer_ = &transfer;
  receiver_.start(scratch.data());
  sender_.start(scratch.data() + receiver_.scratch_blocks() * context_.blocks.block_bytes);
  transport_.run(*this);
  transport_.report_to(report);
}

}  // namespace valet::engine
