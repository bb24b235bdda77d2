// SPDX-License-Identifier: BSD-3-Clause
#include "step_streams.hpp"

#include <algorithm>
#include <string>

namespace valet::zoltan {

StepSender::StepSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
                       std::uint64_t chunk)
    : context_(context),
      exports_(exports),
      sizes_(sizes),
      chunk_(chunk),
      object_bytes_(message_object_bytes(context.callbacks.entries())),
      flows_(context.ledger),
      checksums_(context.ledger, exports.peers),
      parked_(context.ledger),
      connections_(exports.peers.begin(), exports.peers.end(), context.ledger),
      ranges_(context.ledger),
      legs_(context.ledger) {
  flows_.reserve(exports.peers.size());
  ranges_.reserve(exports.peers.size());
  legs_.reserve(exports.peers.size());
  std::uint64_t first = 0;
  for (const Peer& peer : exports.peers) {
    flows_.push_back({first, 0});
    first += peer.count;
  }
}

std::uint64_t StepSender::cost_of_ranges(std::uint64_t object_bytes) const {
  std::uint64_t cost = 0;
  for (const StepRange& range : ranges_)
    cost += sum_of(sizes_.subspan(range.first, range.end - range.first)) +
            (range.end - range.first) * object_bytes;
  return cost;
}

std::uint64_t StepSender::left(std::size_t connection) const {
  const int rank = connections_[connection].rank;
  const std::size_t pair = exports_.peer_of(rank);
  const bool own = pair < exports_.peers.size() && exports_.peers[pair].rank == rank;
  return parked_.waiting_for(rank) + (own ? left_of(pair) : 0);
}

void StepSender::connect(int target) {
  const auto at = std::ranges::lower_bound(connections_, target, {}, &Peer::rank);
  if (at == connections_.end() || at->rank != target) connections_.insert(at, Peer{target, 0});
}

void StepSender::clear() {
  legs_.clear();
  leg_ = 0;
  first_ = end_ = 0;
}

void StepSender::add(std::size_t taker, std::size_t pair, std::uint64_t objects) {
  Flow& flow = flows_[pair];
  const std::uint64_t first = flow.first + flow.sent;
  flow.sent += objects;
  legs_.push_back({taker, pair, first, sizes_.subspan(first, objects), nullptr});
  ranges_.push_back({exports_.peers[pair].rank, pair, first, first + objects, 0});
}

void StepSender::begin_step(std::span<const std::uint64_t> wanted) {
  clear();
  ranges_.clear();
  const auto behind =
      std::ranges::upper_bound(connections_, context_.channel.rank(), {}, &Peer::rank);
  const auto start = static_cast<std::size_t>(behind - connections_.begin());
  for (std::size_t k = 0; k < connections_.size(); ++k) {
    const std::size_t c = (start + k) % connections_.size();
    std::uint64_t objects = wanted[c];
    const int rank = connections_[c].rank;
    while (objects > 0) {
      const ParkedObjects::Piece piece = parked_.take(rank, objects);
      if (piece.sizes.empty()) break;
      legs_.push_back({c, 0, 0, piece.sizes, piece.data});
      objects -= piece.sizes.size();
    }
    if (objects > 0) add(c, exports_.peer_of(rank), objects);
  }
}

bool StepSender::next(Vector<OutgoingMessage>& messages) {
  if (leg_ < legs_.size() && end_ == legs_[leg_].sizes.size()) {
    ++leg_;
    end_ = 0;
  }
  if (leg_ == legs_.size()) return false;
  const Leg& leg = legs_[leg_];
  first_ = end_;
  end_ = message_end(leg.sizes, first_);
  const std::uint64_t bytes = sum_of(leg.sizes.subspan(first_, end_ - first_));
  if (bytes > 0) messages.push_back({leg.connection, bytes});
  return true;
}

void StepSender::make(std::size_t buffer, std::span<OutgoingMessage> messages) {
  Leg& leg = legs_[leg_];
  OutgoingMessage empty;
  OutgoingMessage& message = messages.empty() ? empty : messages.front();
  if (leg.data == nullptr) {
    message.data = own_objects(leg.pair, leg.first + first_, leg.first + end_, message.bytes,
                               message.data, buffer);
  } else {
    message.data = leg.data;
    leg.data += message.bytes;
  }
}

