// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stream/stream.hpp"

#include "schedule/patience.hpp"

#include <algorithm>

namespace valet::engine {

namespace {

template <class Index>
schedule::StreamLimits limits_of(const ExchangeContext& context, const plan::Flows<Index>& flows) {
  schedule::StreamLimits limits = schedule::limits_of(context.options, context.blocks,
                                                      flows.exports.size(), flows.blocks_arriving);
  limits.shares_memory = context.node.shares();
  limits.node_bytes = context.node.own().size();
  for (const plan::Outgoing<Index>& flow : flows.outgoing)
    if (context.node.of(flow.rank) != nullptr) limits.blocks_sent_on_node += flow.count;
  for (const plan::Incoming<Index>& flow : flows.incoming)
    if (context.node.is_written_by(flow.rank)) limits.blocks_received_on_node += flow.count;
  return limits;
}

}  // namespace

template <class Index>
Stream<Index>::Stream(const ExchangeContext& context, const plan::Flows<Index>& flows)
    : observer_(observe::observer_of(context.channel)),
      block_bytes_(context.blocks.block_bytes),
      least_blocks_(context.blocks.least_scratch_blocks()),
      sizes_(schedule::stream_sizes(limits_of(context, flows))) {
  const std::size_t sending = StreamSender<Index>::places_needed(sizes_);
  const std::size_t receiving = StreamReceiver<Index>::places_needed(context.options);
  requests_ = std::make_unique<mpi::Requests>(context.ledger, sending + receiving, observer_);
  receiver_ = std::make_unique<StreamReceiver<Index>>(context, flows, sizes_, *requests_, sending);
  sender_ = std::make_unique<StreamSender<Index>>(context, flows, sizes_, *requests_, 0);
  first_receiving_place_ = sending;
}

template <class Index>
std::size_t Stream<Index>::scratch_bytes() const {
  return static_cast<std::size_t>(std::max(sizes_.scratch_blocks(), least_blocks_)) * block_bytes_;
}

/// Everything that can be done without waiting. Staged messages free slots, so credits that could
/// not be sent before may be sent after.
template <class Index>
void Stream<Index>::advance(Transfer<Index>& transfer, Report& report) {
  bool progress = true;
  while (progress) {
    progress = sender_->serve(transfer, report);
    progress = sender_->stage_ahead(transfer) || progress;
    progress = receiver_->place_held(transfer, !sender_->done()) || progress;
    const bool waits = receiver_->better_waits(
        [&](std::uint64_t slot) { return sender_->frees_soon(transfer, slot); });
    progress = (!waits && receiver_->credit(transfer, report)) || progress;
  }
  sender_->listen();
  if (observer_->trace != nullptr)
    observer_->trace->counter("scratch in use",
                              sender_->bytes_in_use() + receiver_->bytes_in_use());
}

/// Takes note of a completion and of all that has completed besides, lest a peer that credits fast
/// keeps this rank from receiving: it would send everything before it receives, and its peer would
/// have to misplace what arrives.
template <class Index>
void Stream<Index>::handle(Transfer<Index>& transfer, std::optional<mpi::Completion> completion) {
  for (; completion; completion = requests_->test_any()) {
    if (completion->index < first_receiving_place_)
      sender_->completed(transfer, completion->index, completion->status);
    else
      receiver_->completed(transfer, completion->index);
  }
}

template <class Index>
void Stream<Index>::run(Transfer<Index>& transfer, std::span<std::byte> scratch, Report& report) {
  const std::size_t receive_bytes =
      static_cast<std::size_t>(sizes_.receive_blocks) * sizes_.receive_buffers * block_bytes_;
  receiver_->start(scratch.data());
  sender_->start(scratch.data() + receive_bytes);
  schedule::Patience patience(std::max(sizes_.receive_blocks, sizes_.node_blocks));
  for (advance(transfer, report); !sender_->done() || !receiver_->done();
       advance(transfer, report)) {
    std::optional<mpi::Completion> completion;
    if (!receiver_->is_full(transfer)) {
      patience.succeeded();
      completion = requests_->wait_any();
      if (!completion)
        throw Error(ErrorCode::internal, "blocks are left and there is nothing to wait for");
    } else {
      while (!completion && patience.lasts()) completion = requests_->test_any();
      if (!completion) {
        patience.failed();
        receiver_->misplace_held(transfer);
      }
    }
    handle(transfer, completion);
  }
  while (requests_->wait_any()) {
    // Only credits are left: they were received, or their data would not have come.
  }
}

template <class Index>
void Stream<Index>::leak() noexcept {
  static_cast<void>(requests_.release());
  static_cast<void>(sender_.release());
  static_cast<void>(receiver_.release());
}

template class Stream<std::uint32_t>;
template class Stream<std::uint64_t>;

}  // namespace valet::engine
