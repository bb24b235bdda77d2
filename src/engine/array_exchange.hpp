// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share, chunk by chunk. Both sides of every pair know from the layouts how
/// many elements pass between them and in which order, so nothing but credits and data is sent.
/// A chunk is what one cell has for one other: a source gets credits for its cells one after the
/// other.
///
/// A receiver has a few buffers of one chunk, which it credits to its sources in turn; a sender
/// packs its next chunk for the rank that gave a credit, on one node straight into that buffer. It
/// serves one credit at a time and waits for nothing but a send buffer, whose receive is posted: so
/// nothing can get stuck.

#include "engine/array_part.hpp"
#include "engine/credit_transport.hpp"
#include "storage/node_memory.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

namespace valet::layout {

/// How memory is used on one rank.
struct ExchangeSizes {
  // Measured: what stays in the second-level cache between the copy in and the copy out is
  // quickest.
  static constexpr std::size_t most_chunk_bytes = std::size_t{128} << 10;
  static constexpr std::size_t most_receive_buffers = 8;
  static constexpr std::size_t most_send_buffers = 8;

  std::size_t element_bytes = 1;
  std::int64_t chunk_elements = 1;  ///< equal on all ranks
  std::size_t receive_buffers = 1;
  std::size_t send_buffers = 1;

  [[nodiscard]] std::size_t chunk_bytes() const {
    return static_cast<std::size_t>(chunk_elements) * element_bytes;
  }
};

/// The largest chunk for which half of `bytes` holds several; 0 where it does not hold an element.
[[nodiscard]] inline std::int64_t choose_chunk_elements(std::uint64_t bytes,
                                                        std::size_t element_bytes) {
  constexpr std::uint64_t wanted_chunks = 8;  // in each half, so that several sources are at work
  const std::uint64_t half = bytes / 2;
  const std::uint64_t chunk =
      std::min<std::uint64_t>(ExchangeSizes::most_chunk_bytes, half / wanted_chunks) /
      element_bytes;
  return static_cast<std::int64_t>(std::max<std::uint64_t>(chunk, half >= element_bytes ? 1 : 0));
}
/// Receive and send buffers of such chunks, for the two halves of `bytes`.
[[nodiscard]] inline ExchangeSizes exchange_sizes(std::uint64_t bytes, std::size_t element_bytes,
                                                  std::int64_t chunk_elements) {
  ExchangeSizes sizes{.element_bytes = element_bytes, .chunk_elements = chunk_elements};
  const std::uint64_t chunks = std::max<std::uint64_t>(bytes / 2 / sizes.chunk_bytes(), 1);
  sizes.receive_buffers = std::min<std::uint64_t>(chunks, ExchangeSizes::most_receive_buffers);
  sizes.send_buffers = std::min<std::uint64_t>(chunks, ExchangeSizes::most_send_buffers);
  return sizes;
}
/// What the send buffers take of `bytes` at most, whatever the chunk.
[[nodiscard]] inline std::uint64_t most_send_bytes(std::uint64_t bytes, std::size_t element_bytes) {
  return std::min<std::uint64_t>(
      bytes / 2,
      ExchangeSizes::most_send_buffers * std::max(ExchangeSizes::most_chunk_bytes, element_bytes));
}

/// @tparam Copies  Copy out and in, as ArrayCopies do.
template <class Copies = ArrayCopies>
class ArrayExchange final : public engine::Participant {
 public:
  /// Allocates all that run() needs but scratch. Local.
  /// @param peers  Are taken.
  /// @param node   Shared with ranks of the node; must outlive this.
  ArrayExchange(const mpi::Channel& channel, Ledger& ledger, const ExchangeSizes& sizes,
                ArrayPeers&& peers, const Copies& copies, const storage::NodeMemory& node)
      : sizes_(limited_to(node, sizes)),
        copies_(copies),
        node_(node),
        peers_(std::move(peers)),
        receives_(!peers_.sources.empty()),
        sources_(ledger),
        buffers_(ledger),
        transport_(channel, ledger, node,
                   {.receives = sizes_.receive_buffers,
                    .sends = sizes_.send_buffers,
                    .signals = sizes_.send_buffers}) {
    for (const ArrayPeer& peer : peers_.destinations) credits_to_come_ += chunks_of(peer);
    for (const ArrayPeer& peer : peers_.sources) chunks_to_come_ += chunks_of(peer);
    const bool sends_data = std::ranges::any_of(peers_.destinations, [this](const ArrayPeer& peer) {
      return node_.of(peer.rank) == nullptr;
    });
    // The own part needs one of them: others may write into every receive buffer meanwhile.
    send_buffers_ = sends_data ? sizes_.send_buffers : peers_.own_elements > 0 ? 1 : 0;
    buffers_.resize(sizes_.receive_buffers);
    rotate_behind(peers_.sources, channel.rank());
    sources_.reserve(count_ranks(peers_.sources));
    for_each_rank(peers_.sources, [&](auto cells) { sources_.push_back(cells); });
  }

