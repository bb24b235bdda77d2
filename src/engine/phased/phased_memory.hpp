// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The slots of PHASED on one rank: those of the storage, and extra ones in scratch that are as
/// good. A block is received into scratch and stays there only while no slot is free. Blocks of
/// other ranks may wait here, in either kind of slot.

#include "engine/exchange.hpp"
#include "mpi/message.hpp"
#include "schedule/phased_sizes.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <tuple>

namespace valet::engine {

/// A run of the blocks that the map sends from `origin` to `target`: what a message has.
struct PairRun {
  int target = 0;
  int origin = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class PhasedMemory {
 public:
  PhasedMemory(const plan::State& state, const schedule::PhasedSizes& sizes)
      : flows_(state.flows),
        block_bytes_(state.blocks.block_bytes),
        most_waiting_(sizes.most_waiting),
        node_slots_(sizes.node_slots),
        node_memory_(state.node().own().data()),
        scratch_free_(state.ledger, sizes.extra_slots()),
        cursors_(state.ledger, static_cast<std::size_t>(sizes.extra_slots())),
        waiting_(state.ledger) {
    waiting_.reserve(static_cast<std::size_t>(most_waiting_));
  }

  /// Starts an execution; `scratch` has the memory of all scratch slots.
  void start(std::byte* scratch) {
    scratch_ = scratch;
    waiting_.clear();
    waited_ = 0;
    std::fill(cursors_.begin(), cursors_.end(), nothing);
    for (std::uint64_t slot = 0; slot < scratch_free_.slots(); ++slot)
      if (!scratch_free_.contains(slot)) scratch_free_.insert(slot);
  }
  /// A_i of the paper: blocks that can be received now.
  [[nodiscard]] std::uint64_t free(const LocalSlots& local) const {
    return local.free().count() + scratch_free_.count();
  }
  /// Blocks of other ranks for which there is bookkeeping.
  [[nodiscard]] std::uint64_t waiting_room() const { return most_waiting_ - waiting_.size(); }
  /// Extra slots that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t scratch_in_use() const {
    return scratch_free_.slots() - scratch_free_.count();
  }

