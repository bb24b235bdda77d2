// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ordered/ordered_receiver.hpp"

#include <cstring>
#include <optional>

namespace valet::engine {
namespace {

/// Messages that the list has to hold, where a segment of so many bytes is shared inside the node.
std::size_t list_length(const Options& options, const BlockTraits& blocks, const plan::Flows& flows,
                        const schedule::OrderedSizes& sizes, std::size_t node_bytes) {
  const std::uint64_t grains =
      (sizes.waiting_blocks + node_bytes / blocks.block_bytes) / flows.any.grain;
  return MessageList::length(OrderedReceiver::receives(options, flows), flows.incoming.size(),
                             static_cast<std::size_t>(grains), node_bytes > 0);
}

}  // namespace

OrderedReceiver::OrderedReceiver(const ExchangeContext& context, const plan::Flows& flows,
                                 const schedule::OrderedSizes& sizes, CreditTransport& transport)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      transport_(transport),
      block_bytes_(context.blocks.block_bytes),
      imports_(context.ledger, flows.incoming.size(), flows.any.grain),
      holes_(context.ledger, flows),
      messages_(
          context.ledger,
          list_length(context.options, context.blocks, flows, sizes, context.node.own().size()),
          block_bytes_),
      posted_(receives(context.options, flows), Posted{}, context.ledger),
      of_source_(flows.incoming.size(), std::uint8_t{0}, context.ledger) {}

std::uint64_t OrderedReceiver::state_bytes(const Options& options, const BlockTraits& blocks,
                                           const plan::Flows& flows,
                                           const schedule::OrderedSizes& sizes,
                                           std::size_t node_bytes) {
  using schedule::GrainOrder;
  return GrainOrder::bytes_for(flows.incoming.size()) +
         GrainOrder::bytes_for(flows.outgoing.size()) +  // of the holes
         MessageList::bytes_for(list_length(options, blocks, flows, sizes, node_bytes)) +
         receives(options, flows) * sizeof(Posted) + flows.incoming.size() * sizeof(std::uint8_t);
}

void OrderedReceiver::start(std::byte* memory) {
  const std::span<std::byte> node = context_.node.own();
  aside_ = {memory, flows_.any.shift, Place::aside, true};
  own_room_ =
      WaitingRoom(memory + aside_.count * block_bytes_, sizes_.waiting_blocks, block_bytes_);
  node_room_ = WaitingRoom(node.data(), node.size() / block_bytes_, block_bytes_);
  enter_imports(imports_, flows_);
  holes_.restart();
  messages_.clear();
  credited_ = set_aside_ = blocks_in_rooms_ = 0;
  in_flight_ = 0;
  detours_ = false;
  blocks_left_ = flows_.blocks_arriving;
}

std::size_t OrderedReceiver::idle_receive() const {
  for (std::size_t k = 0; k < posted_.size(); ++k)
    if (!posted_[k].busy && transport_.can_receive(k)) return k;
  return posted_.size();
}

auto OrderedReceiver::renumber() {
  return [this](std::uint64_t from, std::uint64_t to) {
    for (Posted& posted : posted_)
      if (posted.busy && posted.message == from) posted.message = to;
  };
}

/// Whether there is room in the list for one more message.
bool OrderedReceiver::lists_message() { return messages_.takes_one(renumber()); }

/// The next imports that one message may bring.
schedule::FlowPiece OrderedReceiver::next_piece(bool on_node) const {
  schedule::FlowPiece piece = imports_.front();
  const plan::Incoming& flow = flows_.incoming[piece.flow];
  const std::uint64_t most = on_node ? sizes_.messages.node_blocks
                                     : flow.message_blocks - piece.first % flow.message_blocks;
  return imports_.front(most);
}

/// Credits the next of the first imports to where they wait for the last holes. What ranks of the
/// node write goes through their memory first.
bool OrderedReceiver::credit_aside(std::size_t index) {
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
bool OrderedReceiver::set_aside(Message& message) {
  const std::uint64_t count = std::min(flows_.any.shift - set_aside_, message.count);
  if (count == 0) return false;
  std::memcpy(aside_.memory + set_aside_ * block_bytes_, message.memory, count * block_bytes_);
  set_aside_ += count;
  leave_room(message, count);
  return true;
}

bool OrderedReceiver::credit_room(Transfer& transfer, std::size_t index, bool takes_less) {
  const std::uint32_t flow = imports_.front().flow;
  if (of_source_[flow] == schedule::most_credits_of_a_pair || detours_) return false;
  const bool on_node = transport_.is_written_by(flows_.incoming[flow].rank);
  const std::optional<Place> where =
      on_node ? messages_.place_on_node(takes_less, node_room_.next(), renumber()) : Place::own;
  if (!where) return false;
  const Place place = *where;
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

void OrderedReceiver::give(std::size_t index, const schedule::FlowPiece& piece, std::byte* memory,
                           Place place) {
  const std::uint64_t number = messages_.add(memory, piece.count, place);
  posted_[index] = {.message = number, .flow = piece.flow, .busy = true};
  ++of_source_[piece.flow];
  ++in_flight_;
  imports_.advance(piece.count);
  credited_ += piece.count;
  transport_.give(index, flows_.incoming[piece.flow].rank, memory, piece.count * block_bytes_,
                  {.count = static_cast<std::uint32_t>(piece.count)});
}

void OrderedReceiver::received(std::size_t index) {
  Posted& posted = posted_[index];
  Message& arrived = messages_[posted.message];
  context_.observer().moved(arrived.count);
  arrived.arrived = true;
  --of_source_[posted.flow];
  --in_flight_;
  detours_ = detours_ && !posted.is_detour;
  posted.busy = false;
}

void OrderedReceiver::land_some(Transfer& transfer, Message& message, SlotList slots) {
  transfer.land(message.memory, slots);
  leave_room(message, slots.size());
  blocks_left_ -= slots.size();
}

/// The first `count` blocks of a message are somewhere else now.
void OrderedReceiver::leave_room(Message& message, std::uint64_t count) {
  message.memory += count * block_bytes_;
  message.count -= count;
  if (!is_in_room(message.place)) return;
  room_of(message.place).leave(count);
  blocks_in_rooms_ -= count;
}

}  // namespace valet::engine
