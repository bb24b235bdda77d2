// SPDX-License-Identifier: BSD-3-Clause
#include "engine/array_exchange.hpp"

#include "mpi/agreement.hpp"

#include <algorithm>
#include <new>

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

ArrayExchange::ArrayExchange(const mpi::Channel& channel, Ledger& ledger,
                             const ExchangeSizes& sizes, const Outgoing& outgoing,
                             const Incoming& incoming, bool share_memory)
    : channel_(channel),
      ledger_(ledger),
      sizes_(sizes),
      outgoing_(outgoing),
      incoming_(incoming),
      node_(ledger),
      destinations_(ledger),
      sources_(ledger),
      slots_(ledger) {
  list_peers(destinations_, outgoing_, own_elements_);
  list_peers(sources_, incoming_, own_elements_);
  for (const Peer& peer : destinations_)
    credits_to_come_ += static_cast<std::uint64_t>(chunks_of(peer.elements, sizes_.chunk_elements));
  for (const Peer& peer : sources_) {
    chunks_to_come_ += static_cast<std::uint64_t>(chunks_of(peer.elements, sizes_.chunk_elements));
    elements_received_ += static_cast<std::uint64_t>(peer.elements);
  }
  share_with_node(share_memory);
  std::optional<Diagnostic> diagnostic;
  try {
    allocate();
  } catch (const std::bad_alloc&) {
    diagnostic =
        Diagnostic{ErrorCode::out_of_memory,
                   "the system has no memory for buffers within the budget; set a smaller one"};
  }
  mpi::agree(channel_, diagnostic);
}

/// Ranks of the other side that something is shared with, ascending; the own part apart.
template <class Part>
void ArrayExchange::list_peers(Vector<Peer>& peers, const Part& part, std::int64_t& own) const {
  if (part.intersection == nullptr) return;
  const Intersection& shared = *part.intersection;
  const int end = shared.theirs().ranks();
  std::size_t count = 0;
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) ++count;
  peers.reserve(count);
  for (int g = shared.next_peer(0); g < end; g = shared.next_peer(g + 1)) {
    const std::vector<int>& ranks = part.peers->ranks;
    const int rank = ranks.empty() ? g : ranks[static_cast<std::size_t>(g)];
    if (rank == channel_.rank())
      own = shared.elements(g);
    else
      peers.push_back({.rank = rank, .grid_rank = g, .elements = shared.elements(g)});
  }
  std::ranges::sort(peers, {}, &Peer::rank);
}

void ArrayExchange::share_with_node(bool share_memory) {
  const auto ranks = [this](const Vector<Peer>& peers) {
    Array<int> list(ledger_, peers.size());
    std::ranges::transform(peers, list.begin(), &Peer::rank);
    return list;
  };
  const Array<int> to = ranks(destinations_), from = ranks(sources_);
  node_.connect(channel_, {to.data(), to.size()}, {from.data(), from.size()},
                share_memory ? sizes_.slots * sizes_.chunk_bytes() : 0);
}

void ArrayExchange::allocate() {
  if (!node_.own().empty()) {
    // As large as the least that a sharing rank would give, of which each holds a chunk.
    sizes_.slots = std::min(sizes_.slots, node_.own().size() / sizes_.chunk_bytes());
    slot_memory_ = node_.own().data();
  } else if (!sources_.empty() || own_elements_ > 0) {
    slot_bytes_ = Array<std::byte>(ledger_, sizes_.slots * sizes_.chunk_bytes());
    slot_memory_ = slot_bytes_.data();
  }
  const bool sends_data = std::ranges::any_of(
      destinations_, [this](const Peer& peer) { return node_.of(peer.rank) == nullptr; });
  // The own part needs one of them: no slot is free for it while others write.
  const std::size_t buffers = sends_data ? sizes_.send_buffers : own_elements_ > 0 ? 1 : 0;
  send_bytes_ = {ledger_, buffers * sizes_.chunk_bytes()};
  slots_.resize(sizes_.slots);
  transport_.emplace(
      channel_, ledger_, node_,
      engine::CreditTransport::Slots{
          .receives = sizes_.slots, .sends = sizes_.send_buffers, .signals = sizes_.send_buffers});
  // Sources behind this rank first, so that nobody is everybody's first.
  const auto above = std::ranges::upper_bound(sources_, channel_.rank(), {}, &Peer::rank);
  std::rotate(sources_.begin(), above, sources_.end());
}