  /// Scratch that run() needs. [local]
  [[nodiscard]] std::size_t scratch_bytes() const {
    return (own_receive_buffers() + send_buffers_) * sizes_.chunk_bytes();
  }
  /// Moves everything, the own part too. Collective, blocking. Fills in what was moved. Where it
  /// throws, scratch may not be freed.
  void run(std::span<std::byte> scratch, Report& report) {
    receive_memory_ = own_receive_buffers() > 0 ? scratch.data() : node_.own().data();
    send_memory_ = scratch.data() + own_receive_buffers() * sizes_.chunk_bytes();
    advance();
    copy_own();
    transport_.run(*this);
    transport_.report_to(report);
    peers_.report_to(report, copies_);
  }

  void advance() override {
    serve();
    credit_idle_buffers();
    if (credits_to_come_ > 0 && crediting_ == nullptr) transport_.listen();
  }
  void handle(const engine::Event& event) override {
    if (event.kind == engine::Event::Kind::credit) {
      credit_ = event.credit;
      // Its first cell that is not done.
      crediting_ = &*std::ranges::partition_point(peers_.destinations, [&](const ArrayPeer& peer) {
        return peer.rank < event.rank || (peer.rank == event.rank && peer.done == peer.elements);
      });
    } else if (event.kind == engine::Event::Kind::received) {
      receive(event.index);
    }
  }
  [[nodiscard]] bool done() const override { return credits_to_come_ + chunks_to_come_ == 0; }
  [[nodiscard]] std::uint64_t bytes_in_use() const override {
    std::uint64_t chunks = 0;
    for (const ReceiveBuffer& buffer : buffers_) chunks += buffer.busy ? 1 : 0;
    if (send_buffers_ > 0)
      for (std::size_t k = 0; k < sizes_.send_buffers; ++k)
        chunks += transport_.can_send(k) ? 0 : 1;
    return chunks * sizes_.chunk_bytes();
  }

 private:
  struct ReceiveBuffer {
    ArrayRun run;  ///< of its source
    bool busy = false;
  };