PackingSender::PackingSender(Context& context, const ObjectList& exports,
                             std::span<const int> sizes, const Scratch& scratch)
    : StepSender(context, exports, sizes, scratch.chunk) {
  for (const int size : sizes) capacity_ = std::max(capacity_, static_cast<std::uint64_t>(size));
  const bool large = capacity_ + object_bytes_ > chunk_;
  if (large && 2 * capacity_ > scratch.budget / 2) buffers_ = 1;
  capacity_ = std::min(std::max(chunk_, capacity_), std::max(sum_of(sizes), std::uint64_t{1}));
  const std::uint64_t most =
      std::min<std::uint64_t>(std::max<std::uint64_t>(chunk_ / object_bytes_, 1), sizes.size());
  again_ = Array<int>(context.ledger, most);
  offsets_ = Array<int>(context.ledger, most);
  if (exports.grouped) return;
  const EntryCounts& entries = context.callbacks.entries();
  destinations_ = Array<int>(context.ledger, most);
  gids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.gid));
  lids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.lid));
}

/// The objects of a message consecutive, as the callbacks want them.
PackingSender::Gathered PackingSender::gather(std::uint64_t first, std::uint64_t count) {
  const EntryCounts& entries = context_.callbacks.entries();
  if (exports_.grouped) return {exports_.ids.from(entries, first), exports_.destinations() + first};
  const ObjectIds gathered{gids_.data(), lids_.data()};
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t from = exports_.order[first + k];
    exports_.ids.copy(entries, from, gathered, k);
    destinations_[k] = exports_.destinations()[from];
  }
  return {gathered, destinations_.data()};
}

void PackingSender::pack(std::size_t pair, std::uint64_t first, std::uint64_t end,
                         std::byte* memory) {
  const std::uint64_t count = end - first;
  const Gathered objects = gather(first, count);
  std::uint64_t offset = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    offsets_[k] = static_cast<int>(offset);
    offset += static_cast<std::uint64_t>(sizes_[first + k]);
  }
  ++context_.report.batches;
  const observe::TraceSpan span(context_.trace, observe::TraceKind::gather, "pack");
  diagnostic = context_.callbacks.pack({objects.ids,
                                        objects.destinations,
                                        {again_.data(), count},
                                        {offsets_.data(), count},
                                        memory,
                                        context_.parameters.verify ? &context_.ledger : nullptr},
                                       sizes_.subspan(first, count), true, first,
                                       context_.report.objects_packed);
  if (diagnostic || !context_.parameters.verify) return;
  for (std::uint64_t k = 0; k < count; ++k)
    checksums_.add(pair, memory + offsets_[k], sizes_[first + k]);
}

std::byte* PackingSender::own_objects(std::size_t pair, std::uint64_t first, std::uint64_t end,
                                      std::uint64_t, std::byte* shared, std::size_t buffer) {
  std::byte* const own = context_.workspace.sent.data() + buffer * capacity_;
  std::byte* const memory = shared != nullptr ? shared : own;
  // After a failure the others still get what they wait for; they learn of it before they use it.
  if (!diagnostic) pack(pair, first, end, memory);
  return memory;
}

StepReceiver::StepReceiver(Context& context, std::span<const int> sizes, std::uint64_t chunk,
                           Placement placement)
    : context_(context),
      sizes_(sizes),
      chunk_(chunk),
      object_bytes_(message_object_bytes(context.callbacks.entries())),
      placement_(placement),
      places_(context.ledger),
      cursors_(context.ledger) {}

void StepReceiver::begin_step(const StepPlanner& planner, std::byte* memory) {
  ranges_ = planner.ranges();
  places_.resize(ranges_.size());
  cursors_.assign(planner.connections().size(), Cursor{});
  std::byte* behind = memory;
  std::size_t c = 0;
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    const StepRange& range = ranges_[r];
    places_[r] = placement_ == Placement::packed ? behind : memory + range.offset;
    behind += sum_of(sizes_.subspan(range.first, range.end - range.first));
    while (planner.connections()[c].rank < range.peer) ++c;
    if (cursors_[c].end == 0) cursors_[c] = {r, r, range.first, places_[r]};
    cursors_[c].end = r + 1;
  }
}

bool StepReceiver::next(std::size_t peer, MemoryPiece& memory) {
  Cursor& cursor = cursors_[peer];
  while (cursor.range < cursor.end) {
    const StepRange& range = ranges_[cursor.range];
    const std::uint64_t first = cursor.object;
    cursor.object = batch_end(sizes_.first(range.end), first, chunk_, object_bytes_);
    memory = {cursor.data, sum_of(sizes_.subspan(first, cursor.object - first))};
    cursor.data += memory.bytes;
    if (cursor.object == range.end && ++cursor.range < cursor.end) {
      cursor.object = ranges_[cursor.range].first;
      cursor.data = places_[cursor.range];
    }
    if (memory.bytes > 0) return true;
  }
  return false;
}

}  // namespace valet::zoltan
