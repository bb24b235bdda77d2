// SPDX-License-Identifier: BSD-3-Clause
#include <valet/exchange/transfer.hpp>

#include <algorithm>
#include <new>

namespace valet {

Scratch::Scratch(Ledger& ledger, const BlockMover& mover, std::size_t bytes)
    : ledger_(&ledger), memory_(mover.allocate_scratch(bytes)), bytes_(memory_.get(), bytes) {
  ledger.add(bytes);
}

Scratch::~Scratch() {
  if (memory_) ledger_->subtract(bytes_.size());
}

void Scratch::leak() noexcept {
  if (memory_) static_cast<void>(new (std::nothrow) std::shared_ptr<std::byte>(memory_));
}

template <class Index>
Transfer<Index>::Transfer(const Flows<Index>& flows, BlockMover& mover, SlotSet& free,
                          std::span<Index> origins, Trace* trace)
    : flows_(flows), mover_(mover), free_(free), origins_{origins, 0}, trace_(trace) {
  free_.assign(flows.initially_free);
}

template <class Index>
void Transfer<Index>::gather(std::span<const Index> slots, std::byte* packed) {
  {
    const TraceSpan span(trace_, TraceKind::gather, "gather",
                         {.bytes = slots.size() * mover_.block_bytes()});
    mover_.gather(slots, packed);
  }
  release(slots);
}

template <class Index>
void Transfer<Index>::release(std::span<const Index> slots) {
  if (slots.empty()) return;
  // Leavers ascend, so first and last tell whether they are one run.
  if (slots.back() - slots.front() == slots.size() - 1)
    free_.insert(SlotRun{slots.front(), slots.size()});
  else
    free_.insert_ascending(slots);
  if (origins_.entries > 0 && mover_.reachable_by_mpi()) bring_home(slots);
}

/// Moves misplaced arrivals whose final slots have become free.
template <class Index>
void Transfer<Index>::bring_home(std::span<const Index> freed) {
  constexpr std::size_t most = 128;
  std::array<Index, most> from, to;
  for (std::size_t k = 0; k < freed.size();) {
    std::size_t size = 0;
    for (; k < freed.size() && size < most; ++k) {
      const Index origin = origins_.of[freed[k]];
      if (origin == Origins<Index>::none) continue;
      from[size] = origin;
      to[size++] = freed[k];
    }
    // What they leave may be what others wait for.
    while (size > 0) size = move_home(std::span(from).first(size), std::span(to).first(size));
  }
}

/// Moves blocks from slots to their free final ones; returns how many others can follow into the
/// slots that they leave, which both lists then tell.
template <class Index>
std::size_t Transfer<Index>::move_home(std::span<Index> from, std::span<Index> to) {
  mover_.copy(std::span<const Index>(from), std::span<const Index>(to), {});
  moved_home_ += from.size();
  origins_.entries -= from.size();
  std::size_t following = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const Index left = from[k];
    origins_.of[to[k]] = Origins<Index>::none;
    free_.erase(std::uint64_t{to[k]});
    free_.insert(std::uint64_t{left});
    const Index origin = origins_.of[left];
    if (origin == Origins<Index>::none) continue;
    from[following] = origin;
    to[following++] = left;
  }
  return following;
}

template <class Index>
void Transfer<Index>::set_origin(Index final_slot, Index slot) {
  if (!origins_ready_) {
    std::fill(origins_.of.begin(), origins_.of.end(), Origins<Index>::none);
    origins_ready_ = true;
  }
  origins_.of[final_slot] = slot;
  ++origins_.entries;
}

template <class Index>
void Transfer<Index>::landed(Index cursor, SlotRun run) {
  std::array<Index, batch> finals;
  for (std::uint64_t done = 0; done < run.count;) {
    const std::size_t size = std::min<std::uint64_t>(batch, run.count - done);
    cursor = flows_.final_slots(cursor, size, finals.data());
    for (std::size_t k = 0; k < size; ++k) {
      const auto slot = static_cast<Index>(run.first + done + k);
      if (finals[k] != slot) set_origin(finals[k], slot);
    }
    done += size;
  }
}

template <class Index>
std::uint64_t Transfer<Index>::place(const std::byte* packed, Index cursor, std::uint64_t size,
                                     Misplace misplace) {
  if (trace_ == nullptr) return place_some(packed, cursor, size, misplace);
  const double start = trace_->now();
  const std::uint64_t placed = place_some(packed, cursor, size, misplace);
  if (placed > 0)
    trace_->span(TraceKind::scatter, "scatter", start, trace_->now(),
                 {.bytes = placed * mover_.block_bytes()});
  return placed;
}

