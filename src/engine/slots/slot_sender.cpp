// SPDX-License-Identifier: BSD-3-Clause
#include "engine/slots/slot_sender.hpp"

#include <algorithm>
#include <utility>

namespace valet::engine {
namespace {

/// Pieces of a message that is sent from where its blocks are.
std::size_t listed_pieces(const BlockTraits& blocks, const schedule::StreamSizes& sizes) {
  return static_cast<std::size_t>(
      std::min(sizes.send_blocks, schedule::listed_blocks(blocks.pieces_per_block)) *
      blocks.pieces_per_block);
}

}  // namespace

SlotSender::SlotSender(const plan::State& state, const schedule::StreamSizes& sizes,
                       CreditTransport& transport, bool is_limited, std::size_t most_ahead,
                       const Pulls* pulls)
    : state_(state),
      sizes_(sizes),
      transport_(transport),
      block_bytes_(state.blocks.block_bytes),
      outgoing_(state.ledger, state.flows.outgoing, state.channel.rank(), is_limited),
      destinations_(state.flows.outgoing.size(), Destination{}, state.ledger),
      messages_(sends(sizes), SentMessage{}, state.ledger),
      idle_(state.ledger),
      idle_unstaged_(state.ledger),
      credited_(state.ledger),
      pieces_(state.ledger),
      to_stage_(state.ledger, state.flows.outgoing.size()),
      most_ahead_(most_ahead),
      pulls_(pulls),
      node_credits_(state.ledger) {
  for (std::uint32_t d = 0; d < outgoing_.size(); ++d)
    destinations_[d].is_on_node = state.is_on_node(outgoing_[d].rank);
  idle_.reserve(sizes.send_buffers);
  idle_unstaged_.reserve(unstaged_messages);
  credited_.reserve(destinations_.size());
  if (state.node().shares()) node_credits_.reserve(node_credits_kept());
  if (!stages()) pieces_.reserve(listed_pieces(state.blocks, sizes));
}

std::uint64_t SlotSender::state_bytes(const BlockTraits& blocks, const schedule::StreamSizes& sizes,
                                      std::size_t destinations) {
  const std::size_t messages = sends(sizes);
  const std::size_t pieces = sizes.send_buffers > 0 ? 0 : listed_pieces(blocks, sizes);
  return destinations * (sizeof(Destination) + sizeof(std::uint32_t)) +
         schedule::ProportionalQueue::bytes_for(destinations) +
         messages * (sizeof(SentMessage) + sizeof(std::uint8_t)) +
         mpi::PieceList::bytes_for(pieces);
}

std::byte* SlotSender::buffer(std::uint8_t message) const {
  return buffers_ + message * sizes_.send_blocks * block_bytes_;
}

void SlotSender::start(std::byte* buffers) {
  buffers_ = buffers;
  blocks_left_ = 0;
  for (std::size_t f = 0; f < state_.flows.outgoing.size(); ++f)
    if (!is_pulled(f)) blocks_left_ += state_.flows.outgoing[f].count;
  blocks_uncredited_ = blocks_left_;
  for (Destination& destination : destinations_)
    destination = Destination{.is_on_node = destination.is_on_node};
  idle_.clear();
  idle_unstaged_.clear();
  to_stage_.clear();
  for (std::size_t m = messages_.size(); m-- > 0;)
    idle_of(static_cast<std::uint8_t>(m)).push_back(static_cast<std::uint8_t>(m));
  outgoing_.allow_nothing();
  for (std::uint32_t d = 0; d < outgoing_.size(); ++d) queue_for_staging(d);
}

void SlotSender::allow(int rank, std::uint64_t blocks) {
  const std::uint32_t d = outgoing_.index_of(rank);
  outgoing_.allow(d, blocks);
  queue_for_staging(d);
}

bool SlotSender::has_sent(int rank) const {
  const std::uint32_t d = outgoing_.index_of(rank);
  return destinations_[d].sent == outgoing_.limit(d) && destinations_[d].on_the_way == 0;
}

void SlotSender::queue_for_staging(std::uint32_t d) {
  Destination& destination = destinations_[d];
  if (!stages() || destination.queued || destination.staged == outgoing_.limit(d)) return;
  if (transport_.node().of(outgoing_[d].rank) != nullptr) return;
  if (is_pulled(outgoing_.flow_of(d))) return;
  to_stage_.push(d, destination.staged, outgoing_[d].count);
  destination.queued = true;
}

/// Whether the next `size` blocks that are not staged are one run of memory, long enough that MPI
/// reads it straight from there.
bool SlotSender::goes_in_place(const LocalSlots& local, std::uint32_t d, std::uint32_t size) const {
  return size * block_bytes_ >= schedule::straight_bytes &&
         local.run_of(local.exports(outgoing_[d], destinations_[d].staged, size)) != nullptr;
}

void SlotSender::listen() {
  if (blocks_uncredited_ > 0 && node_credits_.size() < node_credits_kept()) transport_.listen();
}

void SlotSender::credited(int rank, const Credit& credit) {
  const std::uint32_t d = outgoing_.index_of(rank);
  blocks_uncredited_ -= credit.count;
  if (CreditTransport::is_for_writing(credit)) {
    node_credits_.push_back({d, credit});
    return;
  }
  Destination& destination = destinations_[d];
  auto& credits = destination.credits;
  const bool had_turn = destination.has_turn();
  *std::find(credits.begin(), credits.end(), 0) = static_cast<std::uint16_t>(credit.count);
  if (!had_turn && destination.has_turn()) credited_.push_back(d);
}

/// Writes what a rank of this node credited into its memory and signals that it is there.
bool SlotSender::write_to_node(LocalSlots& local) {
  const auto next = std::ranges::find_if(
      node_credits_, [&](const NodeCredit& c) { return may_answer(c.destination); });
  if (next == node_credits_.end() || !transport_.can_signal()) return false;
  const auto [d, credit] = *next;
  node_credits_.erase(next);
  Destination& destination = destinations_[d];
  local.gather(local.exports(outgoing_[d], destination.sent, credit.count),
               transport_.memory_of(outgoing_[d].rank, credit), credit.past_cache != 0);
  transport_.signal(outgoing_[d].rank, credit.count * block_bytes_);
  state_.observer.moved(credit.count);
  destination.sent = destination.staged =
      static_cast<std::uint32_t>(destination.sent + credit.count);
  blocks_left_ -= credit.count;
  ++in_flight_;
  return true;
}

/// What is staged goes first, it only has to be posted. Then the block in the lowest slot, because
/// low slots are where arrivals want to be.
std::size_t SlotSender::next_to_serve() const {
  // Bounds the search with very many neighbours, and passes those that must wait.
  const std::size_t looked_at = 16 + most_ahead_;
  std::size_t best = credited_.size();
  SlotIndex lowest = static_cast<SlotIndex>(-1);
  for (std::size_t k = 0; k < std::min(looked_at, credited_.size()); ++k) {
    const Destination& destination = destinations_[credited_[k]];
    if (!may_answer(credited_[k])) continue;
    if (destination.first_message != none) {
      // The part of a staged message before this one may be on the way still.
      if (transport_.can_send(destination.first_message)) return k;
      continue;
    }
    const SlotIndex slot = state_.flows.exports[outgoing_[credited_[k]].first + destination.sent];
    if (best < credited_.size() && slot >= lowest) continue;
    lowest = slot;
    best = k;
  }
  return best;
}

bool SlotSender::serve(LocalSlots& local) {
  bool served = false;
  while (write_to_node(local)) served = true;
  while (!credited_.empty()) {
    const std::size_t k = next_to_serve();
    if (k == credited_.size()) break;
    Destination& destination = destinations_[credited_[k]];
    const std::uint32_t size = destination.credits[0];
    if (!answer(local, credited_[k], size)) break;
    queue_for_staging(credited_[k]);
    destination.sent = static_cast<std::uint32_t>(destination.sent + size);
    std::shift_left(destination.credits.begin(), destination.credits.end(), 1);
    destination.credits.back() = 0;
    ++destination.on_the_way;
    if (!destination.has_turn()) {
      credited_[k] = credited_.back();
      credited_.pop_back();
    }
    blocks_left_ -= size;
    state_.observer.moved(size);
    served = true;
  }
  return served;
}

/// Sends the next `size` blocks of a destination; false when a message has to complete first.
bool SlotSender::answer(LocalSlots& local, std::uint32_t d, std::uint32_t size) {
  Destination& destination = destinations_[d];
  if (destination.first_message != none) {
    send_staged(local, destination, size);
    return true;
  }
  const bool in_place = !stages() || goes_in_place(local, d, size);
  Vector<std::uint8_t>& idle = in_place ? idle_unstaged_ : idle_;
  if (idle.empty()) return false;
  const std::uint8_t message = take_message(idle, d, size);
  if (in_place) {
    post_in_place(local, message);
  } else {
    local.gather(local.exports(outgoing_[d], messages_[message].first, size), buffer(message));
    post(local, message, buffer(message), size);
  }
  return true;
}

void SlotSender::send_staged(LocalSlots& local, Destination& destination, std::uint32_t size) {
  const std::uint8_t first = destination.first_message;
  SentMessage& message = messages_[first];
  post(local, first, buffer(first) + message.sent * block_bytes_, size);
  if (message.sent == message.size) {
    destination.first_message = message.next;
    if (message.next == none) destination.last_message = none;
    --waiting_;
  }
}

/// An idle message for the next `size` blocks of a destination; they count as staged.
std::uint8_t SlotSender::take_message(Vector<std::uint8_t>& idle, std::uint32_t d,
                                      std::uint32_t size) {
  const std::uint8_t message = idle.back();
  idle.pop_back();
  messages_[message] =
      SentMessage{.destination = d, .first = destinations_[d].staged, .size = size};
  destinations_[d].staged = static_cast<std::uint32_t>(destinations_[d].staged + size);
  return message;
}

bool SlotSender::stage_ahead(LocalSlots& local) {
  // One buffer is kept for credits that nothing is staged for.
  while (!to_stage_.empty() && !idle_.empty() && waiting_ + 1 < sizes_.send_buffers) {
    const std::uint32_t d = to_stage_.pop();
    Destination& destination = destinations_[d];
    destination.queued = false;
    const auto left = static_cast<SlotIndex>(outgoing_.limit(d) - destination.staged);
    if (left == 0) continue;
    const auto size = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        left, sizes_.send_blocks - destination.staged % sizes_.send_blocks));
    // Blocks that land in order are asked for by grains.
    const auto asked =
        state_.flows.form == plan::Form::any
            ? static_cast<SlotIndex>(std::min<std::uint64_t>(size, state_.flows.any.grain))
            : size;
    if (goes_in_place(local, d, asked)) continue;  // queued again when it has been sent
    const std::uint8_t message = take_message(idle_, d, size);
    local.gather(local.exports(outgoing_[d], messages_[message].first, size), buffer(message));
    if (destination.last_message == none)
      destination.first_message = message;
    else
      messages_[destination.last_message].next = message;
    destination.last_message = message;
    ++waiting_;
    queue_for_staging(d);
    return true;
  }
  return false;
}

