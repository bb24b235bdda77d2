// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What moves in one phase of PHASED, once it is decided: which blocks exactly, and the messages.
///
/// A sender says which blocks it sends where the receiver cannot know (blocks that wait on their
/// way). The receiver then allows one message after another: it takes scratch places, posts
/// the receive, and credits the sender with blocks of one of its lists. So no data
/// message is unexpected, and a few requests are outstanding on either side. The sink is PHASED's
/// own: blocks that wait here for other ranks take places and lists that no other method has.
///
/// Why a phase ends. All that may arrive fits the places that are free when it begins. A place in
/// scratch is busy while a message is on the way to it, which needs nothing more, and then while no
/// slot is free for its block; if all are busy in this second way, all that may arrive has.

#include "engine/credit_transport.hpp"
#include "engine/phased/phased_memory.hpp"
#include "engine/phased/phases.hpp"
#include "mpi/word_lists.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace valet::engine {

template <class Index>
class PhasedTransport final : public Participant {
 public:
  /// @param announces  Senders say what they send.
  PhasedTransport(const ExchangeContext& context, const plan::Flows<Index>& flows,
                  const schedule::PhasedSizes& sizes, bool announces);

  /// Starts an execution; `buffers` has the memory of all send buffers.
  void start(std::byte* places, std::byte* buffers);
  [[nodiscard]] PhasedMemory<Index>& memory() { return memory_; }

  /// Moves what a phase moves. Collective among those that send and receive.
  /// @param sends     Ascending by (place, target).
  /// @param receives  Ascending by source, one a source; fits the free places.
  void run(Transfer<Index>& transfer, std::uint64_t phase, std::span<const PhaseSend> sends,
           std::span<const PhaseReceive> receives);
  [[nodiscard]] const CreditTransport& transport() const { return transport_; }

  void advance() override;
  void handle(const Event& event) override;
  [[nodiscard]] bool done() const override {
    return to_come_ == 0 && uncredited_ == 0 && sending_ == 0;
  }
  [[nodiscard]] std::uint64_t bytes_in_use() const override;

  /// Blocks that came in the last phase to wait here: one entry a parcel.
  [[nodiscard]] std::span<const Parcel<Index>> received() const { return incoming_; }

 private:
  static constexpr std::size_t window = 8;  ///< messages that are credited and not here
  static constexpr std::size_t most_of_a_parcel = 2;
  static constexpr std::size_t most_sending = 4;

  /// A message that was credited.
  struct PostedReceive {
    std::uint32_t parcel = 0;
    storage::SlotRun run;
    Index cursor = 0;  ///< of its first block
    Index entry = 0;   ///< of a block that will wait
    bool busy = false;
  };
  /// A message on its way; what it frees in the end, if it was not packed.
  struct Sending {
    std::uint32_t parcel = 0;
    Index first = 0;
    Index count = 0;
    bool in_place = false;
  };

  void choose_blocks(std::span<const PhaseSend> sends);
  void announce(std::span<const PhaseReceive> receives);
  void infer(std::span<const PhaseReceive> receives);
  Index cursor_of(int origin, Index first, Index count);
  void listen();
  bool give_credit();
  void arrived(std::size_t receive);
  void answer(int rank, const Credit& credit);
  void sent(std::size_t send);
  void gather(const Sending& message, std::byte* packed);
  bool send_in_place(const Sending& message, std::size_t send);
  [[nodiscard]] std::span<const Index> own_slots(const Parcel<Index>& parcel, Index first,
                                                 Index count) const;

  [[nodiscard]] std::size_t sending_count() const {
    return sizes_.send_buffers > 0 ? sizes_.send_buffers : most_sending;
  }

  const ExchangeContext context_;
  const plan::Flows<Index>& flows_;
  const schedule::PhasedSizes sizes_;
  const bool announces_;
  PhasedMemory<Index> memory_;
  CreditTransport transport_;
  Transfer<Index>* transfer_ = nullptr;  ///< while a phase runs
  mpi::PieceList pieces_;
  Vector<Parcel<Index>> outgoing_;  ///< by place
  Vector<Parcel<Index>> incoming_;  ///< by source
  Vector<Index> limits_;            ///< per incoming parcel: blocks of a message of its sender
  Vector<Index> sent_;              ///< per flow: blocks sent, to wherever
  struct Reached {
    Index blocks = 0;
    Index cursor = 0;
  };
  Vector<Reached> reached_;  ///< per source: the furthest cursor known
  std::array<PostedReceive, window> posted_{};
  std::array<Sending, most_sending> sendings_{};
  std::byte* buffers_ = nullptr;
  std::size_t next_parcel_ = 0;  ///< to ask for
  std::uint64_t unasked_ = 0;
  std::uint64_t to_come_ = 0;
  std::uint64_t uncredited_ = 0;
  std::size_t sending_ = 0;  ///< messages on their way
};

extern template class PhasedTransport<std::uint32_t>;
extern template class PhasedTransport<std::uint64_t>;

}  // namespace valet::engine
