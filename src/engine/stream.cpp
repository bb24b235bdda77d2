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

#include "engine/slots/slot_exchange.hpp"

namespace valet::engine {

std::unique_ptr<Exchange> make_stream(const plan::State& state) {
  if (state.flows.in_order()) return make_ordered(state);
  return std::make_unique<SlotExchange>(state, SlotExchange::Policy{});
}

}  // namespace valet::engine