void SlotSender::post(LocalSlots& local, std::uint8_t m, const std::byte* memory,
                      std::uint32_t size) {
  SentMessage& message = messages_[m];
  local.finish(memory, size * block_bytes_);
  transport_.send(m, outgoing_[message.destination].rank, memory, size * block_bytes_);
  message.sent = static_cast<std::uint32_t>(message.sent + size);
  ++in_flight_;
}

void SlotSender::post_in_place(LocalSlots& local, std::uint8_t m) {
  SentMessage& message = messages_[m];
  message.in_place = true;
  Destination& destination = destinations_[message.destination];
  if (!destination.in_place) destination.leaving = message.first;
  destination.in_place = true;
  const auto slots = local.exports(outgoing_[message.destination], message.first, message.size);
  transport_.send_from_slots(m, outgoing_[message.destination].rank, local, slots, pieces_);
  message.sent = message.size;
  ++in_flight_;
}

std::uint64_t SlotSender::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const SentMessage& message : messages_)
    if (!message.in_place) blocks += message.size;
  return blocks * block_bytes_;
}

bool SlotSender::frees_soon(const LocalSlots& local, std::uint64_t slot) const {
  return std::ranges::any_of(messages_, [&](const SentMessage& message) {
    if (!message.in_place || message.size == 0) return false;
    const auto slots = local.exports(outgoing_[message.destination], message.first, message.size);
    return slots.front() <= slot && slot <= slots.back();
  });
}

void SlotSender::sent(LocalSlots& local, std::size_t index) {
  --in_flight_;
  const auto m = static_cast<std::uint8_t>(index);
  SentMessage& message = messages_[m];
  Destination& destination = destinations_[message.destination];
  const bool had_turn = destination.has_turn();
  --destination.on_the_way;
  if (!had_turn && destination.has_turn()) credited_.push_back(message.destination);
  if (message.sent < message.size) return;  // the rest waits for its credit
  const SentMessage done = std::exchange(message, SentMessage{});
  idle_of(m).push_back(m);
  if (!done.in_place) return;
  local.release(local.exports(outgoing_[done.destination], done.first, done.size));
  note_leaving(done.destination);
}

/// Finds the first block that a message on the way sends from its slot, once one has left.
void SlotSender::note_leaving(std::uint32_t d) {
  Destination& destination = destinations_[d];
  destination.in_place = false;
  for (const SentMessage& message : messages_) {
    if (!message.in_place || message.destination != d) continue;
    destination.leaving =
        destination.in_place ? std::min(destination.leaving, message.first) : message.first;
    destination.in_place = true;
  }
}

}  // namespace valet::engine
