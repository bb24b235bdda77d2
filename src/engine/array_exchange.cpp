// SPDX-License-Identifier: BSD-3-Clause
#include "engine/array_exchange.hpp"

#include <algorithm>
#include <utility>

namespace valet::layout {
namespace {

// Measured: what stays in the second-level cache between the copy in and the copy out is quickest.
constexpr std::size_t most_chunk_bytes = std::size_t{128} << 10;
constexpr std::size_t most_slots = 8;
constexpr std::size_t most_send_buffers = 8;
/// Chunks that half of the memory should hold, so that several sources are at work.
constexpr std::uint64_t wanted_chunks = 8;

std::int64_t chunks_of(std::int64_t elements, std::int64_t chunk) {
  return (elements + chunk - 1) / chunk;
}

/// With the slots for which there is room in memory shared with the node, where there is some: it
/// is as large as the least that a sharing rank would give, of which each holds a chunk.
ExchangeSizes limited_to(const storage::NodeMemory& node, ExchangeSizes sizes) {
  if (!node.own().empty())
    sizes.slots = std::min(sizes.slots, node.own().size() / sizes.chunk_bytes());
  return sizes;
}

}  // namespace

std::int64_t choose_chunk_elements(std::uint64_t bytes, std::size_t element_bytes) {
  const std::uint64_t half = bytes / 2;
  const std::uint64_t chunk =
      std::min<std::uint64_t>(most_chunk_bytes, half / wanted_chunks) / element_bytes;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(chunk, half >= element_bytes ? 1 : 0));
}

ExchangeSizes exchange_sizes(std::uint64_t bytes, std::size_t element_bytes,
                             std::int64_t chunk_elements) {
  ExchangeSizes sizes{.element_bytes = element_bytes, .chunk_elements = chunk_elements};
  const std::uint64_t chunks = std::max<std::uint64_t>(bytes / 2 / sizes.chunk_bytes(), 1);
  sizes.slots = std::min<std::uint64_t>(chunks, most_slots);
  sizes.send_buffers = std::min<std::uint64_t>(chunks, most_send_buffers);
  return sizes;
}

std::uint64_t most_send_bytes(std::uint64_t bytes, std::size_t element_bytes) {
  return std::min<std::uint64_t>(bytes / 2,
                                 most_send_buffers * std::max(most_chunk_bytes, element_bytes));
}

ArrayExchange::ArrayExchange(const mpi::Channel& channel, Ledger& ledger,
                             const ExchangeSizes& sizes, ArrayPeers&& peers,
                             const OutgoingPart& outgoing, const IncomingPart& incoming,
                             const storage::NodeMemory& node)
    : channel_(channel),
      sizes_(limited_to(node, sizes)),
      outgoing_(outgoing),
      incoming_(incoming),
      node_(node),
      peers_(std::move(peers)),
      receives_(!peers_.sources.empty()),
      slots_(ledger),
      transport_(channel, ledger, node,
                 {.receives = sizes_.slots,
                  .sends = sizes_.send_buffers,
                  .signals = sizes_.send_buffers}) {
  for (const ArrayPeer& peer : peers_.destinations)
    credits_to_come_ += static_cast<std::uint64_t>(chunks_of(peer.elements, sizes_.chunk_elements));
  for (const ArrayPeer& peer : peers_.sources)
    chunks_to_come_ += static_cast<std::uint64_t>(chunks_of(peer.elements, sizes_.chunk_elements));
  const bool sends_data = std::ranges::any_of(peers_.destinations, [this](const ArrayPeer& peer) {
    return node_.of(peer.rank) == nullptr;
  });
  // The own part needs one of them: no slot is free for it while others write.
  send_buffers_ = sends_data ? sizes_.send_buffers : peers_.own_elements > 0 ? 1 : 0;
  slots_.resize(sizes_.slots);
  // Sources behind this rank first, so that nobody is everybody's first.
  Vector<ArrayPeer>& sources = peers_.sources;
  std::rotate(sources.begin(),
              std::ranges::upper_bound(sources, channel_.rank(), {}, &ArrayPeer::rank),
              sources.end());
}

void ArrayExchange::run(std::span<std::byte> scratch, Report& report) {
  slot_memory_ = own_slots() > 0 ? scratch.data() : node_.own().data();
  send_memory_ = scratch.data() + own_slots() * sizes_.chunk_bytes();
  advance();
  copy_own(report);
  transport_.run(*this);
  transport_.report_to(report);
  report.blocks_received += static_cast<std::uint64_t>(peers_.elements_received);
  report.blocks_sent += static_cast<std::uint64_t>(peers_.elements_sent);
  report.bytes_sent += static_cast<std::uint64_t>(peers_.elements_sent) * sizes_.element_bytes;
}

void ArrayExchange::advance() {
  serve();
  credit_idle_slots();
  if (credits_to_come_ > 0 && crediting_ == nullptr) transport_.listen();
}

