// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/phased_memory.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace valet::engine {

template <class Index>
PhasedMemory<Index>::PhasedMemory(const ExchangeContext& context, const plan::Flows<Index>& flows,
                                  const schedule::PhasedSizes& sizes)
    : flows_(flows),
      block_bytes_(context.blocks.block_bytes),
      most_waiting_(sizes.most_waiting),
      node_places_(sizes.node_places),
      node_memory_(context.node.own().data()),
      scratch_free_(context.ledger, sizes.places()),
      finals_(context.ledger, static_cast<std::size_t>(sizes.places())),
      groups_(LedgerAllocator<Group>(context.ledger)),
      waiting_(LedgerAllocator<Index>(context.ledger)) {
  if (most_waiting_ == 0) return;
  waiting_.reserve(static_cast<std::size_t>(most_waiting_));
  groups_.reserve(static_cast<std::size_t>(sizes.most_groups));
}

template <class Index>
void PhasedMemory<Index>::start(std::byte* places) {
  places_ = places;
  groups_.clear();
  waiting_.clear();
  std::fill(finals_.begin(), finals_.end(), nothing);
  for (std::uint64_t place = 0; place < scratch_free_.slots(); ++place)
    if (!scratch_free_.contains(place)) scratch_free_.insert(place);
}

template <class Index>
storage::SlotRun PhasedMemory<Index>::take_scratch(std::uint64_t most, bool on_node) {
  // Each kind is contiguous memory; where a message goes is all the same.
  const storage::SlotRun node{0, node_places_};
  const storage::SlotRun rest{node_places_, scratch_free_.slots() - node_places_};
  for (const storage::SlotRun& kind : {on_node ? node : rest, on_node ? rest : node}) {
    const std::uint64_t end = kind.first + kind.count;
    const std::uint64_t first = scratch_free_.next(kind.first);
    if (first >= end) continue;
    const storage::SlotRun run = scratch_free_.next_run(first, std::min(most, end - first));
    scratch_free_.erase(run);
    return run;
  }
  return {};
}

template <class Index>
void PhasedMemory<Index>::arrived(Transfer<Index>& transfer, storage::SlotRun run, Index cursor) {
  std::array<Index, 512> finals;
  for (std::uint64_t done = 0; done < run.count;) {
    const std::uint64_t size = std::min<std::uint64_t>(finals.size(), run.count - done);
    cursor = flows_.final_slots(cursor, static_cast<std::size_t>(size), finals.data());
    const std::uint64_t placed = std::min(size, transfer.free().count());
    const std::uint64_t here = run.first + done;
    transfer.place(memory(here), std::span(finals).first(static_cast<std::size_t>(placed)));
    if (placed > 0) scratch_free_.insert(storage::SlotRun{here, placed});
    for (std::uint64_t k = placed; k < size; ++k)
      finals_[static_cast<std::size_t>(here + k)] = finals[static_cast<std::size_t>(k)];
    done += size;
  }
}

template <class Index>
Index PhasedMemory<Index>::expect(const Parcel<Index>& parcel) {
  // The memory for both is part of what is promised, and does not grow.
  if (waiting_groups() == 0 || waiting_room() < parcel.count)
    throw Error(ErrorCode::internal, "more blocks wait than can be kept account of");
  const auto entry = static_cast<Index>(waiting_.size());
  groups_.push_back({parcel.target, parcel.origin, parcel.first, parcel.count, entry});
  waiting_.resize(waiting_.size() + parcel.count);
  return entry;
}

template <class Index>
void PhasedMemory<Index>::arrived_to_wait(Transfer<Index>& transfer, storage::SlotRun run,
                                          Index entry) {
  const std::uint64_t kept = std::min(run.count, transfer.free().count());
  const auto places = std::span(waiting_).subspan(entry, static_cast<std::size_t>(run.count));
  transfer.keep(memory(run.first), places.first(static_cast<std::size_t>(kept)));
  if (kept > 0) scratch_free_.insert(storage::SlotRun{run.first, kept});
  for (std::uint64_t k = kept; k < run.count; ++k)
    places[static_cast<std::size_t>(k)] = static_cast<Index>(flows_.slots + run.first + k);
}