template <class Index>
std::uint64_t Transfer<Index>::place_some(const std::byte* packed, Index cursor, std::uint64_t size,
                                          Misplace misplace) {
  std::array<Index, batch> slots;
  std::uint64_t done = 0;
  while (done < size && free_.count() > 0) {
    const std::size_t wanted = std::min({std::uint64_t{batch}, size - done, free_.count()});
    const auto part = std::span(slots).first(wanted);
    cursor = flows_.final_slots(cursor, wanted, part.data());
    std::size_t placed = wanted;
    if (misplace == Misplace::never)
      placed = take_final_slots(part);
    else
      take_any_slots(part);
    mover_.scatter(packed + done * mover_.block_bytes(),
                   std::span<const Index>(part).first(placed));
    done += placed;
    if (placed < wanted) break;
  }
  return done;
}

/// Takes final slots up to the first that is not free; returns how many.
template <class Index>
std::size_t Transfer<Index>::take_final_slots(std::span<const Index> finals) {
  constexpr std::size_t long_run = 16;
  // Where Valet chooses the slots they ascend, so both ends tell whether they are a run.
  const auto is_run = [&](std::size_t first) {
    return flows_.form != Form::slots && first + long_run <= finals.size() &&
           finals[first + long_run - 1] - finals[first] == long_run - 1;
  };
  std::size_t taken = 0;
  while (taken < finals.size() && free_.contains(finals[taken])) {
    // Final slots are often runs, and so are free ones: those are taken a word at a time.
    if (is_run(taken)) {
      std::size_t run = long_run;
      while (taken + run < finals.size() && finals[taken + run] == finals[taken] + run) ++run;
      const SlotRun free_run = free_.next_run(finals[taken], run);
      free_.erase(free_run);
      taken += free_run.count;
      if (free_run.count < run) break;
    } else {
      free_.erase(std::uint64_t{finals[taken++]});
    }
  }
  return taken;
}

/// Replaces final slots that are not free by the highest free ones. Final slots first: a misplaced
/// block must not take the final slot of another. The caller saw that enough slots are free.
template <class Index>
void Transfer<Index>::take_any_slots(std::span<Index> slots) {
  std::array<std::uint16_t, batch> misfits;
  std::size_t count = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    if (free_.contains(slots[k]))
      free_.erase(std::uint64_t{slots[k]});
    else
      misfits[count++] = static_cast<std::uint16_t>(k);
  }
  std::array<Index, batch> others;
  free_.take_highest(std::span(others).first(count));
  for (std::size_t m = 0; m < count; ++m) {
    Index& slot = slots[misfits[m]];
    set_origin(slot, others[m]);
    slot = others[m];
  }
}

template <class Index>
void Transfer<Index>::place(const std::byte* packed, std::span<Index> finals) {
  const TraceSpan span(trace_, TraceKind::scatter, "scatter",
                       {.bytes = finals.size() * mover_.block_bytes()});
  for (std::size_t done = 0; done < finals.size(); done += batch) {
    const auto part = finals.subspan(done, std::min(batch, finals.size() - done));
    take_any_slots(part);
    mover_.scatter(packed + done * mover_.block_bytes(), std::span<const Index>(part));
  }
}

template <class Index>
void Transfer<Index>::keep(const std::byte* packed, std::span<Index> slots) {
  const TraceSpan span(trace_, TraceKind::scatter, "scatter to wait",
                       {.bytes = slots.size() * mover_.block_bytes()});
  free_.take_highest(slots);
  mover_.scatter(packed, std::span<const Index>(slots));
}

template <class Index>
std::uint64_t Transfer<Index>::redistribute(std::span<std::byte> scratch) {
  flows_.for_each_local_move([&](Index from, Index to) { set_origin(to, from); });
  if (origins_.entries == 0) return moved_home_;
  const TraceSpan span(trace_, TraceKind::copy, "local moves",
                       {.bytes = origins_.entries * mover_.block_bytes()});
  return moved_home_ + redistribute_locally(mover_, origins_, free_, scratch);
}

template class Transfer<std::uint32_t>;
template class Transfer<std::uint64_t>;

}  // namespace valet
