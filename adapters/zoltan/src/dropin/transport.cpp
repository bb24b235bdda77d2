// SPDX-License-Identifier: BSD-3-Clause
#include "transport.hpp"

#include <algorithm>
#include <cstring>

namespace valet::zoltan {
namespace {

storage::NodeWish node_wish(Ledger& ledger, const NodeSlots::Wish& wish) {
  storage::NodeWish node(ledger, wish.destinations, wish.sources);
  node.allowance = wish.allowance();
  node.wish = wish.bytes;
  return node;
}

}  // namespace

std::uint64_t NodeSlots::Wish::allowance() const {
  constexpr std::uint64_t least = 4096;
  const std::uint64_t each = room / (1 + destinations.size());
  return each < least ? 0 : each / unit * unit;
}

bool NodeSlots::serves(const Wish& wish) const { return memory_->serves(node_wish(ledger_, wish)); }

bool NodeSlots::fits(const Wish& wish) const { return memory_->bytes() <= wish.room; }

void NodeSlots::connect(const mpi::Channel& channel, const Wish& wish) {
  release();
  memory_->connect(channel, node_wish(ledger_, wish));
}

void NodeSlots::release() {
  give_out(false);
  memory_.emplace(ledger_);
}

void NodeSlots::give_out(bool slots) {
  idle_.clear();
  const std::span<std::byte> own = memory_->own();
  has_all_arrivals_ = !slots && !own.empty();
  if (!slots || slot_bytes_ == 0) return;
  idle_.reserve(own.size() / slot_bytes_);
  for (std::uint64_t at = 0; at + slot_bytes_ <= own.size(); at += slot_bytes_)
    idle_.push_back(own.data() + at);
}

std::byte* NodeSlots::take(std::uint64_t bytes) {
  if (idle_.empty() || bytes > slot_bytes_) return nullptr;
  std::byte* const slot = idle_.back();
  idle_.pop_back();
  return slot;
}

Transport::Transport(const mpi::Channel& channel, Ledger& ledger, NodeSlots& node,
                     std::span<const Peer> destinations, std::span<const Peer> sources, int turn)
    : ledger_(ledger),
      node_(node),
      destinations_(destinations),
      sources_(sources),
      window_(node.has_all_arrivals() && sources.size() <= slots ? most_credits : slots),
      transport_(channel, ledger, node.memory(),
                 {.receives = sources.size() * window_, .sends = 2 * destinations.size()}),
      posted_(sources.size() * window_, ledger),
      to_(destinations.size(), ledger),
      batch_(ledger) {
  transport_.set_credit_tag(mpi::tag_phase_credit + turn);
  batch_.reserve(destinations.size());
}

void Transport::run(Outgoing& outgoing, Incoming& incoming) {
  outgoing_ = &outgoing;
  incoming_ = &incoming;
  messages_expected_ = 0;
  exhausted_ = false;
  for (std::size_t index = 0; index < posted_.size(); ++index) give(index);
  transport_.run(*this);
}

/// Lets a source send its next message, if it has one.
void Transport::give(std::size_t index) {
  const std::size_t source = index / window_;
  Posted& posted = posted_[index];
  posted = {};
  if (!incoming_->next(source, posted.memory)) return;
  const int rank = sources_[source].rank;
  if (transport_.is_written_by(rank) && !node_.memory().contains(posted.memory.data))
    posted.slot = node_.take(posted.memory.bytes);
  transport_.give(index, rank, posted.slot != nullptr ? posted.slot : posted.memory.data,
                  posted.memory.bytes, {});
  ++messages_expected_;
}

void Transport::received(std::size_t index) {
  Posted& posted = posted_[index];
  if (posted.slot != nullptr) {
    std::memcpy(posted.memory.data, posted.slot, posted.memory.bytes);
    node_.give_back(posted.slot);
  }
  incoming_->arrived(posted.memory.bytes);
  posted.waits = !transport_.can_receive(index);
  if (posted.waits) return;
  --messages_expected_;
  give(index);
}

void Transport::note_credit(int rank, const engine::Credit& credit) {
  Destination& to = to_[plan::flow_from(destinations_, rank)];
  to.offsets[to.credits++] = credit.offset_bytes;
}

void Transport::handle(const engine::Event& event) {
  using Kind = engine::Event::Kind;
  switch (event.kind) {
    case Kind::credit: note_credit(event.rank, event.credit); break;
    case Kind::received: received(event.index); break;
    case Kind::credited:
      if (!posted_[event.index].waits) break;
      --messages_expected_;
      give(event.index);
      break;
    case Kind::sent: --unsent_[event.index / destinations_.size()]; break;
    default: break;
  }
}

bool Transport::done() const {
  return exhausted_ && messages_expected_ == 0 && unsent_[0] + unsent_[1] == 0;
}

/// Whether all messages of the next batch may go.
bool Transport::has_credits() const {
  return std::ranges::all_of(
      batch_, [&](const OutgoingMessage& message) { return to_[message.peer].credits > 0; });
}

void Transport::make_batch() {
  for (OutgoingMessage& message : batch_) {
    const std::uint64_t offset = to_[message.peer].offsets.front();
    const int rank = destinations_[message.peer].rank;
    message.data = offset == engine::Credit::no_offset
                       ? nullptr
                       : transport_.memory_of(rank, {.offset_bytes = offset});
  }
  outgoing_->make(buffer_, batch_);
  for (const OutgoingMessage& message : batch_) {
    Destination& to = to_[message.peer];
    const std::uint64_t offset = to.offsets.front();
    std::shift_left(to.offsets.begin(), to.offsets.end(), 1);
    --to.credits;
    const std::size_t slot = send_slot(buffer_, message.peer);
    const int rank = destinations_[message.peer].rank;
    ++unsent_[buffer_];
    if (offset == engine::Credit::no_offset) {
      transport_.send(slot, rank, message.data, message.bytes);
      continue;
    }
    std::byte* const shared = transport_.memory_of(rank, {.offset_bytes = offset});
    if (message.data != shared) std::memcpy(shared, message.data, message.bytes);
    transport_.signal(slot, rank, message.bytes);
  }
}

void Transport::advance() {
  while (!exhausted_) {
    if (!has_batch_) {
      batch_.clear();
      has_batch_ = outgoing_->next(batch_);
      exhausted_ = !has_batch_;
      continue;
    }
    if (!has_credits()) {
      transport_.listen();  // there is one to come, so no receive is left in the end
      return;
    }
    if (unsent_[buffer_] > 0) return;
    make_batch();
    has_batch_ = false;
    buffer_ = (buffer_ + 1) % outgoing_->buffers();
  }
}

}  // namespace valet::zoltan
