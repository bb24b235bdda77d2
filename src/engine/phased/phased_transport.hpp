// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What moves in one phase of PHASED, once it is decided: which blocks exactly, and the messages.
///
/// A receiver allows one message after another: it takes scratch places, posts the receive, and
/// credits the sender with so many blocks. So no data message is unexpected, and a few requests are
/// outstanding on either side. Where the receiver cannot know what comes (blocks that wait on their
/// way), the sender's message is of one origin and target, perhaps of fewer blocks than were
/// credited, and a message before it says so. The sink is PHASED's own: blocks that wait here for
/// other ranks take places and lists that no other method has.
///
/// Why a phase ends. All that may arrive fits the places that are free when it begins. A place in
/// scratch is busy while a message is on the way to it, which needs nothing more, and then while no
/// slot is free for its block; if all are busy in this second way, all that may arrive has.

#include "engine/credit_transport.hpp"
#include "engine/phased/phased_memory.hpp"
#include "engine/phased/phases.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace valet::engine {

class PhasedTransport final : public Participant {
 public:
  /// @param announces  Senders say what a message has.
  PhasedTransport(const ExchangeContext& context, const plan::Flows& flows,
                  const schedule::PhasedSizes& sizes, bool announces);

  /// Starts an execution; `buffers` has the memory of all send buffers.
  void start(std::byte* places, std::byte* buffers);
  [[nodiscard]] const PhasedMemory& memory() const { return memory_; }

  /// Moves what a phase moves, which fits the free places, and counts it down. Collective among
  /// those that send and receive.
  /// @param phases  Learns what comes to wait here.
  void run(Transfer& transfer, std::uint64_t phase, PhaseMoves& moves, Phases& phases,
           Report& report);

  void advance() override;
  void handle(const Event& event) override;
  [[nodiscard]] bool done() const override {
    return to_come_ == 0 && to_send_ == 0 && sending_ == 0;
  }
  [[nodiscard]] std::uint64_t bytes_in_use() const override;

 private:
  static constexpr std::size_t window = 8;  ///< messages that are credited and not here
  static constexpr std::size_t most_of_a_source = 2;
  static constexpr std::size_t most_sending = 4;

  /// A message that was credited.
  struct PostedReceive {
    std::size_t source = 0;  ///< in the list of the phase
    storage::SlotRun run = {};
    Parcel parcel = {};
    SlotIndex cursor = 0;  ///< at its first block, where that is known before
    int parts = 0;         ///< messages to come
  };
  /// A message on its way.
  struct Sending {
    Parcel parcel;
    SlotList slots;         ///< own blocks
    std::size_t entry = 0;  ///< where those that waited here are listed
    bool in_place = false;
    [[nodiscard]] bool is_own() const { return !slots.empty(); }
  };

  void listen();
  bool give_credit();
  [[nodiscard]] bool may_credit(std::size_t source) const;
  SlotIndex cursor_of(const Parcel& parcel);
  void arrived(PostedReceive& posted);
  void answer(int rank, const Credit& credit);
  [[nodiscard]] Sending choose_blocks(std::size_t send, std::uint64_t most);
  void gather(const Sending& message, std::byte* packed);
  bool send_in_place(const Sending& message, int rank, std::size_t send);
  void sent(const Sending& message);
  [[nodiscard]] std::size_t idle_send() const;

  const ExchangeContext context_;
  const plan::Flows& flows_;
  const schedule::PhasedSizes sizes_;
  const bool announces_;
  PhasedMemory memory_;
  CreditTransport transport_;
  Transfer* transfer_ = nullptr;  ///< these are set while a phase runs
  PhaseMoves* moves_ = nullptr;
  Phases* phases_ = nullptr;
  Report* report_ = nullptr;
  mpi::PieceList pieces_;
  Vector<SlotIndex> sent_;  ///< per flow: blocks sent, to wherever
  struct Reached {
    std::uint32_t blocks = 0;
    SlotIndex cursor = 0;
  };
  Vector<Reached> reached_;  ///< per source: the furthest cursor known
  std::array<PostedReceive, window> posted_{};
  std::array<Sending, most_sending> sendings_{};
  std::byte* buffers_ = nullptr;
  std::size_t next_source_ = 0;  ///< to credit
  std::uint64_t to_come_ = 0;    ///< blocks
  std::uint64_t to_send_ = 0;
  std::size_t sending_ = 0;  ///< messages on their way
};

}  // namespace valet::engine
