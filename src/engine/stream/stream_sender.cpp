// SPDX-License-Identifier: BSD-3-Clause
#include "engine/stream/stream_sender.hpp"

#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {

template <class Index>
StreamSender<Index>::StreamSender(const ExchangeContext& context, const plan::Flows<Index>& flows,
                                  const schedule::StreamSizes& sizes, mpi::Requests& requests,
                                  std::size_t first_place)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      requests_(requests),
      first_place_(first_place),
      block_bytes_(context.blocks.block_bytes),
      first_flow_(flow_from(flows.outgoing, context.channel.rank() + 1)),
      destinations_(flows.outgoing.size(), Destination{},
                    LedgerAllocator<Destination>(context.ledger)),
      messages_(stages() ? sizes.send_buffers : unstaged_messages, Message{},
                LedgerAllocator<Message>(context.ledger)),
      idle_(LedgerAllocator<std::uint8_t>(context.ledger)),
      credited_(LedgerAllocator<std::uint32_t>(context.ledger)),
      pieces_(context.ledger),
      to_stage_(context.ledger, flows.outgoing.size()) {
  idle_.reserve(messages_.size());
  credited_.reserve(destinations_.size());
  if (!stages() && !context.node.shares())
    pieces_.reserve(sizes.send_blocks * context.blocks.pieces_per_block);
}

template <class Index>
std::size_t StreamSender<Index>::places_needed(const schedule::StreamSizes& sizes) {
  return 1 + most_node_messages + (sizes.send_buffers > 0 ? sizes.send_buffers : unstaged_messages);
}

template <class Index>
const plan::Outgoing<Index>& StreamSender<Index>::flow(std::uint32_t destination) const {
  return flows_.outgoing[(first_flow_ + destination) % flows_.outgoing.size()];
}

template <class Index>
std::uint32_t StreamSender<Index>::destination_of(int rank) const {
  const std::size_t position = flow_from(flows_.outgoing, rank);
  const std::size_t count = flows_.outgoing.size();
  return static_cast<std::uint32_t>((position + count - first_flow_) % count);
}

template <class Index>
std::byte* StreamSender<Index>::buffer(std::uint8_t message) const {
  return buffers_ + message * sizes_.send_blocks * block_bytes_;
}

template <class Index>
std::size_t StreamSender<Index>::place_of(std::uint8_t message) const {
  return first_place_ + 1 + most_node_messages + message;
}

template <class Index>
void StreamSender<Index>::start(std::byte* buffers) {
  buffers_ = buffers;
  blocks_left_ = flows_.exports.size();
  blocks_uncredited_ = blocks_left_;
  std::fill(destinations_.begin(), destinations_.end(), Destination{});
  idle_.clear();
  to_stage_.clear();
  for (std::size_t m = messages_.size(); m-- > 0;) idle_.push_back(static_cast<std::uint8_t>(m));
  if (!stages()) return;
  for (std::uint32_t d = 0; d < destinations_.size(); ++d) queue_for_staging(d);
}

template <class Index>
void StreamSender<Index>::queue_for_staging(std::uint32_t d) {
  Destination& destination = destinations_[d];
  if (destination.queued || destination.staged == flow(d).count) return;
  if (context_.node.of(flow(d).rank) != nullptr) return;
  to_stage_.push(d, destination.staged, flow(d).count);
  destination.queued = true;
}

/// Whether the next `size` blocks that are not staged are one run of memory, long enough that MPI
/// reads it straight from there.
template <class Index>
bool StreamSender<Index>::goes_in_place(const Transfer<Index>& transfer, std::uint32_t d,
                                        Index size) const {
  constexpr std::size_t least_bytes = std::size_t{16} << 10;
  if (transfer.backend().contiguous_data() == nullptr || size * block_bytes_ < least_bytes)
    return false;
  const auto slots = transfer.exports(flow(d), destinations_[d].staged, size);
  return slots.back() - slots.front() == slots.size() - 1;
}

template <class Index>
void StreamSender<Index>::listen() {
  if (blocks_uncredited_ == 0 || node_credit_.blocks > 0 || !requests_.idle(first_place_)) return;
  mpi::post_receive(context_.channel, &incoming_credit_, sizeof incoming_credit_, MPI_ANY_SOURCE,
                    mpi::tag_credit, requests_[first_place_]);
}

