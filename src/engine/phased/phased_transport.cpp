// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased_transport.hpp"

#include "mpi/tags.hpp"

#include <algorithm>

namespace valet::engine {
namespace {

template <class Parcels>
std::size_t first_of(const Parcels& parcels, int peer) {
  const auto found =
      std::lower_bound(parcels.begin(), parcels.end(), peer,
                       [](const auto& parcel, int value) { return parcel.peer < value; });
  return static_cast<std::size_t>(found - parcels.begin());
}

/// Makes room without growing by doubling, in a list that is empty.
template <class List>
void reserve_exactly(List& list, std::size_t size) {
  if (size <= list.capacity()) return;
  List(list.get_allocator()).swap(list);
  list.reserve(size);
}

/// Parcels as three words each, a list for each peer, straight from and to where they are kept.
template <class Index>
class ParcelWords {
 public:
  static constexpr std::size_t words_of_parcel = 3;
  explicit ParcelWords(Vector<Parcel<Index>>& parcels) : parcels_(parcels) {
    for (std::size_t at = 0; at < parcels_.size(); at = end_of(at)) ++peers_;
  }
  [[nodiscard]] std::size_t size() const { return peers_; }
  [[nodiscard]] int rank(std::size_t i) const { return parcels_[first_of_list(i)].peer; }
  [[nodiscard]] std::uint64_t count(std::size_t i) const {
    const std::size_t first = first_of_list(i);
    return words_of_parcel * (end_of(first) - first);
  }
  void provide(std::size_t i, std::uint64_t first, std::span<std::uint64_t> words) const {
    const std::size_t begin = words_of_parcel * first_of_list(i) + static_cast<std::size_t>(first);
    for (std::size_t k = 0; k < words.size(); ++k) {
      const Parcel<Index>& parcel = parcels_[(begin + k) / words_of_parcel];
      const std::array<std::uint64_t, words_of_parcel> all{
          std::uint64_t{static_cast<std::uint32_t>(parcel.target)} << 32 |
              static_cast<std::uint32_t>(parcel.origin),
          parcel.first, parcel.count};
      words[k] = all[(begin + k) % words_of_parcel];
    }
  }
  void consume(std::size_t i, std::uint64_t first, std::span<const std::uint64_t> words) const {
    const std::size_t begin = words_of_parcel * first_of_list(i) + static_cast<std::size_t>(first);
    for (std::size_t k = 0; k < words.size(); ++k) {
      Parcel<Index>& parcel = parcels_[(begin + k) / words_of_parcel];
      switch ((begin + k) % words_of_parcel) {
        case 0:
          parcel.target = static_cast<int>(words[k] >> 32);
          parcel.origin = static_cast<int>(words[k] & 0xffffffff);
          break;
        case 1: parcel.first = static_cast<Index>(words[k]); break;
        default: parcel.count = static_cast<Index>(words[k]);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t end_of(std::size_t first) const {
    const auto after = std::upper_bound(
        parcels_.begin() + static_cast<std::ptrdiff_t>(first), parcels_.end(), parcels_[first].peer,
        [](int peer, const Parcel<Index>& parcel) { return peer < parcel.peer; });
    return static_cast<std::size_t>(after - parcels_.begin());
  }
  /// The lists are asked for in turn, so the last answer is near: O(log parcels).
  [[nodiscard]] std::size_t first_of_list(std::size_t i) const {
    if (i < list_) list_ = first_ = 0;
    for (; list_ < i; ++list_) first_ = end_of(first_);
    return first_;
  }

  Vector<Parcel<Index>>& parcels_;
  std::size_t peers_ = 0;
  mutable std::size_t list_ = 0;
  mutable std::size_t first_ = 0;
};

int credit_tag(std::uint64_t phase) {
  return mpi::tag_phase_credit + static_cast<int>(phase % mpi::phase_tags);
}

}  // namespace

template <class Index>
PhasedTransport<Index>::PhasedTransport(const ExchangeContext& context,
                                        const plan::Flows<Index>& flows,
                                        const schedule::PhasedSizes& sizes, bool announces)
    : context_(context),
      flows_(flows),
      sizes_(sizes),
      announces_(announces),
      memory_(context, flows, sizes),
      transport_(context.channel, context.ledger, context.node,
                 CreditTransport::Slots{
                     .receives = window, .sends = most_sending, .signals = most_sending}),
      pieces_(context.ledger),
      outgoing_(LedgerAllocator<Parcel<Index>>(context.ledger)),
      incoming_(LedgerAllocator<Parcel<Index>>(context.ledger)),
      limits_(LedgerAllocator<Index>(context.ledger)),
      sent_(LedgerAllocator<Index>(context.ledger)),
      reached_(LedgerAllocator<Reached>(context.ledger)) {
  outgoing_.reserve(flows.outgoing.size());
  incoming_.reserve(flows.incoming.size());
  limits_.reserve(flows.incoming.size());
  sent_.resize(flows.outgoing.size());
  reached_.resize(flows.incoming.size());
  if (sizes.send_buffers == 0)
    pieces_.reserve(static_cast<std::size_t>(sizes.send_blocks) * context.blocks.pieces_per_block);
}

template <class Index>
void PhasedTransport<Index>::start(std::byte* places, std::byte* buffers) {
  memory_.start(places);
  buffers_ = buffers;
  std::fill(sent_.begin(), sent_.end(), Index{0});
  for (std::size_t i = 0; i < reached_.size(); ++i) reached_[i] = {0, flows_.incoming[i].cursor};
}

/// Own blocks first, in the order of the flow, then those that wait here.
template <class Index>
void PhasedTransport<Index>::choose_blocks(std::span<const PhaseSend> sends) {
  outgoing_.clear();
  reserve_exactly(outgoing_, sends.size() + static_cast<std::size_t>(memory_.groups_here()));
  for (const PhaseSend& send : sends) {
    std::uint64_t left = send.blocks;
    const std::size_t f = flow_from(flows_.outgoing, send.target);
    if (f < flows_.outgoing.size() && flows_.outgoing[f].rank == send.target) {
      const auto count =
          static_cast<Index>(std::min<std::uint64_t>(left, flows_.outgoing[f].count - sent_[f]));
      if (count > 0)
        outgoing_.push_back({.peer = send.place,
                             .target = send.target,
                             .origin = context_.channel.rank(),
                             .own = true,
                             .first = sent_[f],
                             .count = count});
      sent_[f] = static_cast<Index>(sent_[f] + count);
      left -= count;
    }
    while (left > 0) {
      Parcel<Index> parcel = memory_.take_waiting(send.target, left);
      if (parcel.count == 0)
        throw Error(ErrorCode::internal, "a phase sends blocks that are not there");
      parcel.peer = send.place;
      outgoing_.push_back(parcel);
      left -= parcel.count;
    }
  }
}

/// Sends the places what comes, and receives what the sources send.
template <class Index>
void PhasedTransport<Index>::announce(std::span<const PhaseReceive> receives) {
  WordLists heads(context_.ledger), heads_in(context_.ledger);
  heads.reserve(outgoing_.size(), 2 * outgoing_.size());
  heads_in.reserve(receives.size(), 2 * receives.size());
  for (std::size_t first = 0; first < outgoing_.size();) {
    std::size_t last = first;
    while (last < outgoing_.size() && outgoing_[last].peer == outgoing_[first].peer) ++last;
    heads.begin(outgoing_[first].peer);
    heads.add(last - first);
    heads.add(sizes_.send_blocks);
    first = last;
  }
  for (const PhaseReceive& receive : receives) {
    heads_in.begin(receive.source);
    heads_in.add(0);
    heads_in.add(0);
  }
  exchange_lists(context_.channel, context_.ledger, heads, heads_in);
  std::size_t parcels = 0;
  for (std::size_t i = 0; i < heads_in.size(); ++i)
    parcels += static_cast<std::size_t>(heads_in[i][0]);
  reserve_exactly(incoming_, parcels);
  reserve_exactly(limits_, parcels);
  for (std::size_t i = 0; i < heads_in.size(); ++i)
    for (std::uint64_t k = 0; k < heads_in[i][0]; ++k) {
      incoming_.push_back({.peer = heads_in.rank(i)});
      limits_.push_back(static_cast<Index>(heads_in[i][1]));
    }
  ParcelWords<Index> sent(outgoing_), received(incoming_);
  if (sent.size() > 0 || received.size() > 0) {
    constexpr std::size_t entries = 64;
    mpi::NeighbourWords<ParcelWords<Index>, ParcelWords<Index>> words(
        context_.channel, context_.ledger, mpi::tag_phase_words, entries, sent, received);
    words.run();
  }
  for (Parcel<Index>& parcel : incoming_)
    if (parcel.target != context_.channel.rank()) parcel.waiting = memory_.expect(parcel);
}

/// Where no block ever waits, a source sends the next blocks of its flow.
template <class Index>
void PhasedTransport<Index>::infer(std::span<const PhaseReceive> receives) {
  for (const PhaseReceive& receive : receives) {
    const std::size_t f = flow_from(flows_.incoming, receive.source);
    incoming_.push_back({.peer = receive.source,
                         .target = context_.channel.rank(),
                         .origin = receive.source,
                         .first = reached_[f].blocks,
                         .count = static_cast<Index>(receive.blocks)});
    limits_.push_back(flows_.incoming[f].message_blocks);
  }
}

/// The cursor of block `first` of a flow; block `first + count` will be asked for next, probably.
template <class Index>
Index PhasedTransport<Index>::cursor_of(int origin, Index first, Index count) {
  const std::size_t f = flow_from(flows_.incoming, origin);
  Reached& reached = reached_[f];
  const Index cursor = first >= reached.blocks
                           ? flows_.advance(reached.cursor, first - reached.blocks)
                           : flows_.advance(flows_.incoming[f].cursor, first);
  reached = {static_cast<Index>(first + count), flows_.advance(cursor, count)};
  return cursor;
}

template <class Index>
void PhasedTransport<Index>::listen() {
  if (uncredited_ == 0 || !transport_.can_signal()) return;
  for (std::size_t k = 0; k < sending_count(); ++k)
    if (transport_.can_send(k)) return transport_.listen();
}

/// Asks for the next message; false when there is none to ask for, or no room for it now.
template <class Index>
bool PhasedTransport<Index>::give_credit() {
  std::size_t k = 0;
  while (k < window && (posted_[k].busy || !transport_.can_receive(k))) ++k;
  if (unasked_ == 0 || k == window) return false;
  for (std::size_t tried = 0; tried < incoming_.size(); ++tried) {
    const std::size_t p = (next_parcel_ + tried) % incoming_.size();
    Parcel<Index>& parcel = incoming_[p];
    if (parcel.done == parcel.count) continue;
    const auto of_parcel = [&](const PostedReceive& posted) {
      return posted.busy && posted.parcel == p;
    };
    if (static_cast<std::size_t>(std::ranges::count_if(posted_, of_parcel)) >= most_of_a_parcel)
      continue;
    const std::uint64_t most = std::min<std::uint64_t>(limits_[p], parcel.count - parcel.done);
    PostedReceive posted;
    posted.parcel = static_cast<std::uint32_t>(p);
    posted.busy = true;
    posted.run = memory_.take_scratch(std::min(most, sizes_.receive_blocks),
                                      transport_.is_written_by(parcel.peer));
    if (posted.run.count == 0) return false;
    const auto count = static_cast<Index>(posted.run.count);
    if (parcel.target == context_.channel.rank())
      posted.cursor =
          cursor_of(parcel.origin, static_cast<Index>(parcel.first + parcel.done), count);
    else
      posted.entry = static_cast<Index>(parcel.waiting + parcel.done);
    transport_.give(k, parcel.peer, memory_.memory(posted.run.first),
                    count * context_.blocks.block_bytes,
                    {.count = static_cast<std::uint32_t>(count),
                     .item = static_cast<std::uint32_t>(p - first_of(incoming_, parcel.peer))});
    posted_[k] = posted;
    parcel.done = static_cast<Index>(parcel.done + count);
    unasked_ -= count;
    next_parcel_ = p + 1;
    return true;
  }
  return false;
}

template <class Index>
void PhasedTransport<Index>::arrived(std::size_t k) {
  PostedReceive& posted = posted_[k];
  to_come_ -= posted.run.count;
  if (incoming_[posted.parcel].target == context_.channel.rank()) {
    context_.observer().moved(posted.run.count);
    memory_.arrived(*transfer_, posted.run, posted.cursor);
  } else {
    memory_.arrived_to_wait(*transfer_, posted.run, posted.entry);
  }
  posted.busy = false;
}

template <class Index>
std::span<const Index> PhasedTransport<Index>::own_slots(const Parcel<Index>& parcel, Index first,
                                                         Index count) const {
  const plan::Outgoing<Index>& flow = flows_.outgoing[flow_from(flows_.outgoing, parcel.target)];
  return {flows_.exports.begin() + flow.first + parcel.first + first,
          static_cast<std::size_t>(count)};
}

/// Sends blocks from where they are if they stand in one run, or if there are no buffers.
template <class Index>
bool PhasedTransport<Index>::send_in_place(const Sending& message, std::size_t k) {
  const Parcel<Index>& parcel = outgoing_[message.parcel];
  const bool has_buffers = sizes_.send_buffers > 0;
  if (parcel.own) {
    const auto slots = own_slots(parcel, message.first, message.count);
    if (has_buffers && transfer_->run_of(slots) == nullptr) return false;
    transport_.send_from_slots(k, parcel.peer, *transfer_, slots, pieces_);
    return true;
  }
  if (has_buffers) return false;
  pieces_.pieces.clear();
  memory_.list_waiting(*transfer_, static_cast<Index>(parcel.waiting + message.first),
                       message.count, pieces_.pieces);
  transport_.send(k, parcel.peer, pieces_, message.count * context_.blocks.block_bytes);
  return true;
}

template <class Index>
void PhasedTransport<Index>::gather(const Sending& message, std::byte* packed) {
  const Parcel<Index>& parcel = outgoing_[message.parcel];
  if (parcel.own)
    transfer_->gather(own_slots(parcel, message.first, message.count), packed);
  else
    memory_.gather_waiting(*transfer_, static_cast<Index>(parcel.waiting + message.first),
                           message.count, packed);
}

template <class Index>
void PhasedTransport<Index>::answer(int rank, const Credit& credit) {
  std::size_t k = 0;
  while (!transport_.can_send(k)) ++k;
  Sending message;
  message.parcel = static_cast<std::uint32_t>(first_of(outgoing_, rank)) + credit.item;
  Parcel<Index>& parcel = outgoing_[message.parcel];
  message.first = parcel.done;
  message.count = static_cast<Index>(credit.count);
  parcel.done = static_cast<Index>(parcel.done + message.count);
  uncredited_ -= message.count;
  ++sending_;
  if (parcel.own) context_.observer().moved(message.count);
  const std::uint64_t bytes = message.count * context_.blocks.block_bytes;
  if (CreditTransport::is_for_writing(credit)) {
    gather(message, transport_.memory_of(rank, credit));
    return transport_.signal(rank, bytes);
  }
  message.in_place = send_in_place(message, k);
  sendings_[k] = message;
  if (message.in_place) return;
  std::byte* const buffer = buffers_ + k * sizes_.send_blocks * context_.blocks.block_bytes;
  gather(message, buffer);
  transport_.send(k, rank, buffer, bytes);
}

template <class Index>
void PhasedTransport<Index>::sent(std::size_t k) {
  --sending_;
  const Sending& message = sendings_[k];
  if (!message.in_place) return;
  const Parcel<Index>& parcel = outgoing_[message.parcel];
  if (parcel.own)
    transfer_->release(own_slots(parcel, message.first, message.count));
  else
    memory_.release_waiting(*transfer_, static_cast<Index>(parcel.waiting + message.first),
                            message.count);
}

template <class Index>
std::uint64_t PhasedTransport<Index>::bytes_in_use() const {
  std::uint64_t blocks = memory_.scratch_in_use();
  for (std::size_t k = 0; k < sending_count(); ++k)
    if (!transport_.can_send(k) && !sendings_[k].in_place) blocks += sendings_[k].count;
  return blocks * context_.blocks.block_bytes;
}

template <class Index>
void PhasedTransport<Index>::advance() {
  listen();
  while (give_credit()) {
  }
}

template <class Index>
void PhasedTransport<Index>::handle(const Event& event) {
  switch (event.kind) {
    case Event::Kind::credit: answer(event.rank, event.credit); break;
    case Event::Kind::received: arrived(event.index); break;
    case Event::Kind::sent: sent(event.index); break;
    case Event::Kind::signalled: --sending_; break;
    default: break;
  }
}

template <class Index>
void PhasedTransport<Index>::run(Transfer<Index>& transfer, std::uint64_t phase,
                                 std::span<const PhaseSend> sends,
                                 std::span<const PhaseReceive> receives) {
  transfer_ = &transfer;
  choose_blocks(sends);
  incoming_.clear();
  limits_.clear();
  if (announces_)
    announce(receives);
  else
    infer(receives);
  unasked_ = uncredited_ = 0;
  for (const Parcel<Index>& parcel : incoming_) unasked_ += parcel.count;
  for (const Parcel<Index>& parcel : outgoing_) uncredited_ += parcel.count;
  to_come_ = unasked_;
  next_parcel_ = first_of(incoming_, context_.channel.rank());
  transport_.set_credit_tag(credit_tag(phase));
  transport_.run(*this);
  memory_.finalize(transfer);
  transport_.note_in_use(*this);
}

template class PhasedTransport<std::uint32_t>;
template class PhasedTransport<std::uint64_t>;

}  // namespace valet::engine
