// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Moves what two grids share, chunk by chunk. Both sides of every pair know from the layouts how
/// many elements pass between them and in which order, so nothing but credits and data is sent.
///
/// A receiver has a few slots of one chunk, which it credits to its sources in turn; a sender packs
/// its next chunk for the rank that gave a credit, on one node straight into that slot. It serves
/// one credit at a time and waits for nothing but a send buffer, whose receive is posted: so
/// nothing can get stuck.

#include "engine/credit_transport.hpp"
#include "geometry/intersection.hpp"
#include "storage/node_memory.hpp"
#include "storage/sequence_copy.hpp"
#include <valet/redistribute.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

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

/// What one rank packs or unpacks. Pointers are null outside of the grid.
template <class Pointer>
struct ExchangePart {
  const Intersection* intersection = nullptr;
  const GridLayout* peers = nullptr;  ///< the other side
  int own_rank = -1;                  ///< this rank's number over there; -1 outside
  const SequenceCopy* copy = nullptr;
  Pointer array = nullptr;
};

class ArrayExchange final : public engine::Participant {
 public:
  using Outgoing = ExchangePart<const std::byte*>;
  using Incoming = ExchangePart<std::byte*>;

  /// Collective. Allocates all that run() needs. @throws Error out_of_memory, on all ranks.
  ArrayExchange(const mpi::Channel& channel, Ledger& ledger, const ExchangeSizes& sizes,
                const Outgoing& outgoing, const Incoming& incoming, bool share_memory);

  /// Moves everything, the own part too. Collective, blocking. Fills in what was moved.
  void run(Report& report);

  void advance() override;
  void handle(const engine::Event& event) override;
  [[nodiscard]] bool done() const override { return credits_to_come_ + chunks_to_come_ == 0; }
  [[nodiscard]] std::uint64_t bytes_in_use() const override;

 private:
  /// A rank that data goes to or comes from.
  struct Peer {
    int rank = 0;
    int grid_rank = 0;
    std::int64_t elements = 0;
    std::int64_t done = 0;  ///< sent, or credited
  };
  struct Slot {
    int source = 0;  ///< in its grid
    std::int64_t first = 0;
    std::int64_t count = 0;
    bool busy = false;
  };

  template <class Part>
  void list_peers(Vector<Peer>& peers, const Part& part, std::int64_t& own) const;
  void share_with_node(bool share_memory);
  void allocate();
  void credit_idle_slots();
  void serve();
  void receive(std::size_t slot);
  void copy_own(Report& report);
  [[nodiscard]] std::byte* memory_of(std::size_t slot) {
    return slot_memory_ + slot * sizes_.chunk_bytes();
  }
  [[nodiscard]] std::optional<std::size_t> idle_send() const;

  const mpi::Channel& channel_;
  Ledger& ledger_;
  ExchangeSizes sizes_;
  Outgoing outgoing_;
  Incoming incoming_;
  storage::NodeMemory node_;
  Vector<Peer> destinations_;  ///< ascending by rank
  Vector<Peer> sources_;       ///< that are not credited in full, in no order
  std::int64_t own_elements_ = 0;
  std::uint64_t credits_to_come_ = 0;  ///< and to be served
  std::uint64_t chunks_to_come_ = 0;
  std::uint64_t elements_received_ = 0;
  Array<std::byte> slot_bytes_, send_bytes_;
  std::byte* slot_memory_ = nullptr;
  Vector<Slot> slots_;
  std::optional<engine::CreditTransport> transport_;
  std::size_t next_source_ = 0;
  engine::Credit credit_;      ///< that waits to be served
  Peer* crediting_ = nullptr;  ///< who gave it
};

}  // namespace valet::layout
