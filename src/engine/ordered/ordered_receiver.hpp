// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "engine/credit_transport.hpp"
#include "engine/exchange.hpp"
#include "engine/ordered/message_list.hpp"
#include "engine/ordered/waiting_room.hpp"
#include "plan/holes.hpp"
#include "schedule/stream_sizes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace valet::engine {

/// The sink of exchanges in order, on one rank: credits imports in their order and brings them to
/// their holes in that order, as these are left.
class OrderedReceiver {
 public:
  OrderedReceiver(const ExchangeContext& context, const plan::Flows& flows,
                  const schedule::OrderedSizes& sizes, CreditTransport& transport);
  /// Receive slots that it needs of a transport: MPI looks at all of them for each event.
  [[nodiscard]] static std::size_t receives(const Options& options, const plan::Flows& flows) {
    return std::min(static_cast<std::size_t>(options.stream.window),
                    schedule::most_credits_of_a_pair * flows.incoming.size());
  }

  /// What it allocates, where a segment of so many bytes is shared inside the node.
  [[nodiscard]] VALET_EXPORT static std::uint64_t state_bytes(const Options& options,
                                                              const BlockTraits& blocks,
                                                              const plan::Flows& flows,
                                                              const schedule::OrderedSizes& sizes,
                                                              std::size_t node_bytes);

  [[nodiscard]] std::uint64_t scratch_blocks() const { return scratch_blocks_of(flows_, sizes_); }
  [[nodiscard]] static std::uint64_t scratch_blocks_of(const plan::Flows& flows,
                                                       const schedule::OrderedSizes& sizes) {
    return flows.any.shift + sizes.waiting_blocks;
  }

