// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Streams of messages between ranks. Both ends of a pair know the number and the bytes of its
/// messages, so a receiver posts its receives at their final place before the sender may send:
/// nothing is ever unexpected, and MPI buffers nothing behind our back.
///
/// A run begins with one word from every receiver to every one of its sources. It says that the
/// receives of the first `window` messages are posted (and in steps how many objects are wanted).
/// Each further receive is credited by a credit. There is one blocking wait over all that is
/// outstanding, no barrier and no polling.

#include "mpi/channel.hpp"
#include "mpi/requests.hpp"
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
  const std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// What a rank sends: batches of messages, in two buffers that are filled in turn.
class Outgoing {
 public:
  Outgoing() = default;
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  virtual ~Outgoing() = default;
  /// Messages to a destination in this run, empty ones not counted.
  [[nodiscard]] virtual std::uint64_t messages_to(std::size_t peer) const = 0;
  /// Makes the next batch in buffer 0 or 1, whose messages have all been sent, and appends its
  /// messages, none of them empty. False when there is no further batch.
  virtual bool fill(std::size_t buffer, Vector<OutgoingMessage>& messages) = 0;
  [[nodiscard]] virtual std::size_t buffers() const { return 2; }
};

/// Where a rank receives.
class Incoming {
 public:
  Incoming() = default;
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  virtual ~Incoming() = default;
  /// The place of the next message of a source, never empty. False when there is none.
  virtual bool next(std::size_t peer, MemoryPiece& place) = 0;
  /// A message is there.
  virtual void arrived(std::uint64_t /*bytes*/) {}
};

class Transport {
 public:
  static constexpr std::uint64_t window = 2;  ///< receives of a source that are posted at a time
  static constexpr std::uint64_t no_word = ~std::uint64_t{0};
  /// Bytes that a transport allocates for each peer, at most.
  static constexpr std::size_t bytes_per_peer = 160;

  /// Destinations and sources ascending by rank; may contain this rank itself.
  Transport(const mpi::Channel& channel, Ledger& ledger, std::span<const Peer> destinations,
            std::span<const Peer> sources);

  /// Posts the first receives and exchanges the words. Collective among peers.
  ///
  /// @param to_sources         A word for each source; no_word: this pair takes no part in the run.
  /// @param from_destinations  Written for each destination, unless it is no_word.
  void begin(Incoming& incoming, std::span<const std::uint64_t> to_sources,
             std::span<std::uint64_t> from_destinations);
  /// Sends and receives everything. Nothing is pending on return.
  void run(Outgoing& outgoing);

  [[nodiscard]] std::uint64_t messages() const { return messages_; }

 private:
  struct Waiting {
    std::size_t buffer = 0;
    OutgoingMessage message;
  };
  struct Source {
    std::uint64_t word = 0;  ///< being sent: the word of the beginning, or credits
    std::uint64_t owed = 0;  ///< credits that wait for the word to be free
  };
  struct Destination {
    std::uint64_t credits = 0;
    bool blocked = false;
  };
  static constexpr std::size_t send_places = 16;
  static constexpr std::size_t credit_place = 0;

  [[nodiscard]] std::size_t receive_place(std::size_t source, std::uint64_t w) const {
    return 1 + source * window + w;
  }
  [[nodiscard]] std::size_t word_send_place(std::size_t source) const {
    return 1 + sources_.size() * window + source;
  }
  [[nodiscard]] std::size_t word_receive_place(std::size_t destination) const {
    return 1 + sources_.size() * (window + 1) + destination;
  }
  [[nodiscard]] std::size_t first_send_place() const {
    return 1 + sources_.size() * (window + 1) + destinations_.size();
  }

  bool post_next(std::size_t source, std::size_t place);
  void send_credits(std::size_t source);
  void receive_credits();
  void send_what_may_go();
  void handle(const mpi::Completion& completion);
  void handle_credits(const MPI_Status& status);
  void fill_buffers(Outgoing& outgoing);

  const mpi::Channel& channel_;
  std::span<const Peer> destinations_;
  std::span<const Peer> sources_;
  mpi::Requests requests_;
  Vector<std::uint64_t> posted_;  ///< bytes of each receive
  Vector<Source> from_;
  Vector<Destination> to_;
  Vector<Waiting> waiting_;
  Vector<OutgoingMessage> batch_;
  Incoming* incoming_ = nullptr;
  std::array<std::size_t, 2> unsent_{};               ///< messages of each buffer
  std::array<std::size_t, send_places> buffer_of_{};  ///< whose message a send place carries
  std::uint64_t credit_word_ = 0;
  std::uint64_t credits_expected_ = 0;
  std::uint64_t words_expected_ = 0;
  std::uint64_t messages_ = 0;
  bool exhausted_ = true;
};

}  // namespace valet::zoltan
