// SPDX-License-Identifier: BSD-3-Clause
#include "engine/slots/slot_exchange.hpp"

#include "engine/slots/limits.hpp"

#include <algorithm>

namespace valet::engine {

SlotExchange::SlotExchange(const ExchangeContext& context, const plan::Flows& flows,
                           const Policy& policy)
    : context_(context),
      sizes_(schedule::stream_sizes(limits_of(context, flows))),
      transport_(context.channel, context.ledger, context.node,
                 {.receives = SlotReceiver::receives(context.options),
                  .sends = SlotSender::sends(sizes_),
                  .signals = SlotSender::signals,
                  .others = policy.others}),
      receiver_(context, flows, sizes_, transport_, policy.is_limited),
      sender_(context, flows, sizes_, transport_, policy.is_limited, policy.most_ahead) {}

/// Staged messages free slots, so credits that could not be given before may be given after.
void SlotExchange::advance() {
  bool progress = true;
  while (progress) {
    progress = sender_.serve(*transfer_);
    progress = sender_.stage_ahead(*transfer_) || progress;
    progress = receiver_.place_held(*transfer_, !sender_.done()) || progress;
    const bool waits = receiver_.better_waits(
        [&](std::uint64_t slot) { return sender_.frees_soon(*transfer_, slot); });
    progress = (!waits && receiver_.give_credit(*transfer_)) || progress;
  }
  sender_.listen();
}

void SlotExchange::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::credit: sender_.credited(event.rank, event.credit); break;
    case Event::Kind::received: receiver_.received(*transfer_, event.index); break;
    case Event::Kind::sent: sender_.sent(*transfer_, event.index); break;
    case Event::Kind::signalled: sender_.signalled(); break;
    default: break;
  }
}

bool SlotExchange::is_full() {
  if (receiver_.is_full(*transfer_)) return true;
  patience_->succeeded();
  return false;
}

void SlotExchange::force() {
  patience_->failed();
  receiver_.misplace_held(*transfer_);
}

void SlotExchange::run(Transfer& transfer, std::span<std::byte> scratch, Report& report) {
  transfer_ = &transfer;
  patience_.emplace(std::max(sizes_.receive_blocks, sizes_.node_blocks));
  const std::size_t receive_bytes = static_cast<std::size_t>(sizes_.receive_blocks) *
                                    sizes_.receive_buffers * context_.blocks.block_bytes;
  receiver_.start(scratch.data());
  sender_.start(scratch.data() + receive_bytes);
  start(transfer);
  move(report);
  transport_.report_to(report);
}

}  // namespace valet::engine