  /// With the receive buffers that fit the memory shared with the node, where there is some. Its
  /// size is the least that any rank sharing it would give, and that holds a chunk.
  static ExchangeSizes limited_to(const storage::NodeMemory& node, ExchangeSizes sizes) {
    if (!node.own().empty())
      sizes.receive_buffers =
          std::min(sizes.receive_buffers, node.own().size() / sizes.chunk_bytes());
    return sizes;
  }
  [[nodiscard]] std::uint64_t chunks_of(const ArrayPeer& peer) const {
    return static_cast<std::uint64_t>((peer.elements + sizes_.chunk_elements - 1) /
                                      sizes_.chunk_elements);
  }
  [[nodiscard]] ArrayRun next_run(const ArrayPeer& peer) const {
    return peer.run(peer.done, std::min(sizes_.chunk_elements, peer.elements - peer.done));
  }
  /// Receive buffers that are not in memory shared with the node.
  [[nodiscard]] std::size_t own_receive_buffers() const {
    return node_.own().empty() && receives_ ? sizes_.receive_buffers : 0;
  }
  /// Gives receive buffers to the sources in turn.
  void credit_idle_buffers() {
    for (std::size_t s = 0; s < buffers_.size() && !sources_.empty(); ++s) {
      if (buffers_[s].busy || !transport_.can_receive(s)) continue;
      if (next_source_ >= sources_.size()) next_source_ = 0;
      std::span<ArrayPeer>& cells = sources_[next_source_];
      ArrayPeer& source = cells.front();
      const ArrayRun run = next_run(source);
      buffers_[s] = {run, true};
      transport_.give(s, source.rank, memory_of(s), copies_.bytes_of(run.elements.count), {});
      source.done += run.elements.count;
      if (source.done == source.elements) cells = cells.subspan(1);
      if (cells.empty()) {
        cells = sources_.back();
        sources_.pop_back();
      } else {
        ++next_source_;
      }
    }
  }
  /// Packs the next chunk for the rank whose credit waits, once a send buffer is idle. The message
  /// that occupies it completes, and then this is called again.
  void serve() {
    if (crediting_ == nullptr) return;
    ArrayPeer& peer = *crediting_;
    const bool writes = engine::CreditTransport::is_for_writing(credit_);
    const std::optional<std::size_t> buffer = idle_send();
    if (writes ? !transport_.can_signal() : !buffer) return;
    const ArrayRun run = next_run(peer);
    std::byte* const packed = writes ? transport_.memory_of(peer.rank, credit_)
                                     : send_memory_ + *buffer * sizes_.chunk_bytes();
    const std::size_t bytes = copies_.bytes_of(run.elements.count);
    pack(copies_, run, packed);
    if (writes)
      transport_.signal(peer.rank, bytes);
    else
      transport_.send(*buffer, peer.rank, packed, bytes);
    peer.done += run.elements.count;
    crediting_ = nullptr;
    --credits_to_come_;
  }
  void receive(std::size_t index) {
    ReceiveBuffer& buffer = buffers_[index];
    unpack(copies_, buffer.run, memory_of(index));
    buffer.busy = false;
    --chunks_to_come_;
  }
  /// Through the first send buffer, before anything else is packed into it.
  void copy_own() {
    if (peers_.own_elements == 0) return;
    const observe::TraceSpan span(copies_.observer.trace, observe::TraceKind::copy, "own part");
    for (std::size_t k = 0; k < peers_.own_sent.size(); ++k) {
      const ArrayPeer& sent = peers_.own_sent[k];
      for (std::int64_t first = 0; first < sent.elements; first += sizes_.chunk_elements) {
        const std::int64_t count = std::min(sizes_.chunk_elements, sent.elements - first);
        copies_.copy_out(sent.run(first, count), send_memory_);
        copies_.copy_in(peers_.own_received[k].run(first, count), send_memory_);
        copies_.observer.moved(2 * static_cast<std::uint64_t>(count));
      }
    }
  }
  [[nodiscard]] std::byte* memory_of(std::size_t buffer) {
    return receive_memory_ + buffer * sizes_.chunk_bytes();
  }
  [[nodiscard]] std::optional<std::size_t> idle_send() const {
    for (std::size_t k = 0; k < sizes_.send_buffers; ++k)
      if (transport_.can_send(k)) return k;
    return std::nullopt;
  }

  ExchangeSizes sizes_;
  Copies copies_;
  const storage::NodeMemory& node_;
  ArrayPeers peers_;
  bool receives_;
  Vector<std::span<ArrayPeer>> sources_;  ///< what is not credited in full, by rank in no order
  std::size_t send_buffers_ = 0;
  std::uint64_t credits_to_come_ = 0;  ///< and to be served
  std::uint64_t chunks_to_come_ = 0;
  std::byte* receive_memory_ = nullptr;
  std::byte* send_memory_ = nullptr;
  Vector<ReceiveBuffer> buffers_;
  engine::CreditTransport transport_;
  std::size_t next_source_ = 0;
  engine::Credit credit_;           ///< that waits to be served
  ArrayPeer* crediting_ = nullptr;  ///< who gave it
};

}  // namespace valet::layout
