// SPDX-License-Identifier: BSD-3-Clause
#include "engine/local_slots.hpp"

#include "mpi/check.hpp"

#include <algorithm>
#include <array>

namespace valet::engine {

LocalSlots::LocalSlots(const plan::Flows& flows, StorageBackend& backend, storage::SlotSet& free,
                       std::span<SlotIndex> origins, observe::Trace* trace,
                       const storage::NodeMemory* node, VacatedSlots* vacated)
    : flows_(flows),
      backend_(backend),
      free_(free),
      origins_{origins, 0},
      trace_(trace),
      node_(node),
      vacated_(backend.reachable_by_host() ? vacated : nullptr) {
  if (!flows.in_order()) free_.assign(flows.initially_free);
}

void LocalSlots::gather(SlotList slots, std::byte* packed, bool past_cache) {
  {
    const observe::TraceSpan span(trace_, observe::TraceKind::gather, "gather",
                                  {.bytes = slots.size() * backend_.block_bytes()});
    if (past_cache)
      backend_.start_gather(slots, packed);
    else
      backend_.gather(slots, packed);
  }
  release(slots);
}

void LocalSlots::release(SlotList slots) {
  if (vacated_ != nullptr) vacated_->leave(slots);
  if (slots.empty() || flows_.in_order()) return;
  // Exports ascend, so first and last tell whether they are one run.
  if (slots.back() - slots.front() == slots.size() - 1)
    free_.insert(storage::SlotRun{slots.front(), slots.size()});
  else
    free_.insert_ascending(slots);
  if (origins_.entries > 0 && backend_.reachable_by_host()) relocate(slots);
}

/// Moves misplaced arrivals whose final slots have become free.
void LocalSlots::relocate(SlotList freed) {
  constexpr std::size_t most = 128;
  std::array<SlotIndex, most> from, to;
  for (std::size_t k = 0; k < freed.size();) {
    std::size_t size = 0;
    for (; k < freed.size() && size < most; ++k) {
      const SlotIndex origin = origins_.of[freed[k]];
      if (origin == storage::Origins::none) continue;
      from[size] = origin;
      to[size++] = freed[k];
    }
    // What they leave may be what others wait for.
    while (size > 0) size = relocate_some(std::span(from).first(size), std::span(to).first(size));
  }
}

/// Moves blocks from slots to their free final ones; returns how many others can follow into the
/// slots that they leave, which are in both lists then.
std::size_t LocalSlots::relocate_some(std::span<SlotIndex> from, std::span<SlotIndex> to) {
  backend_.copy(SlotList(from), SlotList(to), {});
  relocated_ += from.size();
  origins_.entries -= from.size();
  std::size_t following = 0;
  for (std::size_t k = 0; k < from.size(); ++k) {
    const SlotIndex left = from[k];
    origins_.of[to[k]] = storage::Origins::none;
    free_.erase(std::uint64_t{to[k]});
    free_.insert(std::uint64_t{left});
    const SlotIndex origin = origins_.of[left];
    if (origin == storage::Origins::none) continue;
    from[following] = origin;
    to[following++] = left;
  }
  return following;
}

void LocalSlots::set_origin(SlotIndex final_slot, SlotIndex slot) {
  if (!origins_ready_) {
    std::fill(origins_.of.begin(), origins_.of.end(), storage::Origins::none);
    origins_ready_ = true;
  }
  origins_.of[final_slot] = slot;
  ++origins_.entries;
}

void LocalSlots::landed(SlotIndex cursor, storage::SlotRun run) {
  std::array<SlotIndex, chunk> finals;
  for (std::uint64_t done = 0; done < run.count;) {
    const std::size_t size = std::min<std::uint64_t>(chunk, run.count - done);
    cursor = flows_.final_slots(cursor, size, finals.data());
    for (std::size_t k = 0; k < size; ++k) {
      const auto slot = static_cast<SlotIndex>(run.first + done + k);
      if (finals[k] == slot) continue;
      set_origin(finals[k], slot);
      ++misplaced_;
    }
    done += size;
  }
}

std::uint64_t LocalSlots::store(const std::byte* packed, SlotIndex cursor, std::uint64_t size,
                                Misplace misplace) {
  if (trace_ == nullptr) return store_some(packed, cursor, size, misplace);
  const double start = trace_->now();
  const std::uint64_t stored = store_some(packed, cursor, size, misplace);
  if (stored > 0)
    trace_->span(observe::TraceKind::scatter, "scatter", start, trace_->now(),
                 {.bytes = stored * backend_.block_bytes()});
  return stored;
}

std::uint64_t LocalSlots::store_some(const std::byte* packed, SlotIndex cursor, std::uint64_t size,
                                     Misplace misplace) {
  std::array<SlotIndex, chunk> slots;
  std::uint64_t done = 0;
  while (done < size && free_.count() > 0) {
    const std::size_t wanted = std::min({std::uint64_t{chunk}, size - done, free_.count()});
    const auto part = std::span(slots).first(wanted);
    cursor = flows_.final_slots(cursor, wanted, part.data());
    std::size_t stored = wanted;
    if (misplace == Misplace::never)
      stored = take_final_slots(part);
    else
      take_any_slots(part);
    scatter(packed + done * backend_.block_bytes(), SlotList(part).first(stored));
    done += stored;
    if (stored < wanted) break;
  }
  return done;
}

/// Unpacks, and measures it where another rank has written the blocks.
void LocalSlots::scatter(const std::byte* packed, SlotList slots) {
  constexpr std::size_t least_bytes = 4096;  // below it the clock is what is measured
  const std::size_t bytes = slots.size() * backend_.block_bytes();
  if (node_ == nullptr || bytes < least_bytes || !node_->contains(packed))
    return backend_.start_scatter(packed, slots);
  const double start = mpi::now();
  backend_.scatter(packed, slots);
  node_->handover().note_read(packed, bytes, mpi::now() - start);
}

/// Takes final slots up to the first that is not free; returns how many.
std::size_t LocalSlots::take_final_slots(SlotList finals) {
  constexpr std::size_t long_run = 16;
  // Where slots are not listed they ascend, so both ends tell whether they are a run.
  const bool ascend = flows_.form == plan::Form::fill || flows_.form == plan::Form::stable;
  const auto is_run = [&](std::size_t first) {
    return ascend && first + long_run <= finals.size() &&
           finals[first + long_run - 1] - finals[first] == long_run - 1;
  };
  std::size_t taken = 0;
  while (taken < finals.size() && free_.contains(finals[taken])) {
    // Final slots are often runs, and so are free ones: those are taken a word at a time.
    if (is_run(taken)) {
      std::size_t run = long_run;
      while (taken + run < finals.size() && finals[taken + run] == finals[taken] + run) ++run;
      const storage::SlotRun free_run = free_.next_run(finals[taken], run);
      free_.erase(free_run);
      taken += free_run.count;
    } else {
      free_.erase(std::uint64_t{finals[taken++]});
    }
  }
  return taken;
}

/// Replaces final slots that are not free by the highest free ones. Final slots first: a misplaced
/// block must not take the final slot of another. The caller saw that enough slots are free.
void LocalSlots::take_any_slots(std::span<SlotIndex> slots) {
  std::array<std::uint16_t, chunk> misfits;
  std::size_t count = 0;
  for (std::size_t k = 0; k < slots.size(); ++k) {
    if (free_.contains(slots[k]))
      free_.erase(std::uint64_t{slots[k]});
    else
      misfits[count++] = static_cast<std::uint16_t>(k);
  }
  std::array<SlotIndex, chunk> others;
  free_.take_highest(std::span(others).first(count));
  misplaced_ += count;
  for (std::size_t m = 0; m < count; ++m) {
    SlotIndex& slot = slots[misfits[m]];
    set_origin(slot, others[m]);
    slot = others[m];
  }
}

void LocalSlots::land(const std::byte* packed, SlotList slots) {
  const observe::TraceSpan span(trace_, observe::TraceKind::scatter, "scatter",
                                {.bytes = slots.size() * backend_.block_bytes()});
  scatter(packed, slots);
}

void LocalSlots::keep(const std::byte* packed, std::span<SlotIndex> slots) {
  const observe::TraceSpan span(trace_, observe::TraceKind::scatter, "scatter to wait",
                                {.bytes = slots.size() * backend_.block_bytes()});
  free_.take_highest(slots);
  backend_.start_scatter(packed, SlotList(slots));
}

std::uint64_t LocalSlots::redistribute(std::span<std::byte> scratch) {
  const std::uint64_t copies = move_locally(scratch);
  backend_.finish_all();
  return copies;
}

std::uint64_t LocalSlots::move_locally(std::span<std::byte> scratch) {
  if (flows_.in_order()) {  // what stays above the final count moves to the holes that are left
    const SlotList from(flows_.resident_from.data(), flows_.resident_from.size());
    const SlotList to(flows_.resident_to.data(), from.size());
    const observe::TraceSpan span(trace_, observe::TraceKind::copy, "local moves",
                                  {.bytes = from.size() * backend_.block_bytes()});
    // In the cache of this core, or in few calls.
    const std::size_t most = backend_.reachable_by_host() ? 256 : from.size();
    for (std::size_t k = 0; k < from.size(); k += most) {
      const std::size_t count = std::min(most, from.size() - k);
      backend_.copy(from.subspan(k, count), to.subspan(k, count), scratch);
    }
    return from.size();
  }
  flows_.for_each_local_move([&](SlotIndex from, SlotIndex to) { set_origin(to, from); });
  if (origins_.entries == 0) return relocated_;
  const observe::TraceSpan span(trace_, observe::TraceKind::copy, "local moves",
                                {.bytes = origins_.entries * backend_.block_bytes()});
  return relocated_ + redistribute_locally(backend_, origins_, free_, scratch);
}

}  // namespace valet::engine
