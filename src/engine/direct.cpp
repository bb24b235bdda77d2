// SPDX-License-Identifier: BSD-3-Clause
#include "engine/direct.hpp"

namespace valet::engine {

Direct::Direct(const ExchangeContext& context, const plan::Flows& flows)
    : context_(context),
      flows_(flows),
      messages_(context.channel, context.ledger, flows.incoming.size(), flows.outgoing.size()),
      imports_(context.ledger, flows.in_order() ? flows.incoming.size() : 0, flows.any.grain),
      holes_(context.ledger, flows) {}

void Direct::receive_all(std::byte* arriving) {
  for (const plan::Incoming& flow : flows_.incoming) {
    const std::size_t bytes = bytes_of(flow.count);
    messages_.receive(flow.rank, arriving, bytes);
    arriving += bytes;
  }
}

void Direct::send_all(Transfer& transfer, std::byte* leaving) {
  for (const plan::Outgoing& flow : flows_.outgoing)
    transfer.gather(transfer.exports(flow, 0, flow.count), leaving + bytes_of(flow.first));
  for (const plan::Outgoing& flow : flows_.outgoing) {
    std::byte* const packed = leaving + bytes_of(flow.first);
    transfer.finish(packed, bytes_of(flow.count));
    messages_.send(flow.rank, packed, bytes_of(flow.count));
    context_.observer().moved(flow.count);
  }
}

void Direct::place(Transfer& transfer, const std::byte* packed) const {
  for (const plan::Incoming& flow : flows_.incoming) {
    transfer.place(packed, flow.cursor, flow.count, Transfer::Misplace::if_needed);
    packed += bytes_of(flow.count);
  }
}

/// The same in the order in which imports take their holes.
void Direct::land(Transfer& transfer, const std::byte* packed) {
  for_each_landing(flows_, imports_, holes_, [&](const schedule::FlowPiece& piece, SlotList slots) {
    transfer.land(packed + bytes_of(flows_.incoming[piece.flow].cursor + piece.first), slots);
  });
}

void Direct::note_in_use(std::uint64_t blocks) const {
  if (observe::Trace* const trace = context_.observer().trace)
    trace->counter("scratch in use", bytes_of(blocks));
}

void Direct::run(Transfer& transfer, std::span<std::byte> scratch, Report& report) {
  std::byte* const leaving = scratch.data();
  std::byte* const arriving = leaving + bytes_of(flows_.exports.size());
  messages_.restart();
  note_in_use(flows_.exports.size() + flows_.blocks_arriving);
  receive_all(arriving);
  messages_.meet();
  send_all(transfer, leaving);
  for (std::size_t s = 0; s < flows_.incoming.size(); ++s) {
    messages_.wait_for(s);
    context_.observer().moved(flows_.incoming[s].count);
  }
  messages_.wait_for_sends();
  report.messages += messages_.messages();
  note_in_use(flows_.blocks_arriving);
  flows_.in_order() ? land(transfer, arriving) : place(transfer, arriving);
  note_in_use(0);
}

}  // namespace valet::engine