  /// A run of free extra slots to receive into, at most `most`; empty when there is none.
  /// @param on_node  The sender writes there itself, if it can.
  storage::SlotRun take_scratch(std::uint64_t most, bool on_node) {
    // Each kind is contiguous memory; where a message goes is all the same.
    const storage::SlotRun node{0, node_slots_};
    const storage::SlotRun rest{node_slots_, scratch_free_.slots() - node_slots_};
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
  /// Gives back slots of such a run that nothing came for.
  void give_back(storage::SlotRun run) { scratch_free_.insert(run); }
  [[nodiscard]] std::byte* memory(std::uint64_t slot) const {
    return slot < node_slots_ ? node_memory_ + slot * block_bytes_
                              : scratch_ + (slot - node_slots_) * block_bytes_;
  }
  /// What was received into a run belongs here, at the final slots from `cursor` on.
  void arrived(LocalSlots& local, storage::SlotRun run, SlotIndex cursor) {
    const std::uint64_t stored =
        local.store(memory(run.first), cursor, run.count, LocalSlots::Misplace::if_needed);
    if (stored > 0) scratch_free_.insert(storage::SlotRun{run.first, stored});
    cursor = flows_.advance(cursor, stored);
    for (std::uint64_t k = stored; k < run.count; ++k, cursor = flows_.advance(cursor, 1))
      cursors_[static_cast<std::size_t>(run.first + k)] = cursor;
  }
  /// The same for blocks of another rank, which wait here, within waiting_room().
  void arrived_to_wait(LocalSlots& local, storage::SlotRun run, const PairRun& pair_run) {
    // The memory for both is part of what is promised, and does not grow.
    if (waiting_room() < run.count)
      throw Error(ErrorCode::internal, "more blocks wait than can be kept account of");
    std::array<SlotIndex, chunk> slots;
    for (std::uint64_t done = 0; done < run.count;) {
      const std::uint64_t size = std::min<std::uint64_t>(chunk, run.count - done);
      const std::uint64_t kept = std::min(size, local.free().count());
      const std::uint64_t here = run.first + done;
      local.keep(memory(here), std::span(slots).first(static_cast<std::size_t>(kept)));
      if (kept > 0) scratch_free_.insert(storage::SlotRun{here, kept});
      for (std::uint64_t k = kept; k < size; ++k)
        slots[static_cast<std::size_t>(k)] = static_cast<SlotIndex>(here + k);
      for (std::uint64_t k = 0; k < size; ++k)
        waiting_.push_back({.target = static_cast<std::uint32_t>(pair_run.target) & most_target,
                            .in_scratch = k < kept ? 0U : 1U,
                            .origin = pair_run.origin,
                            .number = static_cast<std::uint32_t>(pair_run.first + done + k),
                            .slot = slots[static_cast<std::size_t>(k)]});
      done += size;
    }
  }

  /// Takes up to `most` blocks for `target` that waited here when the phase began.
  /// @param entry  Gets where their slots are listed.
  PairRun take_waiting(int target, std::uint64_t most, std::size_t& entry) {
    const auto wanted = static_cast<std::uint32_t>(target);
    // The ones in front of each target have been taken.
    const auto end = waiting_.begin() + static_cast<std::ptrdiff_t>(waited_);
    const auto first = std::partition_point(waiting_.begin(), end, [&](const Waiting& block) {
      return block.target < wanted || (block.target == wanted && block.origin == nobody);
    });
    entry = static_cast<std::size_t>(first - waiting_.begin());
    if (first == end || first->target != wanted) return {};
    PairRun pair_run{target, first->origin, first->number, 0};
    for (auto block = first;
         block != end && pair_run.count < most && block->target == wanted &&
         block->origin == pair_run.origin && block->number == pair_run.first + pair_run.count;
         ++block, ++pair_run.count)
      block->origin = nobody;
    return pair_run;
  }
  /// Packs `count` waiting blocks from entry `entry` on, and frees their slots: like
  /// LocalSlots::gather(), may go on after the return.
  void gather_waiting(LocalSlots& local, std::size_t entry, std::uint64_t count,
                      std::byte* packed) {
    std::array<SlotIndex, chunk> slots;
    const observe::TraceSpan span(local.trace(), observe::TraceKind::gather,
                                  "gather those that wait", {.bytes = count * block_bytes_});
    for (std::uint64_t done = 0; done < count;) {
      std::size_t size = 0;
      for (; size < chunk && done + size < count; ++size) {
        const Waiting& block = waiting_[entry + done + size];
        slots[size] = block.slot;
        if (block.in_scratch != 0) break;
      }
      if (size > 0)
        local.backend().start_gather(SlotList(slots).first(size), packed + done * block_bytes_);
      done += size;
      if (size > 0) continue;
      std::memcpy(packed + done * block_bytes_, memory(slots[0]), block_bytes_);
      ++done;
    }
    release_waiting(local, entry, count);
  }
  /// The same without packing: lists their memory, to be released when it has been sent.
  void list_waiting(LocalSlots& local, std::size_t entry, std::uint64_t count,
                    Vector<MemoryPiece>& pieces) {
    for (std::uint64_t k = 0; k < count; ++k) {
      const Waiting& block = waiting_[entry + k];
      if (block.in_scratch != 0)
        pieces.push_back({memory(block.slot), block_bytes_});
      else
        local.backend().pieces(block.slot, pieces);
    }
  }
  void release_waiting(LocalSlots& local, std::size_t entry, std::uint64_t count) {
    for (std::uint64_t k = 0; k < count; ++k) {
      const Waiting& block = waiting_[entry + k];
      if (block.in_scratch != 0)
        scratch_free_.insert(block.slot);
      else
        local.release(std::span(&block.slot, 1));
    }
  }

  /// Ends a phase: blocks in scratch go to slots that became free.
  void finalize(LocalSlots& local) {
    std::erase_if(waiting_, [](const Waiting& block) { return block.origin == nobody; });
    std::ranges::sort(waiting_, {}, [](const Waiting& each) {
      return std::tuple(std::uint32_t{each.target}, each.origin, each.number);
    });
    waited_ = waiting_.size();
    if (scratch_free_.count() == scratch_free_.slots()) return;
    for (std::uint64_t slot = scratch_free_.next_absent(0);
         slot < scratch_free_.slots() && local.free().count() > 0;
         slot = scratch_free_.next_absent(slot + 1)) {
      SlotIndex& cursor = cursors_[static_cast<std::size_t>(slot)];
      if (cursor == nothing) continue;  // it waits for another rank
      local.store(memory(slot), cursor, 1, LocalSlots::Misplace::if_needed);
      cursor = nothing;
      scratch_free_.insert(slot);
    }
    for (std::size_t k = 0; k < waiting_.size() && local.free().count() > 0; ++k) {
      Waiting& block = waiting_[k];
      if (block.in_scratch == 0) continue;
      const SlotIndex slot = block.slot;
      local.keep(memory(slot), std::span(&block.slot, 1));
      block.in_scratch = 0;
      scratch_free_.insert(slot);
    }
  }

 private:
  static constexpr std::size_t chunk = 512;  // slots handled at a time, on the stack
  /// A block of another rank.
  struct Waiting {
    std::uint32_t target : 31;
    std::uint32_t in_scratch : 1;
    int origin;            ///< nobody once it has been taken
    std::uint32_t number;  ///< among those from its origin to its target
    SlotIndex slot;        ///< of the storage, or an extra one
  };
  static_assert(sizeof(Waiting) == schedule::waiting_block_bytes);
  static constexpr std::uint32_t most_target = std::numeric_limits<int>::max();
  static constexpr int nobody = -1;
  static constexpr SlotIndex nothing = static_cast<SlotIndex>(-1);

  const plan::Flows& flows_;
  std::size_t block_bytes_;
  std::uint64_t most_waiting_;
  std::uint64_t node_slots_;  ///< the first ones, in memory offered inside the node
  std::byte* node_memory_;
  std::byte* scratch_ = nullptr;
  storage::SlotSet scratch_free_;
  Array<SlotIndex> cursors_;  ///< per extra slot: of its block, or nothing
  Vector<Waiting> waiting_;   ///< those of earlier phases by (target, origin, number) in front
  std::size_t waited_ = 0;    ///< from earlier phases
};

}  // namespace valet::engine