template <class Index>
Parcel<Index> PhasedMemory<Index>::take_waiting(int target, std::uint64_t most) {
  Parcel<Index> parcel;
  parcel.target = target;
  for (Group& group : groups_) {
    if (group.target != target || group.count == 0) continue;
    parcel.origin = group.origin;
    parcel.first = group.first;
    parcel.waiting = group.entry;
    parcel.count = static_cast<Index>(std::min<std::uint64_t>(most, group.count));
    group.first = static_cast<Index>(group.first + parcel.count);
    group.entry = static_cast<Index>(group.entry + parcel.count);
    group.count = static_cast<Index>(group.count - parcel.count);
    break;
  }
  return parcel;
}

template <class Index>
void PhasedMemory<Index>::release(Transfer<Index>& transfer, Index place) {
  if (in_scratch(place))
    scratch_free_.insert(scratch_of(place));
  else
    transfer.release(std::span<const Index>(&place, 1));
}

template <class Index>
void PhasedMemory<Index>::release_waiting(Transfer<Index>& transfer, Index entry, Index count) {
  for (std::size_t k = 0; k < count; ++k) release(transfer, waiting_[entry + k]);
}

template <class Index>
void PhasedMemory<Index>::gather_waiting(Transfer<Index>& transfer, Index entry, Index count,
                                         std::byte* packed) {
  const auto places = std::span<const Index>(waiting_).subspan(entry, count);
  for (std::size_t first = 0; first < places.size();) {
    std::size_t last = first;
    while (last < places.size() && !in_scratch(places[last])) ++last;
    {
      const observe::TraceSpan span(transfer.trace(), observe::TraceKind::gather,
                                    "gather those that wait",
                                    {.bytes = (last - first) * block_bytes_});
      transfer.backend().gather(places.subspan(first, last - first), packed + first * block_bytes_);
    }
    for (; last < places.size() && in_scratch(places[last]); ++last)
      std::memcpy(packed + last * block_bytes_, memory(scratch_of(places[last])), block_bytes_);
    first = last;
  }
  release_waiting(transfer, entry, count);
}

template <class Index>
void PhasedMemory<Index>::list_waiting(Transfer<Index>& transfer, Index entry, Index count,
                                       Vector<MemoryPiece>& pieces) {
  for (const Index place : std::span<const Index>(waiting_).subspan(entry, count)) {
    if (in_scratch(place))
      pieces.push_back({memory(scratch_of(place)), block_bytes_});
    else
      transfer.backend().pieces(place, pieces);
  }
}

template <class Index>
void PhasedMemory<Index>::finalize(Transfer<Index>& transfer) {
  std::size_t kept_groups = 0;
  std::size_t kept = 0;
  for (const Group& group : groups_) {
    if (group.count == 0) continue;
    std::copy_n(waiting_.begin() + static_cast<std::ptrdiff_t>(group.entry), group.count,
                waiting_.begin() + static_cast<std::ptrdiff_t>(kept));
    groups_[kept_groups] = group;
    groups_[kept_groups++].entry = static_cast<Index>(kept);
    kept += group.count;
  }
  groups_.resize(kept_groups);
  waiting_.resize(kept);
  if (scratch_free_.count() == scratch_free_.slots()) return;
  for (std::uint64_t place = scratch_free_.next_absent(0);
       place < scratch_free_.slots() && transfer.free().count() > 0;
       place = scratch_free_.next_absent(place + 1)) {
    Index& final_slot = finals_[static_cast<std::size_t>(place)];
    if (final_slot == nothing) continue;  // it waits for another rank
    transfer.place(memory(place), std::span(&final_slot, 1));
    final_slot = nothing;
    scratch_free_.insert(place);
  }
  for (std::size_t k = 0; k < waiting_.size() && transfer.free().count() > 0; ++k) {
    if (!in_scratch(waiting_[k])) continue;
    const std::uint64_t place = scratch_of(waiting_[k]);
    transfer.keep(memory(place), std::span(&waiting_[k], 1));
    scratch_free_.insert(place);
  }
}

template class PhasedMemory<std::uint32_t>;
template class PhasedMemory<std::uint64_t>;

}  // namespace valet::engine
