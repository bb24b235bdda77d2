// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Streams of messages between ranks, on the engine's credits. Both ends of a pair know the number
/// and the bytes of its messages, so a credit only says that the next one may come, and where to
/// write it in memory shared on a node.

#include "engine/credit_transport.hpp"
#include "mpi/channel.hpp"
#include "mpi/sparse_exchange.hpp"
#include "plan/flows.hpp"
#include "storage/node_memory.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/storage_backend.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace valet::objects {

/// A rank that objects are sent to or come from, and how many.
using Peer = mpi::SparseCount;

/// Those of all of them.
[[nodiscard]] inline std::uint64_t count_of(std::span<const Peer> peers) {
  std::uint64_t count = 0;
  for (const Peer& peer : peers) count += peer.count;
  return count;
}

/// The first that compare(a, b) finds wrong with what two lists have of a rank: the ranks of both,
/// which ascend, and zeros where one list lacks the rank.
template <class Compare>
[[nodiscard]] std::optional<Diagnostic> first_difference(std::span<const Peer> list_a,
                                                         std::span<const Peer> list_b,
                                                         Compare&& compare) {
  for (std::size_t i = 0, k = 0; i < list_a.size() || k < list_b.size();) {
    Peer a{.rank = i < list_a.size() ? list_a[i].rank : list_b[k].rank};
    if (k < list_b.size()) a.rank = std::min(a.rank, list_b[k].rank);
    Peer b{.rank = a.rank};
    if (i < list_a.size() && list_a[i].rank == a.rank) a = list_a[i++];
    if (k < list_b.size() && list_b[k].rank == b.rank) b = list_b[k++];
    if (auto diagnostic = compare(a, b)) return diagnostic;
  }
  return std::nullopt;
}

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

/// Memory shared with ranks of the node, and how it is used. Arrivals of a migration that fit the
/// own segment are placed in it, and sources write them there; others it takes in slots, from which
/// they are copied. Slots stay in the cache, where the arrivals of a whole migration do not. Both
/// ranks of a pair know whether they share.
class NodeSlots {
 public:
  /// None until use().
  explicit NodeSlots(Ledger& ledger) : none_(ledger), memory_(&none_), idle_(ledger) {}

  /// @param memory      Must live as long as this.
  /// @param slot_bytes  Of the largest message that goes through a slot.
  /// @param holds_all   The own segment is the place of all arrivals, not slots. @throws
  ///                    std::bad_alloc.
  void use(const storage::NodeMemory& memory, std::uint64_t slot_bytes, bool holds_all) {
    memory_ = &memory;
    slot_bytes_ = slot_bytes;
    const std::span<std::byte> own = memory.own();
    has_all_arrivals_ = holds_all && !own.empty();
    if (holds_all) return;
    idle_.reserve(own.size() / slot_bytes_);
    for (std::uint64_t at = 0; at + slot_bytes_ <= own.size(); at += slot_bytes_)
      idle_.push_back(own.data() + at);
  }

  [[nodiscard]] const storage::NodeMemory& memory() const { return *memory_; }
  [[nodiscard]] bool has_all_arrivals() const { return has_all_arrivals_; }
  /// A slot for a message; nullptr where none is idle or it does not fit.
  [[nodiscard]] std::byte* take(std::uint64_t bytes) {
    if (idle_.empty() || bytes > slot_bytes_) return nullptr;
    std::byte* const slot = idle_.back();
    idle_.pop_back();
    return slot;
  }

  void give_back(std::byte* slot) { idle_.push_back(slot); }

 private:
  storage::NodeMemory none_;
  const storage::NodeMemory* memory_;
  Vector<std::byte*> idle_;  ///< the most recently used last
  std::uint64_t slot_bytes_ = 0;
  bool has_all_arrivals_ = false;
};

class Transport final : private engine::Participant {
 public:
  /// Credits that a source has at a time: as many as it has slots in shared memory. Those used last
  /// are used first, so that few are while both ranks run and they stay in the cache; the others
  /// are for ranks that take turns on one core.
  static constexpr std::size_t slots = 6;
  /// Where all arrivals have their place in it already, a step needs no further ones: every wait
  /// for a credit may cost a change of the running process.
  static constexpr std::size_t most_credits = 8;

  /// Destinations and sources ascending by rank; may contain this rank itself.
  ///
  /// @param turn  Runs without an agreement of all ranks between them need different ones below
  ///              mpi::phase_tags: a rank may be done with one of them before its peer.
  Transport(const mpi::Channel& channel, Ledger& ledger, NodeSlots& node,
            std::span<const Peer> destinations, std::span<const Peer> sources, int turn = 0)
      : ledger_(ledger),
        node_(node),
        destinations_(destinations),
        sources_(sources),
        window_(node.has_all_arrivals() && sources.size() <= slots ? most_credits : slots),
        transport_(channel, ledger, node.memory(),
                   {.receives = sources.size() * window_, .sends = 2 * destinations.size()}),
        posted_(sources.size() * window_, ledger),
        to_(destinations.size(), ledger),
        batch_(ledger) {
    transport_.set_credit_tag(mpi::tag_phase_credit + turn);
    batch_.reserve(destinations.size());
  }

