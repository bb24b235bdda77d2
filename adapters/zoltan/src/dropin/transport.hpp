// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Streams of messages between ranks, on the engine's credits. Both ends of a pair know the number
/// and the bytes of its messages, so a credit only says that the next one may come, and where to
/// write it in memory shared on a node.

#include "engine/credit_transport.hpp"
#include "mpi/channel.hpp"
#include "plan/flows.hpp"
#include "storage/node_memory.hpp"
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace valet::zoltan {

/// A rank that objects are sent to or come from.
struct Peer {
  int rank = 0;
  std::uint64_t count = 0;  ///< objects
};

/// One message; `peer` counts in the list of destinations.
struct OutgoingMessage {
  std::size_t peer = 0;
  std::uint64_t bytes = 0;
  std::byte* data = nullptr;
};

/// What a rank sends: batches of messages.
class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  virtual ~Outgoing() = default;
  /// Appends the messages of the next batch, none of them empty and none to the same destination.
  /// False when there is no further batch.
  virtual bool next(Vector<OutgoingMessage>& messages) = 0;
  /// Makes that batch. The data of a message is where its destination shares memory for it, or
  /// null; afterwards where it is: there, or in memory that stays as it is until the next call with
  /// the same number of a buffer.
  virtual void make(std::size_t buffer, std::span<OutgoingMessage> messages) = 0;
  [[nodiscard]] virtual std::size_t buffers() const { return 2; }
};

/// Where a rank receives.
class Incoming {
 public:
  Incoming() = default;
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  virtual ~Incoming() = default;
  /// Where the next message of a source goes, never empty. False when there is none.
  virtual bool next(std::size_t peer, MemoryPiece& memory) = 0;
  /// A message is there.
  virtual void arrived(std::uint64_t /*bytes*/) {}
};

/// Memory shared with ranks of the node, in slots into which sources write messages. They stay in
/// the cache, where the arrivals of a whole migration do not. Empty until connect().
class NodeSlots {
 public:
  explicit NodeSlots(Ledger& ledger);
  /// Collective among peers; ascending by rank. Where the system does not let processes share, or
  /// there is no room for a slot, messages go by MPI.
  /// @param room        Bytes for the own slots and those of the destinations; 0 to take no part.
  /// @param slot_bytes  Of the largest message that goes through memory.
  void connect(const mpi::Channel& channel, Ledger& ledger, std::span<const Peer> destinations,
               std::span<const Peer> sources, std::uint64_t room, std::uint64_t slot_bytes);
  [[nodiscard]] const storage::NodeMemory& memory() const { return memory_; }
  /// A slot for a message; nullptr where none is idle or it does not fit.
  [[nodiscard]] std::byte* take(std::uint64_t bytes);
  void give_back(std::byte* slot) { idle_.push_back(slot); }

 private:
  storage::NodeMemory memory_;
  Vector<std::byte*> idle_;  ///< the most recently used last
  std::uint64_t slot_bytes_ = 0;
};

class Transport final : private engine::Participant {
 public:
  static constexpr std::size_t window = 2;  ///< credits that a source has at a time

  /// Destinations and sources ascending by rank; may contain this rank itself.
  ///
  /// @param turn  Runs without an agreement of all ranks between them need different ones below
  ///              mpi::phase_tags: a rank may be done with one of them before its peer.
  Transport(const mpi::Channel& channel, Ledger& ledger, NodeSlots& node,
            std::span<const Peer> destinations, std::span<const Peer> sources, int turn = 0);

  /// Sends and receives everything. Batches are made in their order, each when all its messages may
  /// go, so that the order of callbacks does not depend on what arrives when. Collective among
  /// peers; nothing is pending on return.
  void run(Outgoing& outgoing, Incoming& incoming);

  [[nodiscard]] std::uint64_t messages() const { return transport_.messages(); }

 private:
  struct Posted {
    MemoryPiece memory;
    std::byte* slot = nullptr;  ///< where the source writes
    bool waits = false;         ///< it came before its credit had left
  };
  struct Destination {
    std::array<std::uint64_t, window> offsets{};  ///< from its credits, oldest first
    std::size_t credits = 0;
  };

  void advance() override;
  void handle(const engine::Event& event) override;
  [[nodiscard]] bool done() const override;
  [[nodiscard]] std::uint64_t bytes_in_use() const override { return ledger_.current_bytes(); }

  void give(std::size_t index);
  void received(std::size_t index);
  void note_credit(int rank, const engine::Credit& credit);
  [[nodiscard]] bool has_credits() const;
  void make_batch();
  [[nodiscard]] std::size_t send_slot(std::size_t buffer, std::size_t peer) const {
    return buffer * destinations_.size() + peer;
  }

  const Ledger& ledger_;
  NodeSlots& node_;
  std::span<const Peer> destinations_;
  std::span<const Peer> sources_;
  engine::CreditTransport transport_;
  Vector<Posted> posted_;  ///< `window` for each source
  Vector<Destination> to_;
  Vector<OutgoingMessage> batch_;  ///< the next one
  Outgoing* outgoing_ = nullptr;
  Incoming* incoming_ = nullptr;
  std::size_t buffer_ = 0;               ///< the next one
  std::array<std::size_t, 2> unsent_{};  ///< messages of each buffer
  std::uint64_t messages_expected_ = 0;  ///< credited, or to be
  bool has_batch_ = false;
  bool exhausted_ = true;
};

}  // namespace valet::zoltan
