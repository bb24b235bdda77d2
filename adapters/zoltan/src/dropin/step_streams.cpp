// SPDX-License-Identifier: BSD-3-Clause
#include "step_streams.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace valet::zoltan {
namespace {

std::uint64_t sum_of(std::span<const int> sizes) {
  return std::accumulate(
      sizes.begin(), sizes.end(), std::uint64_t{0},
      [](std::uint64_t sum, int size) { return sum + static_cast<std::uint64_t>(size); });
}

}  // namespace

StepSender::StepSender(Context& context, const ObjectList& exports, std::span<const int> sizes,
                       const Scratch& scratch)
    : context_(context),
      exports_(exports),
      sizes_(sizes),
      chunk_(scratch.chunk),
      object_bytes_(message_object_bytes(context.callbacks.entries())),
      flows_(LedgerAllocator<Flow>(context.ledger)),
      ranges_(LedgerAllocator<StepRange>(context.ledger)),
      checksums_(context.ledger, exports.peers) {
  flows_.reserve(exports.peers.size());
  ranges_.reserve(exports.peers.size());
  std::uint64_t first = 0;
  for (const Peer& peer : exports.peers) {
    flows_.push_back({first, 0, 0});
    first += peer.count;
  }
  std::uint64_t most = 0;
  for (const int size : sizes) capacity_ = std::max(capacity_, static_cast<std::uint64_t>(size));
  const bool large = capacity_ + object_bytes_ > chunk_;
  if (large && 2 * capacity_ > scratch.budget / 2) buffers_ = 1;
  capacity_ = std::min(std::max(chunk_, capacity_), std::max(sum_of(sizes), std::uint64_t{1}));
  most = std::min<std::uint64_t>(std::max<std::uint64_t>(chunk_ / object_bytes_, 1), sizes.size());
  memory_ = Array<std::byte>(context.ledger, buffers_ * capacity_);
  again_ = Array<int>(context.ledger, most);
  offsets_ = Array<int>(context.ledger, most);
  if (exports.grouped) return;
  const EntryCounts& entries = context.callbacks.entries();
  destinations_ = Array<int>(context.ledger, most);
  gids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.gid));
  lids_ = Array<ZOLTAN_ID_TYPE>(context.ledger, most * static_cast<std::uint64_t>(entries.lid));
}

void StepSender::begin_step(std::span<const std::uint64_t> wanted) {
  ranges_.clear();
  const std::size_t behind = exports_.peer_of(context_.channel.rank() + 1);
  for (std::size_t k = 0; k < flows_.size(); ++k) {
    const std::size_t peer = (behind + k) % flows_.size();
    Flow& flow = flows_[peer];
    flow.messages = 0;
    if (wanted[peer] == Transport::no_word || wanted[peer] == 0) continue;
    const std::uint64_t first = flow.first + flow.sent;
    const std::uint64_t end = first + wanted[peer];
    for (std::uint64_t m = first; m < end;) {
      const std::uint64_t next = message_end(m, end);
      if (sum_of(sizes_.subspan(m, next - m)) > 0) ++flow.messages;
      m = next;
    }
    flow.sent += wanted[peer];
    ranges_.push_back({peer, first, end});
  }
  range_ = 0;
  next_ = ranges_.empty() ? 0 : ranges_[0].first;
}

/// The objects of a message one behind another, as the callbacks want them.
StepSender::Gathered StepSender::gather(std::uint64_t first, std::uint64_t count) {
  const EntryCounts& entries = context_.callbacks.entries();
  if (exports_.grouped) return {exports_.ids.from(entries, first), exports_.destinations() + first};
  const auto gids = static_cast<std::size_t>(entries.gid);
  const auto lids = static_cast<std::size_t>(entries.lid);
  for (std::uint64_t k = 0; k < count; ++k) {
    const std::uint64_t from = exports_.order[first + k];
    std::copy_n(exports_.ids.gid(entries, from), gids, gids_.data() + k * gids);
    if (lids > 0) std::copy_n(exports_.ids.lid(entries, from), lids, lids_.data() + k * lids);
    destinations_[k] = exports_.destinations()[from];
  }
  return {{gids_.data(), lids_.data()}, destinations_.data()};
}

