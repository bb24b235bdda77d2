// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ordered/ordered_receiver.hpp"

#include <cstring>

namespace valet::engine {
namespace {

/// Messages that wait at once: runs in either room, which those that arrived next to each other are
/// joined to. A run ends where the sources of one place follow those of the other, at a grain.
///
/// Why that is enough to go on. A list that is full of messages of which one is on its way gets
/// shorter when that one comes. Once all have come the first waits in a room, for land() passes the
/// others, and so do all behind it: nothing is credited to slots while a room is in use, and what
/// is aside came before. Joined, those runs end at the end of a grain or of a room: of whole grains
/// there are as many as the rooms hold, of short ones one a flow, of rooms two, and the first and
/// the last run may be parts of grains. That leaves the receives, so there is a place for one more.
/// Detours may end runs within a grain and are not counted here.
template <class Index>
std::size_t messages_at_once(const Options& options, const BlockTraits& blocks,
                             const plan::Flows<Index>& flows, const schedule::OrderedSizes& sizes,
                             std::size_t node_bytes) {
  const std::uint64_t grains =
      (sizes.waiting_blocks + node_bytes / blocks.block_bytes) / flows.any.grain;
  return OrderedReceiver<Index>::receives(options, flows) + flows.incoming.size() +
         static_cast<std::size_t>(grains) + 4;
}

}  // namespace

template <class Index>
OrderedReceiver<Index>::OrderedReceiver(const ExchangeContext& context,
                                        const plan::Flows<Index>& flows,
                                        const schedule::OrderedSizes& sizes,
                                        CreditTransport& transport)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      transport_(transport),
      block_bytes_(context.blocks.block_bytes),
      imports_(context.ledger, flows.incoming.size(), flows.any.grain),
      holes_(context.ledger, flows),
      messages_(messages_at_once(context.options, context.blocks, flows, sizes,
                                 context.node.own().size()),
                Message{}, context.ledger),
      posted_(receives(context.options, flows), Posted{}, context.ledger),
      of_source_(flows.incoming.size(), std::uint8_t{0}, context.ledger) {}

template <class Index>
std::uint64_t OrderedReceiver<Index>::state_bytes(const Options& options, const BlockTraits& blocks,
                                                  const plan::Flows<Index>& flows,
                                                  const schedule::OrderedSizes& sizes,
                                                  std::size_t node_bytes) {
  using schedule::GrainOrder;
  return GrainOrder::bytes_for(flows.incoming.size()) +
         GrainOrder::bytes_for(flows.outgoing.size()) +  // of the holes
         messages_at_once(options, blocks, flows, sizes, node_bytes) * sizeof(Message) +
         receives(options, flows) * sizeof(Posted) + flows.incoming.size() * sizeof(std::uint8_t);
}

template <class Index>
void OrderedReceiver<Index>::start(std::byte* memory) {
  const std::span<std::byte> node = context_.node.own();
  aside_ = {memory, flows_.any.shift, Place::aside, true};
  own_room_ =
      WaitingRoom(memory + aside_.count * block_bytes_, sizes_.waiting_blocks, block_bytes_);
  node_room_ = WaitingRoom(node.data(), node.size() / block_bytes_, block_bytes_);
  enter_imports(imports_, flows_);
  holes_.restart();
  first_ = last_ = credited_ = set_aside_ = blocks_in_rooms_ = 0;
  in_flight_ = 0;
  detours_ = false;
  blocks_left_ = flows_.blocks_arriving;
}

template <class Index>
std::size_t OrderedReceiver<Index>::idle_receive() const {
  for (std::size_t k = 0; k < posted_.size(); ++k)
    if (!posted_[k].busy && transport_.can_receive(k)) return k;
  return posted_.size();
}

/// Whether there is room in the list for one more message.
template <class Index>
bool OrderedReceiver<Index>::lists_message() {
  if (last_ - first_ == messages_.size()) join_arrived();
  return last_ - first_ < messages_.size();
}

/// Joins messages that wait next to each other, for the list to get shorter.
template <class Index>
void OrderedReceiver<Index>::join_arrived() {
  std::uint64_t behind = first_;
  for (std::uint64_t number = first_; number < last_; ++number) {
    const Message next = message(number);
    if (behind > first_) {
      Message& before = message(behind - 1);
      if (before.arrived && next.arrived && before.place == next.place &&
          before.memory + before.count * block_bytes_ == next.memory) {
        before.count += next.count;
        continue;
      }
    }
    for (Posted& posted : posted_)
      if (posted.busy && posted.message == number) posted.message = behind;
    message(behind++) = next;
  }
  last_ = behind;
}

/// The next imports that one message may bring.
template <class Index>
schedule::FlowPiece OrderedReceiver<Index>::next_piece(bool on_node) const {
  schedule::FlowPiece piece = imports_.front();
  const plan::Incoming<Index>& flow = flows_.incoming[piece.flow];
  const std::uint64_t most = on_node ? sizes_.messages.node_blocks
                                     : flow.message_blocks - piece.first % flow.message_blocks;
  return imports_.front(most);
}

/// Credits the next of the first imports to where they wait for the last holes. What ranks of the
/// node write goes through their memory first.
template <class Index>
bool OrderedReceiver<Index>::credit_aside(std::size_t index) {
  const std::uint32_t flow = imports_.front().flow;
  if (credited_ >= flows_.any.shift || of_source_[flow] == schedule::most_credits_of_a_pair ||
      transport_.is_written_by(flows_.incoming[flow].rank))
    return false;
  schedule::FlowPiece piece = next_piece(false);
  piece.count = std::min(piece.count, flows_.any.shift - credited_);
  give(index, piece, aside_.memory + credited_ * block_bytes_, Place::aside);
  return true;
}

/// Copies those of the first imports that are in a room to where they wait; true when there was
/// one.
template <class Index>
bool OrderedReceiver<Index>::set_aside(Message& message) {
  const std::uint64_t count = std::min(flows_.any.shift - set_aside_, message.count);
  if (count == 0) return false;
  std::memcpy(aside_.memory + set_aside_ * block_bytes_, message.memory, count * block_bytes_);
  set_aside_ += count;
  leave_room(message, count);
  return true;
}

template <class Index>
bool OrderedReceiver<Index>::credit_room(Transfer<Index>& transfer, std::size_t index,
                                         bool takes_less) {
  const std::uint32_t flow = imports_.front().flow;
  if (of_source_[flow] == schedule::most_credits_of_a_pair || detours_) return false;
  const bool on_node = transport_.is_written_by(flows_.incoming[flow].rank);
  // Once there is a detour, pieces go on beside it: they are joined then.
  const bool detours = takes_less && (node_room_.next() == 0 ||
                                      (last_ > first_ && message(last_ - 1).place == Place::own));
  const Place place = on_node && !detours ? Place::node : Place::own;
  schedule::FlowPiece piece = next_piece(place == Place::node);
  if (on_node && place == Place::own)
    piece.count = std::min(piece.count, schedule::listed_blocks(context_.blocks.pieces_per_block));
  WaitingRoom& room = room_of(place);
  if (place == Place::own) piece.count = std::min(piece.count, sizes_.messages.receive_blocks);
  piece.count = std::min(piece.count, room.blocks());
  if (!takes_less && room.left() < piece.count) return false;
  piece.count = std::min(piece.count, room.next());
  if (piece.count == 0) return false;
  std::byte* const memory = room.enter(piece.count);
  transfer.finish(memory, piece.count * block_bytes_);
  give(index, piece, memory, place);
  posted_[index].is_detour = detours_ = on_node && place == Place::own;
  blocks_in_rooms_ += piece.count;
  return true;
}

template <class Index>
void OrderedReceiver<Index>::give(std::size_t index, const schedule::FlowPiece& piece,
                                  std::byte* memory, Place place) {
  posted_[index] = {.message = last_, .flow = piece.flow, .busy = true};
  message(last_++) = {memory, piece.count, place, false};
  ++of_source_[piece.flow];
  ++in_flight_;
  imports_.advance(piece.count);
  credited_ += piece.count;
  transport_.give(index, flows_.incoming[piece.flow].rank, memory, piece.count * block_bytes_,
                  {.count = static_cast<std::uint32_t>(piece.count)});
}

template <class Index>
void OrderedReceiver<Index>::received(std::size_t index) {
  Posted& posted = posted_[index];
  Message& arrived = message(posted.message);
  context_.observer().moved(arrived.count);
  arrived.arrived = true;
  --of_source_[posted.flow];
  --in_flight_;
  detours_ = detours_ && !posted.is_detour;
  posted.busy = false;
}

template <class Index>
void OrderedReceiver<Index>::land_some(Transfer<Index>& transfer, Message& message,
                                       std::span<const Index> slots) {
  transfer.land(message.memory, slots);
  leave_room(message, slots.size());
  blocks_left_ -= slots.size();
}

/// The first `count` blocks of a message are somewhere else now.
template <class Index>
void OrderedReceiver<Index>::leave_room(Message& message, std::uint64_t count) {
  message.memory += count * block_bytes_;
  message.count -= count;
  if (!is_in_room(message.place)) return;
  room_of(message.place).leave(count);
  blocks_in_rooms_ -= count;
}

template class OrderedReceiver<std::uint32_t>;
template class OrderedReceiver<std::uint64_t>;

}  // namespace valet::engine
