// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// PHASED: in every phase each rank receives at most as many blocks as it has free memory when the
/// phase begins, and what is sent frees memory for the next one.
///
/// Source: A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS
/// 15(7), 2004, sections 4 to 6; with Heuristic::first_fit and parking at every phase it is also
/// MADRE's parking algorithm (Siegel and Siegel, section 3.1), without its sorting of all blocks
/// after each phase: blocks that do not land in their final slots are put right once, when
/// these become free.
///
/// Why it is complete, without parking too. Scratch gives every rank a place more than it needs in
/// the end, so the argument of STREAM (stream.hpp) holds: while blocks are left, some rank has both
/// blocks to receive and a free place. Available memory that shrinks (Figure 9) may slow it down
/// but not stop it, because one block is always let in.
///
/// What moves in a phase, in numbers, is decided by Phases; here, which blocks exactly, and in
/// which messages. A receiver allows one message after another: it takes scratch places, posts the
/// receive, and credits the sender with so many blocks. So no data message is unexpected, and a few
/// requests are outstanding on either side. Where the receiver cannot know what comes (blocks that
/// wait on their way), the sender's message is of one origin and target, perhaps of fewer blocks
/// than were credited, and a message before it says so.
///
/// Why it is not a policy of SlotExchange, as CYCLIC is. What a phase may move follows from free
/// memory that is counted block by block; a receive buffer of SlotExchange is free or busy as a
/// whole, so a rank would have less, and there would be more phases. SlotExchange credits the next
/// blocks of a flow; blocks that wait on their way belong to flows of other ranks, come in any
/// order, and must be found again by target, in slots or in scratch.
///
/// Why a phase ends. All that may arrive fits the places that are free when it begins. A place in
/// scratch is busy while a message is on the way to it, which needs nothing more, and then while no
/// slot is free for its block; if all are busy in this second way, all that may arrive has.
///
/// Memory. A rank keeps lists of its neighbours, 224 bytes each. Where blocks wait on their way any
/// rank may become a neighbour, so lists of all ranks are reckoned with, 512 bytes each (schedule::
/// phased_list_bytes). What goes beyond 64 bytes a neighbour and 24 KiB comes off the budget: from
/// about 190 neighbours on, or 48 ranks with parking. The root gathers two words a rank for parking
/// and matches within 40 bytes a rank; for Heuristic::continuous it has 72, of which 8 are reckoned
/// with for lists that are empty then. What a root decided is kept for further executions, within
/// 2 KiB and a small part of the budget (kept_phases.hpp).

#include "engine/credit_transport.hpp"
#include "engine/phased/kept_phases.hpp"
#include "engine/phased/phased_memory.hpp"

#include <array>
#include <memory>
#include <optional>

namespace valet::engine {

class Phased final : public Exchange, public Participant {
 public:
  Phased(const ExchangeContext& context, const plan::Flows& flows);

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return context_.scratch_bytes(sizes_.scratch_blocks());
  }
  void run(Transfer& transfer, std::span<std::byte> scratch, Report& report) override;

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

  [[nodiscard]] PhaseStart start_of_phase() const;
  [[nodiscard]] std::unique_ptr<Phases> make_phases() const;
  void run_phase(std::uint64_t phase);
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
  const bool announces_;  ///< senders say what a message has
  PhasedMemory memory_;
  CreditTransport transport_;
  std::optional<KeptPhases> kept_;
  Transfer* transfer_ = nullptr;  ///< these are set while it runs
  Report* report_ = nullptr;
  Phases* phases_ = nullptr;
  PhaseMoves* moves_ = nullptr;
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