template <class Index>
void StreamSender<Index>::note_credit(const MPI_Status& status) {
  const std::uint32_t d = destination_of(status.MPI_SOURCE);
  const Credit credit = Credit::from(incoming_credit_);
  blocks_uncredited_ -= credit.blocks;
  if (context_.node.of(status.MPI_SOURCE) != nullptr) {
    node_credit_ = credit;
    node_destination_ = d;
    return;
  }
  auto& credits = destinations_[d].credits;
  if (credits[0] == 0 && !destinations_[d].sending) credited_.push_back(d);
  *std::find(credits.begin(), credits.end(), 0) = static_cast<std::uint16_t>(credit.blocks);
}

/// Writes what a rank of this node credited into its memory and tells it so.
template <class Index>
bool StreamSender<Index>::write_to_node(Transfer<Index>& transfer, Report& report) {
  if (node_credit_.blocks == 0) return false;
  std::size_t place = first_place_ + 1;
  while (place <= first_place_ + most_node_messages && !requests_.idle(place)) ++place;
  if (place > first_place_ + most_node_messages)
    return false;  // one of them completes, and we go on
  const int rank = flow(node_destination_).rank;
  Index& sent = destinations_[node_destination_].sent;
  transfer.gather(transfer.exports(flow(node_destination_), sent, node_credit_.blocks),
                  context_.node.of(rank) + node_credit_.offset_bytes);
  mpi::post_send(context_.channel, nullptr, 0, rank, mpi::tag_data, requests_[place]);
  context_.observer().sends(&requests_[place], rank, node_credit_.blocks * block_bytes_);
  context_.observer().moved(node_credit_.blocks);
  sent = static_cast<Index>(sent + node_credit_.blocks);
  blocks_left_ -= node_credit_.blocks;
  node_credit_ = {};
  ++in_flight_;
  ++report.messages;
  return true;
}

/// What is staged goes first, it only has to be posted. Then the block in the lowest slot, because
/// low slots are where arrivals want to be.
template <class Index>
std::size_t StreamSender<Index>::next_to_serve() const {
  constexpr std::size_t looked_at = 16;  // bounds the search with very many neighbours
  std::size_t best = 0;
  Index lowest = static_cast<Index>(-1);
  for (std::size_t k = 0; k < std::min(looked_at, credited_.size()); ++k) {
    const Destination& destination = destinations_[credited_[k]];
    if (destination.first_message != none) return k;
    const Index slot = flows_.exports[flow(credited_[k]).first + destination.sent];
    if (slot >= lowest) continue;
    lowest = slot;
    best = k;
  }
  return best;
}

template <class Index>
bool StreamSender<Index>::serve(Transfer<Index>& transfer, Report& report) {
  bool served = write_to_node(transfer, report);
  while (!credited_.empty()) {
    const std::size_t k = next_to_serve();
    Destination& destination = destinations_[credited_[k]];
    const Index size = destination.credits[0];
    if (!answer(transfer, credited_[k], size)) break;
    if (stages()) queue_for_staging(credited_[k]);
    destination.sent = static_cast<Index>(destination.sent + size);
    std::shift_left(destination.credits.begin(), destination.credits.end(), 1);
    destination.credits.back() = 0;
    destination.sending = true;
    credited_[k] = credited_.back();
    credited_.pop_back();
    blocks_left_ -= size;
    context_.observer().moved(size);
    ++report.messages;
    served = true;
  }
  return served;
}

/// Sends the next `size` blocks of a destination; false when a message has to complete first.
template <class Index>
bool StreamSender<Index>::answer(Transfer<Index>& transfer, std::uint32_t d, Index size) {
  Destination& destination = destinations_[d];
  if (destination.first_message != none) {
    send_staged(destination, size);
    return true;
  }
  if (idle_.empty()) return false;
  const bool in_place = !stages() || goes_in_place(transfer, d, size);
  const std::uint8_t message = take_message(d, size);
  if (in_place) {
    post_in_place(transfer, message);
  } else {
    transfer.gather(transfer.exports(flow(d), messages_[message].first, size), buffer(message));
    post(message, buffer(message), size);
  }
  return true;
}

template <class Index>
void StreamSender<Index>::send_staged(Destination& destination, Index size) {
  const std::uint8_t first = destination.first_message;
  Message& message = messages_[first];
  post(first, buffer(first) + message.sent * block_bytes_, size);
  if (message.sent == message.size) {
    destination.first_message = message.next;
    if (message.next == none) destination.last_message = none;
    --waiting_;
  }
}

