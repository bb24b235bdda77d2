// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share, chunk by chunk. Both sides of every pair know from the layouts how
/// many elements pass between them and in which order, so nothing but credits and data is sent.
///
/// A receiver has a few slots of one chunk, which it credits to its sources in turn; a sender packs
/// its next chunk for the rank that gave a credit, on one node straight into that slot. It serves
/// one credit at a time and waits for nothing but a send buffer, whose receive is posted: so
/// nothing can get stuck.

#include "engine/array_part.hpp"
#include "engine/credit_transport.hpp"
#include "storage/node_memory.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace valet::layout {

/// How memory is used on one rank.
struct ExchangeSizes {
  std::size_t element_bytes = 1;
  std::int64_t chunk_elements = 1;  ///< equal on all ranks
  std::size_t slots = 1;
  std::size_t send_buffers = 1;

  [[nodiscard]] std::size_t chunk_bytes() const {
    return static_cast<std::size_t>(chunk_elements) * element_bytes;
  }
};

/// The largest chunk for which half of `bytes` holds several; 0 where it does not hold an element.
[[nodiscard]] std::int64_t choose_chunk_elements(std::uint64_t bytes, std::size_t element_bytes);
/// Slots and buffers of such chunks, for the two halves of `bytes`.
[[nodiscard]] ExchangeSizes exchange_sizes(std::uint64_t bytes, std::size_t element_bytes,
                                           std::int64_t chunk_elements);
/// What the send buffers take of `bytes` at most, whatever the chunk.
[[nodiscard]] std::uint64_t most_send_bytes(std::uint64_t bytes, std::size_t element_bytes);

class ArrayExchange final : public engine::Participant {
 public:
  /// Allocates all that run() needs but scratch. Local.
  /// @param peers  Are taken.
  /// @param node   Shared with ranks of the node; must outlive this.
  ArrayExchange(const mpi::Channel& channel, Ledger& ledger, const ExchangeSizes& sizes,
                ArrayPeers&& peers, const OutgoingPart& outgoing, const IncomingPart& incoming,
                const storage::NodeMemory& node);

  /// Scratch that run() needs. [local]
  [[nodiscard]] std::size_t scratch_bytes() const {
    return (own_slots() + send_buffers_) * sizes_.chunk_bytes();
  }
  /// Moves everything, the own part too. Collective, blocking. Fills in what was moved. Where it
  /// throws, scratch may not be freed.
  void run(std::span<std::byte> scratch, Report& report);

  void advance() override;
  void handle(const engine::Event& event) override;
  [[nodiscard]] bool done() const override { return credits_to_come_ + chunks_to_come_ == 0; }
  [[nodiscard]] std::uint64_t bytes_in_use() const override;

 private:
  struct Slot {
    int source = 0;  ///< in its grid
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool busy = false;
  };

  /// Those that are not in memory shared with the node.
  [[nodiscard]] std::size_t own_slots() const {
    return node_.own().empty() && receives_ ? sizes_.slots : 0;
  }
  void credit_idle_slots();
  void serve();
  void receive(std::size_t slot);
  void copy_own(Report& report);
  [[nodiscard]] std::byte* memory_of(std::size_t slot) {
    return slot_memory_ + slot * sizes_.chunk_bytes();
  }
  [[nodiscard]] std::optional<std::size_t> idle_send() const;

  const mpi::Channel& channel_;
  ExchangeSizes sizes_;
  OutgoingPart outgoing_;
  IncomingPart incoming_;
  const storage::NodeMemory& node_;
  ArrayPeers peers_;  ///< sources: that are not credited in full, in no order
  bool receives_;
  std::size_t send_buffers_ = 0;
  std::uint64_t credits_to_come_ = 0;  ///< and to be served
  std::uint64_t chunks_to_come_ = 0;
  std::byte* slot_memory_ = nullptr;
  std::byte* send_memory_ = nullptr;
  Vector<Slot> slots_;
  engine::CreditTransport transport_;
  std::size_t next_source_ = 0;
  engine::Credit credit_;           ///< that waits to be served
  ArrayPeer* crediting_ = nullptr;  ///< who gave it
};

}  // namespace valet::layout