  /// Sends and receives everything. Batches are made in their order, each when all its messages may
  /// go, so that the order of callbacks does not depend on what arrives when. Collective among
  /// peers; nothing is pending on return.
  void run(Outgoing& outgoing, Incoming& incoming) {
    outgoing_ = &outgoing;
    incoming_ = &incoming;
    messages_expected_ = 0;
    exhausted_ = false;
    for (std::size_t index = 0; index < posted_.size(); ++index) give(index);
    transport_.run(*this);
  }

  [[nodiscard]] std::uint64_t messages() const { return transport_.messages(); }

 private:
  struct Posted {
    MemoryPiece memory;
    std::byte* slot = nullptr;  ///< where the source writes
    bool waits = false;         ///< it came before its credit had left
  };
  struct Destination {
    std::array<std::uint64_t, most_credits> offsets{};  ///< from its credits, oldest first
    std::size_t credits = 0;
  };

  void advance() override {
    while (!exhausted_) {
      if (!has_batch_) {
        batch_.clear();
        has_batch_ = outgoing_->next(batch_);
        exhausted_ = !has_batch_;
        continue;
      }
      if (!has_credits()) {
        transport_.listen();  // there is one to come, so no receive is left in the end
        return;
      }
      if (unsent_[buffer_] > 0) return;
      make_batch();
      has_batch_ = false;
      buffer_ = (buffer_ + 1) % outgoing_->buffers();
    }
  }

  void handle(const engine::Event& event) override {
    using Kind = engine::Event::Kind;
    switch (event.kind) {
      case Kind::credit: note_credit(event.rank, event.credit); break;
      case Kind::received: received(event.index); break;
      case Kind::credited:
        if (!posted_[event.index].waits) break;
        --messages_expected_;
        give(event.index);
        break;
      case Kind::sent: --unsent_[event.index / destinations_.size()]; break;
      default: break;
    }
  }

  [[nodiscard]] bool done() const override {
    return exhausted_ && messages_expected_ == 0 && unsent_[0] + unsent_[1] == 0;
  }

  [[nodiscard]] std::uint64_t bytes_in_use() const override { return ledger_.current_bytes(); }

  /// Lets a source send its next message, if it has one.
  void give(std::size_t index) {
    const std::size_t source = index / window_;
    Posted& posted = posted_[index];
    posted = {};
    if (!incoming_->next(source, posted.memory)) return;
    const int rank = sources_[source].rank;
    if (transport_.node().is_written_by(rank) && !node_.memory().contains(posted.memory.data))
      posted.slot = node_.take(posted.memory.bytes);
    transport_.give(index, rank, posted.slot != nullptr ? posted.slot : posted.memory.data,
                    posted.memory.bytes, {});
    ++messages_expected_;
  }

  void received(std::size_t index) {
    Posted& posted = posted_[index];
    if (posted.slot != nullptr) {
      std::memcpy(posted.memory.data, posted.slot, posted.memory.bytes);
      node_.give_back(posted.slot);
    }
    incoming_->arrived(posted.memory.bytes);
    posted.waits = !transport_.can_receive(index);
    if (posted.waits) return;
    --messages_expected_;
    give(index);
  }

  void note_credit(int rank, const engine::Credit& credit) {
    Destination& to = to_[plan::flow_from(destinations_, rank)];
    to.offsets[to.credits++] = credit.offset_bytes;
  }

  /// Whether all messages of the next batch may go.
  [[nodiscard]] bool has_credits() const {
    return std::ranges::all_of(
        batch_, [&](const OutgoingMessage& message) { return to_[message.peer].credits > 0; });
  }

  /// Where the destination of a message shares memory for it, or null.
  [[nodiscard]] std::byte* shared_for(const OutgoingMessage& message) const {
    const engine::Credit credit{.offset_bytes = to_[message.peer].offsets.front()};
    return engine::CreditTransport::is_for_writing(credit)
               ? transport_.memory_of(destinations_[message.peer].rank, credit)
               : nullptr;
  }

  void make_batch() {
    for (OutgoingMessage& message : batch_) message.data = shared_for(message);
    outgoing_->make(buffer_, batch_);
    for (const OutgoingMessage& message : batch_) {
      std::byte* const shared = shared_for(message);
      Destination& to = to_[message.peer];
      std::shift_left(to.offsets.begin(), to.offsets.end(), 1);
      --to.credits;
      const std::size_t slot = buffer_ * destinations_.size() + message.peer;
      const int rank = destinations_[message.peer].rank;
      ++unsent_[buffer_];
      if (shared == nullptr) {
        transport_.send(slot, rank, message.data, message.bytes);
        continue;
      }
      if (message.data != shared) std::memcpy(shared, message.data, message.bytes);
      transport_.signal(slot, rank, message.bytes);
    }
  }

  const Ledger& ledger_;
  NodeSlots& node_;
  std::span<const Peer> destinations_;
  std::span<const Peer> sources_;
  std::size_t window_;  ///< credits that a source has at a time
  engine::CreditTransport transport_;
  Vector<Posted> posted_;  ///< window_ for each source
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

}  // namespace valet::objects