void ArrayExchange::handle(const engine::Event& event) {
  if (event.kind == engine::Event::Kind::credit) {
    credit_ = event.credit;
    crediting_ = &*std::ranges::lower_bound(peers_.destinations, event.rank, {}, &ArrayPeer::rank);
  } else if (event.kind == engine::Event::Kind::received) {
    receive(event.index);
  }
}

/// Gives slots to the sources in turn.
void ArrayExchange::credit_idle_slots() {
  for (std::size_t s = 0; s < slots_.size() && !peers_.sources.empty(); ++s) {
    if (slots_[s].busy || !transport_.can_receive(s)) continue;
    if (next_source_ >= peers_.sources.size()) next_source_ = 0;
    ArrayPeer& source = peers_.sources[next_source_];
    Slot& slot = slots_[s];
    slot = {.source = source.grid_rank,
            .first = source.done,
            .count = std::min(sizes_.chunk_elements, source.elements - source.done),
            .busy = true};
    transport_.give(s, source.rank, memory_of(s),
                    static_cast<std::size_t>(slot.count) * sizes_.element_bytes, {});
    source.done += slot.count;
    if (source.done == source.elements) {
      source = peers_.sources.back();
      peers_.sources.pop_back();
    } else {
      ++next_source_;
    }
  }
}

std::uint64_t ArrayExchange::bytes_in_use() const {
  std::uint64_t chunks = 0;
  for (const Slot& slot : slots_) chunks += slot.busy ? 1 : 0;
  if (send_buffers_ > 0)
    for (std::size_t k = 0; k < sizes_.send_buffers; ++k) chunks += transport_.can_send(k) ? 0 : 1;
  return chunks * sizes_.chunk_bytes();
}

std::optional<std::size_t> ArrayExchange::idle_send() const {
  for (std::size_t k = 0; k < sizes_.send_buffers; ++k)
    if (transport_.can_send(k)) return k;
  return std::nullopt;
}

/// Packs the next chunk for the rank whose credit waits, once there is a place to send from. What
/// occupies that place completes, and this is called again.
void ArrayExchange::serve() {
  if (crediting_ == nullptr) return;
  ArrayPeer& peer = *crediting_;
  const bool writes = engine::CreditTransport::is_for_writing(credit_);
  const std::optional<std::size_t> buffer = idle_send();
  if (writes ? !transport_.can_signal() : !buffer) return;
  const SequenceCopy::Stretch stretch{peer.grid_rank, peer.done,
                                      std::min(sizes_.chunk_elements, peer.elements - peer.done)};
  std::byte* const packed = writes ? transport_.memory_of(peer.rank, credit_)
                                   : send_memory_ + *buffer * sizes_.chunk_bytes();
  const std::size_t bytes = static_cast<std::size_t>(stretch.count) * sizes_.element_bytes;
  observe::Observer& observer = *observe::observer_of(channel_);
  {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::gather, "gather",
                                  {.bytes = bytes});
    outgoing_.copy->pack(outgoing_.array, stretch, packed);
  }
  if (writes)
    transport_.signal(peer.rank, bytes);
  else
    transport_.send(*buffer, peer.rank, packed, bytes);
  observer.moved(static_cast<std::uint64_t>(stretch.count));
  peer.done += stretch.count;
  crediting_ = nullptr;
  --credits_to_come_;
}

void ArrayExchange::receive(std::size_t index) {
  Slot& slot = slots_[index];
  observe::Observer& observer = *observe::observer_of(channel_);
  const observe::TraceSpan span(
      observer.trace, observe::TraceKind::scatter, "scatter",
      {.bytes = static_cast<std::uint64_t>(slot.count) * sizes_.element_bytes});
  incoming_.copy->unpack(memory_of(index), {slot.source, slot.first, slot.count}, incoming_.array);
  observer.moved(static_cast<std::uint64_t>(slot.count));
  slot.busy = false;
  --chunks_to_come_;
}

/// Through the first send buffer, before anything else is packed into it.
void ArrayExchange::copy_own(Report& report) {
  if (peers_.own_elements == 0) return;
  const observe::TraceSpan span(observe::observer_of(channel_)->trace, observe::TraceKind::copy,
                                "own part");
  const int to = outgoing_.own_rank, from = incoming_.own_rank;
  std::byte* const packed = send_memory_;
  for (std::int64_t first = 0; first < peers_.own_elements; first += sizes_.chunk_elements) {
    const std::int64_t count = std::min(sizes_.chunk_elements, peers_.own_elements - first);
    outgoing_.copy->pack(outgoing_.array, {to, first, count}, packed);
    incoming_.copy->unpack(packed, {from, first, count}, incoming_.array);
    observe::observer_of(channel_)->moved(2 * static_cast<std::uint64_t>(count));
  }
  report.local_copies += static_cast<std::uint64_t>(peers_.own_elements);
}

}  // namespace valet::layout