  /// Starts an execution; `memory` has scratch_blocks() for the blocks that wait.
  void start(std::byte* memory);
  /// Gives the next credit if there is room for what it asks; true when it did.
  /// @param takes_less    Nothing that is on its way will make room: a shorter message will do.
  /// @param blocks_left  blocks_left(f): how many blocks of outgoing flow f have left their slots.
  template <class BlocksLeft>
  bool give_credit(Transfer& transfer, bool takes_less, BlocksLeft&& blocks_left) {
    const std::size_t index = idle_receive();
    if (imports_.empty() || index == posted_.size() || !lists_message()) return false;
    if (credit_aside(index)) return true;
    if (credit_slots(transfer, index, blocks_left)) return true;
    if (waits_for_slots(transfer) && !takes_less) return false;
    return credit_room(transfer, index, takes_less);
  }
  /// Brings the next message that has arrived to holes that are free; true when there was any.
  template <class BlocksLeft>
  bool land(Transfer& transfer, BlocksLeft&& blocks_left) {
    bool any = false;
    for (; !messages_.empty() && messages_.front().arrived; messages_.pop_front(), any = true) {
      Message& next = messages_.front();
      if (next.place == Place::slots) blocks_left_ -= next.count;
      if (next.place == Place::aside) set_aside_ += next.count;
      if (!is_in_room(next.place)) continue;
      any = set_aside(next) || any;
      any = land_all(transfer, next, blocks_left) || any;
      if (next.count == 0) messages_.pop_front();
      return any;
    }
    if (messages_.empty() && imports_.empty() && aside_.count > 0)
      any = land_all(transfer, aside_, blocks_left) || any;
    return any;
  }
  /// The message of a receive slot is there.
  void received(std::size_t index);
  /// Whether messages are on their way here.
  [[nodiscard]] bool expects() const { return in_flight_ > 0; }
  [[nodiscard]] bool done() const { return blocks_left_ == 0; }
  /// Bytes of scratch that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t bytes_in_use() const {
    return (blocks_in_rooms_ + std::min(credited_, aside_.count)) * block_bytes_;
  }

 private:
  /// A run of holes this long is worth a message of its own; a shorter one is unpacked.
  static constexpr std::size_t worthwhile_bytes = std::size_t{64} << 10;

  using Place = MessageList::Place;
  using Message = MessageList::Message;

  struct Posted {
    std::uint64_t message = 0;  ///< its number in the list
    std::uint32_t flow = 0;
    bool busy = false;
    bool is_detour = false;  ///< of a rank of the node, and not through its memory
  };

  [[nodiscard]] static bool is_in_room(Place place) {
    return place == Place::own || place == Place::node;
  }
  [[nodiscard]] WaitingRoom& room_of(Place place) {
    return place == Place::node ? node_room_ : own_room_;
  }
  /// Brings blocks of a message to holes as far as these are free; true when there was one.
  template <class BlocksLeft>
  bool land_all(Transfer& transfer, Message& message, BlocksLeft&& blocks_left) {
    std::array<SlotIndex, 1024> slots;
    bool any = false;
    while (message.count > 0) {
      const auto most = std::min<std::uint64_t>(slots.size(), message.count);
      const std::size_t count = holes_.take(std::span(slots).first(most), blocks_left);
      if (count == 0) break;
      land_some(transfer, message, SlotList(slots).first(count));
      any = true;
    }
    return any;
  }
  /// Credits the next imports straight into their holes, where these are free and one run.
  template <class BlocksLeft>
  bool credit_slots(Transfer& transfer, std::size_t index, BlocksLeft&& blocks_left) {
    std::byte* const data = transfer.backend().contiguous_data();
    if (data == nullptr || credited_ < flows_.any.shift) return false;
    if (blocks_in_rooms_ > 0) return false;  // those come before
    schedule::FlowPiece piece = next_piece(false);
    if (transport_.is_written_by(flows_.incoming[piece.flow].rank)) return false;
    // Two on the way: one is received while the next one's slots are left.
    if (flows_.any.shift > 1) piece.count = std::min(piece.count, flows_.any.shift / 2);
    const storage::SlotRun run = holes_.next_run(piece.count, blocks_left);
    if (run.count < piece.count && run.count * block_bytes_ < worthwhile_bytes) return false;
    piece.count = run.count;
    if (of_source_[piece.flow] == schedule::most_credits_of_a_pair) return false;
    holes_.pass(run.count);
    transfer.backend().finish_all();  // the holes may be packed from still
    give(index, piece, data + run.first * block_bytes_, Place::slots);
    return true;
  }
  /// Whether the next imports should be received in their slots, soon: holes are long runs.
  [[nodiscard]] bool waits_for_slots(const Transfer& transfer) const {
    return flows_.any.shift > 0 && transfer.backend().contiguous_data() != nullptr &&
           !transport_.is_written_by(flows_.incoming[imports_.front().flow].rank);
  }
  bool credit_aside(std::size_t index);
  bool credit_room(Transfer& transfer, std::size_t index, bool takes_less);
  bool set_aside(Message& message);
  void leave_room(Message& message, std::uint64_t count);
  void land_some(Transfer& transfer, Message& message, SlotList slots);
  [[nodiscard]] std::size_t idle_receive() const;
  [[nodiscard]] bool lists_message();
  /// For the list: finds the receive slot of a message whose number changes.
  [[nodiscard]] auto renumber();
  [[nodiscard]] schedule::FlowPiece next_piece(bool on_node) const;
  void give(std::size_t index, const schedule::FlowPiece& piece, std::byte* memory, Place place);

  const ExchangeContext context_;
  const plan::Flows& flows_;
  const schedule::OrderedSizes sizes_;
  CreditTransport& transport_;
  std::size_t block_bytes_;
  schedule::GrainOrder imports_;  ///< not credited
  plan::HoleWalk holes_;          ///< not taken
  WaitingRoom own_room_, node_room_;
  MessageList messages_;
  Vector<Posted> posted_;              ///< by receive slot
  Vector<std::uint8_t> of_source_;     ///< messages on their way, by place in Flows::incoming
  Message aside_;                      ///< all that wait for the last holes
  std::uint64_t credited_ = 0;         ///< blocks
  std::uint64_t set_aside_ = 0;        ///< blocks that are there
  std::uint64_t blocks_in_rooms_ = 0;  ///< credited, and not landed
  std::uint64_t blocks_left_ = 0;      ///< not landed
  std::size_t in_flight_ = 0;
  /// A detour is on its way. A source answers what it writes and what it sends apart from each
  /// other, so nothing else is asked meanwhile.
  bool detours_ = false;
};

}  // namespace valet::engine