void StepSender::pack(std::size_t peer, std::uint64_t first, std::uint64_t end, std::byte* memory) {
  const std::uint64_t count = end - first;
  const Gathered objects = gather(first, count);
  // Sizes come in pairs with packs, on the same list, as in HOLD.
  defect = context_.callbacks.sizes(objects.ids, first, {again_.data(), count});
  if (defect) return;
  std::uint64_t offset = 0;
  for (std::uint64_t k = 0; k < count; ++k) {
    const int size = sizes_[first + k];
    if (again_[k] > size) {
      defect =
          Defect{ErrorCode::invalid_argument,
                 "the size of an export grew from " + std::to_string(size) + " to " +
                     std::to_string(again_[k]) +
                     " bytes in the course of the steps; give the size that is needed at once"};
      return;
    }
    again_[k] = size;
    offsets_[k] = static_cast<int>(offset);
    offset += static_cast<std::uint64_t>(size);
  }
  ++context_.report.batches;
  defect = context_.callbacks.pack(
      {objects.ids, objects.destinations, {again_.data(), count}, {offsets_.data(), count}, memory},
      first, context_.report.objects_packed);
  if (defect || !context_.parameters.verify) return;
  for (std::uint64_t k = 0; k < count; ++k)
    checksums_.add(peer, memory + offsets_[k], sizes_[first + k]);
}

bool StepSender::fill(std::size_t buffer, Vector<OutgoingMessage>& messages) {
  if (range_ == ranges_.size()) return false;
  const StepRange& range = ranges_[range_];
  const std::uint64_t first = next_;
  next_ = message_end(first, range.end);
  const std::uint64_t bytes = sum_of(sizes_.subspan(first, next_ - first));
  std::byte* const memory = memory_.data() + buffer * capacity_;
  // What an application does not write arrives as zeros, as in stock Zoltan.
  if (bytes > 0) std::memset(memory, 0, bytes);
  // After a failure the others still get what they wait for; they learn of it before they use it.
  if (!defect) pack(range.peer, first, next_, memory);
  if (bytes > 0) messages.push_back({range.peer, memory, bytes});
  if (next_ == range.end && ++range_ < ranges_.size()) next_ = ranges_[range_].first;
  return true;
}

StepReceiver::StepReceiver(Context& context, std::span<const Peer> sources,
                           std::span<const int> sizes, std::uint64_t chunk)
    : context_(context),
      sizes_(sizes),
      chunk_(chunk),
      object_bytes_(message_object_bytes(context.callbacks.entries())),
      cursors_(sources.size(), LedgerAllocator<Cursor>(context.ledger)),
      ranges_(LedgerAllocator<StepRange>(context.ledger)) {
  ranges_.reserve(sources.size());
}

void StepReceiver::begin_step(const StepPlanner& planner, std::span<const std::uint64_t> grants,
                              std::byte* memory) {
  ranges_.clear();
  for (std::size_t s = 0; s < cursors_.size(); ++s) {
    const std::uint64_t end = planner.first_of(s) + planner.taken(s);
    const std::uint64_t first = end - grants[s];
    cursors_[s] = {first, end, memory};
    if (grants[s] == 0) continue;
    ranges_.push_back({s, first, end});
    memory += sum_of(sizes_.subspan(first, grants[s]));
  }
}

bool StepReceiver::next(std::size_t peer, MemoryPiece& place) {
  Cursor& cursor = cursors_[peer];
  while (cursor.object < cursor.end) {
    const std::uint64_t first = cursor.object;
    cursor.object = batch_end(sizes_.first(cursor.end), first, chunk_, object_bytes_);
    place = {cursor.data, sum_of(sizes_.subspan(first, cursor.object - first))};
    if (place.bytes == 0) continue;
    cursor.data += place.bytes;
    return true;
  }
  return false;
}

}  // namespace valet::zoltan
