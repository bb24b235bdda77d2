// SPDX-License-Identifier: BSD-3-Clause
#include "engine/direct.hpp"

namespace valet::engine {

Direct::Direct(const ExchangeContext& context, const plan::Flows& flows)
    : context_(context),
      flows_(flows),
      transport_(context.channel, context.ledger, context.node,
                 {.receives = flows.incoming.size(), .sends = flows.outgoing.size()}),
      imports_(context.ledger, flows.in_order() ? flows.incoming.size() : 0, flows.any.grain),
      holes_(context.ledger, flows) {}

void Direct::give_all() {
  std::byte* memory = arriving_;
  for (std::size_t s = 0; s < flows_.incoming.size(); ++s) {
    const plan::Incoming& flow = flows_.incoming[s];
    const std::uint64_t bytes = flow.count * context_.blocks.block_bytes;
    transport_.give(s, flow.rank, memory, bytes, {});
    memory += bytes;
  }
}

void Direct::gather_all(Transfer& transfer) {
  for (const plan::Outgoing& flow : flows_.outgoing)
    transfer.gather(transfer.exports(flow, 0, flow.count),
                    leaving_ + flow.first * context_.blocks.block_bytes);
}

void Direct::advance() {
  if (credits_to_come_ > 0) transport_.listen();
}

void Direct::handle(const Event& event) {
  if (event.kind == Event::Kind::received) {
    --to_arrive_;
    context_.observer().moved(flows_.incoming[event.index].count);
  } else if (event.kind == Event::Kind::credit) {
    --credits_to_come_;
    const std::size_t d = flow_from(flows_.outgoing, event.rank);
    const plan::Outgoing& flow = flows_.outgoing[d];
    const std::byte* const packed = leaving_ + flow.first * context_.blocks.block_bytes;
    const std::uint64_t bytes = flow.count * context_.blocks.block_bytes;
    transfer_->finish(packed, bytes);
    transport_.send(d, event.rank, packed, bytes);
    context_.observer().moved(flow.count);
  }
}

void Direct::place(Transfer& transfer) {
  const std::byte* packed = arriving_;
  for (const plan::Incoming& flow : flows_.incoming) {
    transfer.place(packed, flow.cursor, flow.count, Transfer::Misplace::if_needed);
    packed += flow.count * context_.blocks.block_bytes;
  }
}

/// The same in the order in which imports take their holes.
void Direct::land(Transfer& transfer) {
  for_each_landing(flows_, imports_, holes_, [&](const schedule::FlowPiece& piece, SlotList slots) {
    transfer.land(arriving_ + (flows_.incoming[piece.flow].cursor + piece.first) *
                                  context_.blocks.block_bytes,
                  slots);
  });
}

void Direct::run(Transfer& transfer, std::span<std::byte> scratch, Report& report) {
  const std::size_t block_bytes = context_.blocks.block_bytes;
  leaving_ = scratch.data();
  arriving_ = leaving_ + flows_.exports.size() * block_bytes;
  credits_to_come_ = flows_.outgoing.size();
  to_arrive_ = flows_.incoming.size();
  in_use_ = (flows_.exports.size() + flows_.blocks_arriving) * block_bytes;
  transfer_ = &transfer;
  give_all();
  gather_all(transfer);
  transport_.run(*this);
  transport_.report_to(report);
  in_use_ = flows_.blocks_arriving * block_bytes;
  transport_.note_in_use(*this);
  flows_.in_order() ? land(transfer) : place(transfer);
  in_use_ = 0;
  transport_.note_in_use(*this);
}

}  // namespace valet::engine