void ArrayExchange::run(Report& report) {
  report.shared_bytes = node_.own().size();
  advance();
  copy_own(report);
  transport_->run(*this);
  transport_->report_to(report);
  report.blocks_received += elements_received_;
  for (const Peer& peer : destinations_) {
    report.blocks_sent += static_cast<std::uint64_t>(peer.elements);
    report.bytes_sent += static_cast<std::uint64_t>(peer.elements) * sizes_.element_bytes;
  }
  report.neighbours += destinations_.size();
}

void ArrayExchange::advance() {
  serve();
  credit_idle_slots();
  if (credits_to_come_ > 0 && crediting_ == nullptr) transport_->listen();
}

void ArrayExchange::handle(const engine::Event& event) {
  if (event.kind == engine::Event::Kind::credit) {
    credit_ = event.credit;
    crediting_ = &*std::ranges::lower_bound(destinations_, event.rank, {}, &Peer::rank);
  } else if (event.kind == engine::Event::Kind::received) {
    receive(event.index);
  }
}

/// Gives slots to the sources in turn.
void ArrayExchange::credit_idle_slots() {
  for (std::size_t s = 0; s < slots_.size() && !sources_.empty(); ++s) {
    if (slots_[s].busy || !transport_->can_receive(s)) continue;
    if (next_source_ >= sources_.size()) next_source_ = 0;
    Peer& source = sources_[next_source_];
    Slot& slot = slots_[s];
    slot = {.source = source.grid_rank,
            .first = source.done,
            .count = std::min(sizes_.chunk_elements, source.elements - source.done),
            .busy = true};
    transport_->give(s, source.rank, memory_of(s),
                     static_cast<std::size_t>(slot.count) * sizes_.element_bytes, {});
    source.done += slot.count;
    if (source.done == source.elements) {
      source = sources_.back();
      sources_.pop_back();
    } else {
      ++next_source_;
    }
  }
}

std::uint64_t ArrayExchange::bytes_in_use() const {
  std::uint64_t chunks = 0;
  for (const Slot& slot : slots_) chunks += slot.busy ? 1 : 0;
  if (send_bytes_.size() > 0)
    for (std::size_t k = 0; k < sizes_.send_buffers; ++k) chunks += transport_->can_send(k) ? 0 : 1;
  return chunks * sizes_.chunk_bytes();
}

std::optional<std::size_t> ArrayExchange::idle_send() const {
  for (std::size_t k = 0; k < sizes_.send_buffers; ++k)
    if (transport_->can_send(k)) return k;
  return std::nullopt;
}

/// Packs the next chunk for the rank whose credit waits, once there is a place to send from. What
/// occupies that place completes, and this is called again.
void ArrayExchange::serve() {
  if (crediting_ == nullptr) return;
  Peer& peer = *crediting_;
  const bool writes = engine::CreditTransport::is_for_writing(credit_);
  const std::optional<std::size_t> buffer = idle_send();
  if (writes ? !transport_->can_signal() : !buffer) return;
  const SequenceCopy::Stretch stretch{peer.grid_rank, peer.done,
                                      std::min(sizes_.chunk_elements, peer.elements - peer.done)};
  std::byte* const packed = writes ? transport_->memory_of(peer.rank, credit_)
                                   : send_bytes_.data() + *buffer * sizes_.chunk_bytes();
  const std::size_t bytes = static_cast<std::size_t>(stretch.count) * sizes_.element_bytes;
  observe::Observer& observer = *observe::observer_of(channel_);
  {
    const observe::TraceSpan span(observer.trace, observe::TraceKind::gather, "gather",
                                  {.bytes = bytes});
    outgoing_.copy->pack(outgoing_.array, stretch, packed);
  }
  if (writes)
    transport_->signal(peer.rank, bytes);
  else
    transport_->send(*buffer, peer.rank, packed, bytes);
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
  if (own_elements_ == 0) return;
  const observe::TraceSpan span(observe::observer_of(channel_)->trace, observe::TraceKind::copy,
                                "own part");
  const int to = outgoing_.own_rank, from = incoming_.own_rank;
  std::byte* const packed = send_bytes_.data();
  for (std::int64_t first = 0; first < own_elements_; first += sizes_.chunk_elements) {
    const std::int64_t count = std::min(sizes_.chunk_elements, own_elements_ - first);
    outgoing_.copy->pack(outgoing_.array, {to, first, count}, packed);
    incoming_.copy->unpack(packed, {from, first, count}, incoming_.array);
    observe::observer_of(channel_)->moved(2 * static_cast<std::uint64_t>(count));
  }
  report.local_copies += static_cast<std::uint64_t>(own_elements_);
}

}  // namespace valet::layout
