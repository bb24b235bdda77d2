// SPDX-License-Identifier: BSD-3-Clause
#include "engine/slots/slot_receiver.hpp"

#include <algorithm>

namespace valet::engine {
namespace {

/// A run of final slots this long is worth a message of its own; a shorter one is staged.
constexpr std::size_t worthwhile_bytes = std::size_t{64} << 10;

}  // namespace

SlotReceiver::SlotReceiver(const ExchangeContext& context, const plan::Flows& flows,
                           const schedule::StreamSizes& sizes, CreditTransport& transport,
                           bool is_limited)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      transport_(transport),
      block_bytes_(context.blocks.block_bytes),
      incoming_(context.ledger, flows.incoming, context.channel.rank(), is_limited),
      sources_(flows.incoming.size(), Source{}, context.ledger),
      posted_(receives(context.options), PostedReceive{}, context.ledger),
      idle_buffers_(context.ledger),
      idle_node_buffers_(context.ledger),
      to_credit_(context.ledger, flows.incoming.size()) {
  idle_buffers_.reserve(sizes.receive_buffers);
  idle_node_buffers_.reserve(sizes.node_buffers);
}

std::byte* SlotReceiver::memory_of(const PostedReceive& posted) const {
  return posted.place == Place::node_buffer
             ? context_.node.own().data() + posted.buffer * sizes_.node_buffer_bytes
             : buffers_ + posted.buffer * sizes_.receive_blocks * block_bytes_;
}

void SlotReceiver::start(std::byte* buffers) {
  buffers_ = buffers;
  blocks_left_ = flows_.blocks_arriving;
  idle_buffers_.clear();
  to_credit_.clear();
  for (std::size_t b = sizes_.receive_buffers; b-- > 0;)
    idle_buffers_.push_back(static_cast<std::uint32_t>(b));
  idle_node_buffers_.clear();
  for (std::size_t b = sizes_.node_buffers; b-- > 0;)
    idle_node_buffers_.push_back(static_cast<std::uint32_t>(b));
  incoming_.allow_nothing();
  for (std::uint32_t s = 0; s < incoming_.size(); ++s) {
    const plan::Incoming& flow = incoming_[s];
    sources_[s] = Source{0, flow.cursor, 0, transport_.is_written_by(flow.rank)};
    queue_for_credit(s);
  }
}

void SlotReceiver::allow(int rank, std::uint64_t blocks, std::uint64_t increment) {
  most_blocks_ = increment;
  const std::uint32_t s = incoming_.place_of(rank);
  const bool is_queued = sources_[s].credited < incoming_.limit(s) &&
                         sources_[s].in_flight < schedule::most_credits_of_a_pair;
  incoming_.allow(s, blocks);
  if (!is_queued) queue_for_credit(s);
}

bool SlotReceiver::has_received(int rank) const {
  const std::uint32_t s = incoming_.place_of(rank);
  return sources_[s].in_flight == 0 && sources_[s].credited == incoming_.limit(s);
}

void SlotReceiver::queue_for_credit(std::uint32_t s) {
  if (sources_[s].credited < incoming_.limit(s) &&
      sources_[s].in_flight < schedule::most_credits_of_a_pair)
    to_credit_.push(s, sources_[s].credited, incoming_[s].count);
}

/// A receive slot that is not in use and whose last credit has left; posted_.size() if there is
/// none.
std::size_t SlotReceiver::idle_receive() const {
  for (std::size_t k = 0; k < posted_.size(); ++k)
    if (posted_[k].place == Place::none && transport_.can_receive(k)) return k;
  return posted_.size();
}

SlotReceiver::PostedReceive SlotReceiver::choose_node_buffer(std::uint32_t s) const {
  PostedReceive posted;
  if (idle_node_buffers_.empty()) return posted;
  posted.place = Place::node_buffer;
  posted.source = s;
  posted.cursor = sources_[s].cursor;
  posted.buffer = idle_node_buffers_.back();
  posted.size = static_cast<std::uint32_t>(
      std::min({incoming_.limit(s) - sources_[s].credited, most_blocks_, sizes_.node_blocks}));
  return posted;
}

SlotReceiver::PostedReceive SlotReceiver::choose_receive(const Transfer& transfer,
                                                         std::uint32_t s) const {
  const Source& source = sources_[s];
  if (source.on_node) return choose_node_buffer(s);
  const plan::Incoming& flow = incoming_[s];
  const std::uint64_t most =
      std::min({incoming_.limit(s) - source.credited, most_blocks_,
                std::uint64_t{flow.message_blocks} - source.credited % flow.message_blocks});
  PostedReceive posted;
  posted.source = s;
  posted.cursor = source.cursor;
  const auto land = [&](Place place, storage::SlotRun run) {
    posted.place = place;
    posted.run = run;
    posted.size = static_cast<std::uint32_t>(run.count);
    return posted;
  };
  const bool contiguous = transfer.backend().contiguous_data() != nullptr;
  const storage::SlotSet& free = transfer.free();
  storage::SlotRun final_run;
  if (contiguous) {
    final_run = flows_.final_run(source.cursor, most);
    final_run.count =
        free.contains(final_run.first) ? free.next_run(final_run.first, final_run.count).count : 0;
    if (final_run.count == most || final_run.count * block_bytes_ >= worthwhile_bytes)
      return land(Place::final_run, final_run);
  }
  const std::uint64_t buffered =
      idle_buffers_.empty() ? 0 : std::min<std::uint64_t>(most, sizes_.receive_blocks);
  if (contiguous && final_run.count > 0 && final_run.count >= buffered)
    return land(Place::final_run, final_run);
  if (contiguous && free.count() > 0 && 4 * buffered <= most) {
    // The buffers are tiny or busy: a run of other slots saves messages and costs local copies.
    const std::uint64_t highest = free.previous(free.slots());
    const storage::SlotRun other = free.next_run(highest - std::min(highest, most - 1), most);
    if (other.count > buffered) return land(Place::other_run, other);
  }
  if (buffered == 0) return posted;
  posted.buffer = idle_buffers_.back();
  return land(Place::buffer, storage::SlotRun{0, buffered});
}

bool SlotReceiver::give_credit(Transfer& transfer) {
  if (to_credit_.empty()) return false;
  const std::size_t index = idle_receive();
  if (index == posted_.size()) return false;
  const std::uint32_t s = to_credit_.top();
  const PostedReceive posted = choose_receive(transfer, s);
  if (posted.place == Place::none) return false;
  to_credit_.pop();
  posted_[index] = posted;
  post(transfer, index);
  Source& source = sources_[s];
  source.credited = static_cast<std::uint32_t>(source.credited + posted.size);
  source.cursor = flows_.advance(source.cursor, posted.size);
  ++source.in_flight;
  queue_for_credit(s);
  return true;
}

void SlotReceiver::post(Transfer& transfer, std::size_t index) {
  const PostedReceive& posted = posted_[index];
  std::byte* memory = nullptr;
  if (posted.is_buffered()) {
    idle_of(posted).pop_back();
    memory = memory_of(posted);
    transfer.finish(memory, posted.size * block_bytes_);
  } else {
    transfer.backend().finish_all();  // the slots may be packed from still
    transfer.reserve(posted.run);
    memory = transfer.backend().contiguous_data() + posted.run.first * block_bytes_;
  }
  transport_.give(index, incoming_[posted.source].rank, memory, posted.size * block_bytes_,
                  {.count = static_cast<std::uint32_t>(posted.size)});
}

void SlotReceiver::received(Transfer& transfer, std::size_t index) {
  PostedReceive& posted = posted_[index];
  context_.observer().moved(posted.size);
  Source& source = sources_[posted.source];
  const bool was_queued = source.in_flight < schedule::most_credits_of_a_pair;
  --source.in_flight;
  if (!was_queued) queue_for_credit(posted.source);
  if (posted.is_buffered()) {
    posted.arrived = true;
    if (!place_arrivals(transfer, posted, Transfer::Misplace::never)) ++held_;
    return;
  }
  if (posted.place == Place::other_run) transfer.landed(posted.cursor, posted.run);
  blocks_left_ -= posted.size;
  posted.place = Place::none;
}

std::uint64_t SlotReceiver::bytes_in_use() const {
  std::uint64_t blocks = 0;
  for (const PostedReceive& posted : posted_)
    if (posted.is_buffered()) blocks += posted.size;
  return blocks * block_bytes_;
}

/// Moves blocks of a buffer to slots; true when none is left.
bool SlotReceiver::place_arrivals(Transfer& transfer, PostedReceive& posted,
                                  Transfer::Misplace misplace) {
  const std::uint64_t placed = transfer.place(memory_of(posted) + posted.offset * block_bytes_,
                                              posted.cursor, posted.size, misplace);
  blocks_left_ -= placed;
  posted.cursor = flows_.advance(posted.cursor, placed);
  posted.offset = static_cast<std::uint32_t>(posted.offset + placed);
  posted.size = static_cast<std::uint32_t>(posted.size - placed);
  if (posted.size > 0) return false;
  Vector<std::uint32_t>& idle = idle_of(posted);
  // The host takes the one used last, which is in its cache. Kernels may read that one still, so
  // there it is taken last.
  idle.insert(context_.blocks.reachable_by_host ? idle.end() : idle.begin(), posted.buffer);
  posted = PostedReceive{};
  return true;
}

bool SlotReceiver::must_misplace(const PostedReceive& posted) const {
  if (!posted.arrived) return false;
  if (held_ == posted_.size()) return true;
  return posted.place == Place::buffer ? idle_buffers_.empty() : idle_node_buffers_.empty();
}

bool SlotReceiver::is_full(const Transfer& transfer) const {
  return held_ > 0 && transfer.free().count() > 0 &&
         std::ranges::any_of(posted_,
                             [&](const PostedReceive& posted) { return must_misplace(posted); });
}

bool SlotReceiver::place_held(Transfer& transfer, bool sending) {
  using Misplace = Transfer::Misplace;
  bool any = false;
  for (const Misplace misplace : {Misplace::never, Misplace::if_needed}) {
    if (misplace == Misplace::if_needed && sending) break;
    for (PostedReceive& posted : posted_) {
      if (held_ == 0 || transfer.free().count() == 0) return any;
      if (!posted.arrived || !place_arrivals(transfer, posted, misplace)) continue;
      --held_;
      any = true;
    }
  }
  return any;
}

void SlotReceiver::misplace_held(Transfer& transfer) {
  for (PostedReceive& posted : posted_)
    if (transfer.free().count() > 0 && must_misplace(posted) &&
        place_arrivals(transfer, posted, Transfer::Misplace::if_needed))
      --held_;
}

}  // namespace valet::engine
