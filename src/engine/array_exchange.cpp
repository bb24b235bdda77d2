// SPDX-License-Identifier: BSD-3-Clause
#include "engine/array_exchange.hpp"

#include "mpi/message.hpp"
#include "mpi/tags.hpp"
#include "observe/observer.hpp"

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
      destinations_(LedgerAllocator<Peer>(ledger)),
      sources_(LedgerAllocator<Peer>(ledger)),
      slots_(LedgerAllocator<Slot>(ledger)) {
  list_peers(destinations_, outgoing_, own_elements_);
  list_peers(sources_, incoming_, own_elements_);
  for (const Peer& peer : destinations_)
    credits_to_come_ += static_cast<std::uint64_t>(chunks_of(peer.elements, sizes_.chunk_elements));
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
    const int rank = part.peers->communicator_rank(g);
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
  requests_.emplace(ledger_, first_slot_place() + 2 * sizes_.slots, channel_.hooks());
  // Sources behind this rank first, so that nobody is everybody's first.
  const auto above = std::ranges::upper_bound(sources_, channel_.rank(), {}, &Peer::rank);
  std::rotate(sources_.begin(), above, sources_.end());
}

void ArrayExchange::run(Report& report) {
  report.shared_bytes = node_.own().size();
  credit_idle_slots(report);
  listen();
  copy_own(report);
  note_in_use();
  while (const auto completion = requests_->wait_any()) {
    completed(*completion, report);
    note_in_use();
  }
  for (const Peer& peer : destinations_) {
    report.blocks_sent += static_cast<std::uint64_t>(peer.elements);
    report.bytes_sent += static_cast<std::uint64_t>(peer.elements) * sizes_.element_bytes;
  }
  report.neighbours += destinations_.size();
}

/// Gives slots to the sources in turn.
void ArrayExchange::credit_idle_slots(Report& report) {
  for (std::size_t s = 0; s < slots_.size() && !sources_.empty(); ++s) {
    if (!requests_->idle(data_place(s)) || !requests_->idle(credit_place(s))) continue;
    if (next_source_ >= sources_.size()) next_source_ = 0;
    Peer& source = sources_[next_source_];
    Slot& slot = slots_[s];
    slot = {.source = source.grid_rank,
            .first = source.done,
            .count = std::min(sizes_.chunk_elements, source.elements - source.done),
            .credit = s * sizes_.chunk_bytes()};
    const std::size_t bytes = node_.is_written_by(source.rank)
                                  ? 0
                                  : static_cast<std::size_t>(slot.count) * sizes_.element_bytes;
    mpi::post_receive(channel_, memory_of(s), bytes, source.rank, mpi::tag_data,
                      (*requests_)[data_place(s)]);
    mpi::post_send(channel_, &slot.credit, sizeof slot.credit, source.rank, mpi::tag_credit,
                   (*requests_)[credit_place(s)]);
    const std::uint64_t credited = static_cast<std::uint64_t>(slot.count) * sizes_.element_bytes;
    observe::observer_of(channel_)->credits(&(*requests_)[data_place(s)], source.rank, credited);
    ++report.credits;
    source.done += slot.count;
    if (source.done == source.elements) {
      source = sources_.back();
      sources_.pop_back();
    } else {
      ++next_source_;
    }
  }
}

/// Scratch that holds elements, or waits for them, for the trace.
void ArrayExchange::note_in_use() const {
  observe::Trace* const trace = observe::observer_of(channel_)->trace;
  if (trace == nullptr) return;
  std::uint64_t chunks = 0;
  for (std::size_t s = 0; s < slots_.size(); ++s) chunks += requests_->idle(data_place(s)) ? 0 : 1;
  for (std::size_t place = 1; place < first_slot_place(); ++place)
    chunks += requests_->idle(place) || send_bytes_.size() == 0 ? 0 : 1;
  trace->counter("scratch in use", chunks * sizes_.chunk_bytes());
}

void ArrayExchange::listen() {
  if (credits_to_come_ == 0 || crediting_ != nullptr || !requests_->idle(0)) return;
  mpi::post_receive(channel_, &incoming_credit_, sizeof incoming_credit_, MPI_ANY_SOURCE,
                    mpi::tag_credit, (*requests_)[0]);
}

std::optional<std::size_t> ArrayExchange::idle_send_place() const {
  for (std::size_t place = 1; place < first_slot_place(); ++place)
    if (requests_->idle(place)) return place;
  return std::nullopt;
}

/// Packs the next chunk for the rank whose credit waits, once there is a place to send from.
void ArrayExchange::serve(Report& report) {
  if (crediting_ == nullptr) return;
  const std::optional<std::size_t> place = idle_send_place();
  if (!place) return;  // one of them completes, and this is called again
  Peer& peer = *crediting_;
  const SequenceCopy::Stretch stretch{peer.grid_rank, peer.done,
                                      std::min(sizes_.chunk_elements, peer.elements - peer.done)};
  std::byte* const shared = node_.of(peer.rank);
  std::byte* const packed = shared != nullptr
                                ? shared + incoming_credit_
                                : send_bytes_.data() + (*place - 1) * sizes_.chunk_bytes();
  const std::size_t packed_bytes = static_cast<std::size_t>(stretch.count) * sizes_.element_bytes;
  {
    const observe::TraceSpan span(observe::observer_of(channel_)->trace, observe::TraceKind::gather,
                                  "gather", {.bytes = packed_bytes});
    outgoing_.copy->pack(outgoing_.array, stretch, packed);
  }
  mpi::post_send(channel_, packed, shared != nullptr ? 0 : packed_bytes, peer.rank, mpi::tag_data,
                 (*requests_)[*place]);
  observe::observer_of(channel_)->sends(&(*requests_)[*place], peer.rank, packed_bytes);
  observe::observer_of(channel_)->moved(static_cast<std::uint64_t>(stretch.count));
  peer.done += stretch.count;
  crediting_ = nullptr;
  ++report.messages;
  listen();
}

void ArrayExchange::completed(const mpi::Completion& completion, Report& report) {
  const std::size_t place = completion.index;
  if (place == 0) {
    crediting_ =
        &*std::ranges::lower_bound(destinations_, completion.status.MPI_SOURCE, {}, &Peer::rank);
    --credits_to_come_;
    serve(report);
  } else if (place < first_slot_place()) {
    serve(report);
  } else {
    const std::size_t s = (place - first_slot_place()) / 2;
    if (place == data_place(s)) receive(slots_[s], report);
    credit_idle_slots(report);
  }
}

void ArrayExchange::receive(Slot& slot, Report& report) {
  const observe::TraceSpan span(
      observe::observer_of(channel_)->trace, observe::TraceKind::scatter, "scatter",
      {.bytes = static_cast<std::uint64_t>(slot.count) * sizes_.element_bytes});
  incoming_.copy->unpack(slot_memory_ + slot.credit, {slot.source, slot.first, slot.count},
                         incoming_.array);
  observe::observer_of(channel_)->moved(static_cast<std::uint64_t>(slot.count));
  report.blocks_received += static_cast<std::uint64_t>(slot.count);
}

/// Through the first send buffer, before anything else is packed into it.
void ArrayExchange::copy_own(Report& report) {
  if (own_elements_ == 0) return;
  const observe::TraceSpan span(observe::observer_of(channel_)->trace, observe::TraceKind::copy,
                                "own part");
  const int to = outgoing_.peers->grid_rank, from = incoming_.peers->grid_rank;
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