/// An idle message for the next `size` blocks of a destination; they count as staged.
template <class Index>
std::uint8_t StreamSender<Index>::take_message(std::uint32_t d, Index size) {
  const std::uint8_t message = idle_.back();
  idle_.pop_back();
  messages_[message] = Message{.destination = d, .first = destinations_[d].staged, .size = size};
  destinations_[d].staged = static_cast<Index>(destinations_[d].staged + size);
  return message;
}

template <class Index>
bool StreamSender<Index>::stage_ahead(Transfer<Index>& transfer) {
  // One buffer is kept for credits that nothing is staged for.
  while (!to_stage_.empty() && !idle_.empty() && waiting_ + 1 < sizes_.send_buffers) {
    const std::uint32_t d = to_stage_.pop();
    Destination& destination = destinations_[d];
    destination.queued = false;
    const Index left = static_cast<Index>(flow(d).count - destination.staged);
    if (left == 0) continue;
    const auto size = static_cast<Index>(std::min<std::uint64_t>(
        left, sizes_.send_blocks - destination.staged % sizes_.send_blocks));
    if (goes_in_place(transfer, d, size)) continue;  // queued again when it has been sent
    const std::uint8_t message = take_message(d, size);
    transfer.gather(transfer.exports(flow(d), messages_[message].first, size), buffer(message));
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

template <class Index>
void StreamSender<Index>::post(std::uint8_t m, const std::byte* memory, Index size) {
  Message& message = messages_[m];
  mpi::post_send(context_.channel, memory, size * block_bytes_, flow(message.destination).rank,
                 mpi::tag_data, requests_[place_of(m)]);
  context_.observer().sends(&requests_[place_of(m)], flow(message.destination).rank,
                            size * block_bytes_);
  message.sent = static_cast<Index>(message.sent + size);
  ++in_flight_;
}

template <class Index>
void StreamSender<Index>::post_in_place(Transfer<Index>& transfer, std::uint8_t m) {
  Message& message = messages_[m];
  message.in_place = true;
  const auto slots = transfer.exports(flow(message.destination), message.first, message.size);
  if (std::byte* const dense = transfer.backend().contiguous_data();
      dense != nullptr && slots.back() - slots.front() == slots.size() - 1) {
    post(m, dense + slots.front() * block_bytes_, message.size);
    return;
  }
  pieces_.pieces.clear();
  for (const Index slot : slots) transfer.backend().pieces(slot, pieces_.pieces);
  mpi::post_send_pieces(context_.channel, pieces_, flow(message.destination).rank, mpi::tag_data,
                        requests_[place_of(m)]);
  context_.observer().sends(&requests_[place_of(m)], flow(message.destination).rank,
                            message.size * block_bytes_);
  message.sent = message.size;
  ++in_flight_;
}

template <class Index>
std::uint64_t StreamSender<Index>::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const Message& message : messages_)
    if (!message.in_place) blocks += message.size;
  return blocks * block_bytes_;
}

template <class Index>
bool StreamSender<Index>::frees_soon(const Transfer<Index>& transfer, std::uint64_t slot) const {
  return std::any_of(messages_.begin(), messages_.end(), [&](const Message& message) {
    if (!message.in_place || message.size == 0) return false;
    const auto slots = transfer.exports(flow(message.destination), message.first, message.size);
    return slots.front() <= slot && slot <= slots.back();
  });
}

template <class Index>
void StreamSender<Index>::completed(Transfer<Index>& transfer, std::size_t place,
                                    const MPI_Status& status) {
  if (place == first_place_) {
    note_credit(status);
    return;
  }
  --in_flight_;
  if (place <= first_place_ + most_node_messages) return;
  const auto m = static_cast<std::uint8_t>(place - first_place_ - 1 - most_node_messages);
  Message& message = messages_[m];
  Destination& destination = destinations_[message.destination];
  destination.sending = false;
  if (destination.credits[0] != 0) credited_.push_back(message.destination);
  if (message.sent < message.size) return;  // the rest waits for its credit
  if (message.in_place)
    transfer.release(transfer.exports(flow(message.destination), message.first, message.size));
  message = Message{};
  idle_.push_back(m);
}

template class StreamSender<std::uint32_t>;
template class StreamSender<std::uint64_t>;

}  // namespace valet::engine
