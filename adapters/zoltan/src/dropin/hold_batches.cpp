// SPDX-License-Identifier: BSD-3-Clause
#include "hold_batches.hpp"

#include <algorithm>
#include <string>

namespace valet::zoltan {

HoldBatches::HoldBatches(Context& context, const ObjectList& exports, std::span<int> sizes,
                         std::uint64_t limit)
    : context_(context),
      exports_(exports),
      sizes_(sizes),
      limit_(limit),
      parts_(exports.peers.size(), context.ledger),
      touched_(context.ledger),
      checksums_(context.ledger, exports.peers) {
  touched_.reserve(exports.peers.size());
  for (std::uint64_t first = 0; first < sizes_.size();) {
    const std::uint64_t end = batch_end(sizes_, first, limit_, object_bytes);
    capacity_ = std::max(capacity_, look_at(first, end));
    most_objects_ = std::max(most_objects_, end - first);
    ++batches_;
    first = end;
  }
}

void HoldBatches::allocate() {
  batch_sizes_ = Array<int>(context_.ledger, most_objects_);
  batch_offsets_ = Array<int>(context_.ledger, most_objects_);
}

std::size_t HoldBatches::peer_at(std::uint64_t object) {
  const int rank = exports_.procs[object];
  if (exports_.peers[last_peer_].rank != rank) last_peer_ = exports_.peer_of(rank);
  return last_peer_;
}

/// Sums up parts_ over a batch and lists its destinations in touched_.
std::uint64_t HoldBatches::look_at(std::uint64_t first, std::uint64_t end) {
  for (const std::size_t peer : touched_) parts_[peer] = {};
  touched_.clear();
  std::uint64_t total = 0;
  for (std::uint64_t k = first; k < end; ++k) {
    Part& part = parts_[peer_at(k)];
    if (part.objects == 0) touched_.push_back(last_peer_);
    const auto size = static_cast<std::uint64_t>(plain_size(sizes_[k]));
    part.bytes += size;
    ++part.objects;
    part.last = k + 1;
    total += size;
  }
  return total;
}

/// Where in the batch every object goes, the destinations consecutive.
void HoldBatches::assign_offsets() {
  std::uint64_t start = 0;
  for (const std::size_t peer : touched_) {
    parts_[peer].end = start;
    start += parts_[peer].bytes;
  }
  for (std::uint64_t k = first_; k < end_; ++k) {
    Part& part = parts_[peer_at(k)];
    batch_offsets_[k - first_] = static_cast<int>(part.end);
    part.end += static_cast<std::uint64_t>(plain_size(sizes_[k]));
  }
}

void HoldBatches::add_checksums(const std::byte* memory) {
  for (std::uint64_t k = first_; k < end_; ++k)
    checksums_.add(peer_at(k), memory + batch_offsets_[k - first_], batch_sizes_[k - first_]);
}

bool HoldBatches::next() {
  if (end_ == sizes_.size()) return false;
  first_ = end_;
  end_ = batch_end(sizes_, first_, limit_, object_bytes);
  look_at(first_, end_);
  return true;
}

void HoldBatches::pack(std::byte* memory) {
  assign_offsets();
  if (diagnostic_) return;  // the others still get what they wait for; they learn of it before mid
  const std::size_t count = end_ - first_;
  ++context_.report.batches;
  const observe::TraceSpan span(context_.trace, observe::TraceKind::gather, "pack");
  diagnostic_ = context_.callbacks.pack({exports_.ids.from(context_.callbacks.entries(), first_),
                                         exports_.destinations() + first_,
                                         {batch_sizes_.data(), count},
                                         {batch_offsets_.data(), count},
                                         memory,
                                         context_.parameters.verify ? &context_.ledger : nullptr},
                                        sizes_.subspan(first_, count), batches_ > 1, first_,
                                        context_.report.objects_packed);
  if (context_.parameters.verify && !diagnostic_) add_checksums(memory);
}

}  // namespace valet::zoltan
