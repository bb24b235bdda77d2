// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What all methods share: which slots are free at this moment, where blocks that landed in another
/// slot than their final one are, and the moves between slots and packed memory.
///
/// A misplaced block moves to its final slot as soon as that becomes free, where the host reaches
/// the blocks, or else in the end. Until then it stands in the final slot of another block, which
/// may have to be misplaced for it: half of the copies came from that, and STREAM now takes 0.6 of
/// the time where many ranks exchange small blocks (64 bytes, transpose, 4 ranks).

#include "engine/vacated_slots.hpp"
#include "observe/trace.hpp"
#include "plan/flows.hpp"
#include "storage/local_redistribution.hpp"
#include "storage/node_memory.hpp"
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <span>

namespace valet::engine {

/// The slots of one rank during one execution: which are free, and what moves from and to them. All
/// functions are local.
class LocalSlots {
 public:
  /// Where blocks land in order `free` and `origins` may be empty: then nobody asks for free slots.
  /// @param free     A set over flows.slots, becomes the free slots.
  /// @param origins  One entry per slot, for blocks that will have to move inside the rank;
  ///                 initialised here when the first such block turns up.
  /// @param trace    Hears of all copies; nullptr for none.
  /// @param node     Learns how fast messages in its memory are read; nullptr for none.
  /// @param vacated  Hears of slots that exports leave in host memory; nullptr for none.
  LocalSlots(const plan::Flows& flows, StorageBackend& backend, storage::SlotSet& free,
             std::span<SlotIndex> origins, observe::Trace* trace,
             const storage::NodeMemory* node = nullptr, VacatedSlots* vacated = nullptr);

  [[nodiscard]] StorageBackend& backend() const { return backend_; }
  [[nodiscard]] const storage::SlotSet& free() const { return free_; }
  [[nodiscard]] observe::Trace* trace() const { return trace_; }

  /// The slots of `size` blocks of a flow, from its block `first` on, ascending.
  [[nodiscard]] SlotList exports(const plan::Outgoing& flow, std::uint64_t first,
                                 std::uint64_t size) const {
    return {flows_.exports.begin() + flow.first + first, static_cast<std::size_t>(size)};
  }
  /// The address of ascending slots that are one run of memory; nullptr where they are not.
  [[nodiscard]] const std::byte* run_of(SlotList slots) const {
    const std::byte* const data = backend_.contiguous_data();
    if (data == nullptr || slots.back() - slots.front() != slots.size() - 1) return nullptr;
    return data + slots.front() * backend_.block_bytes();
  }
  /// Packs exports and frees their slots, into which misplaced blocks may move. This and all that
  /// unpacks blocks may go on after the return: finish() before anybody else touches `packed`.
  void gather(SlotList slots, std::byte* packed, bool past_cache = true);
  /// Waits until packed memory is no longer read or written.
  void finish(const std::byte* packed, std::uint64_t bytes) {
    backend_.finish({packed, static_cast<std::size_t>(bytes)});
  }
  /// Frees the slots of exports that were sent from where they are, likewise.
  void release(SlotList slots);

  /// Takes a run of free slots for blocks that will be received straight into it.
  void reserve(storage::SlotRun run) { free_.erase(run); }
  /// Tells that the arrivals from `cursor` on stand in the slots of `run`.
  void landed(SlotIndex cursor, storage::SlotRun run);
  /// What may happen to an arrival whose final slot is not free.
  enum class Misplace {
    never,      ///< it stays packed, and so do the arrivals behind it
    if_needed,  ///< it goes to the highest free slot, and is moved later
  };
  /// Unpacks up to `size` arrivals from `cursor` on into their slots. Returns how many, from the
  /// first on, are in a slot now.
  std::uint64_t store(const std::byte* packed, SlotIndex cursor, std::uint64_t size,
                      Misplace misplace);

  /// Unpacks arrivals into their final slots, which are free (Flows::in_order()).
  void land(const std::byte* packed, SlotList slots);

  /// Unpacks blocks that belong to other ranks into the highest free slots, which `slots` gets. As
  /// many slots must be free.
  void keep(const std::byte* packed, std::span<SlotIndex> slots);

  /// Blocks that went to other slots than their final ones.
  [[nodiscard]] std::uint64_t misplaced() const { return misplaced_; }
  /// After the exchange: moves what is misplaced, and what the map moves inside the rank. All is
  /// done on return.
  /// Returns the block copies made, those before included.
  std::uint64_t redistribute(std::span<std::byte> scratch);

 private:
  static constexpr std::size_t chunk = 1024;  // slots handled at a time, on the stack

  std::uint64_t store_some(const std::byte* packed, SlotIndex cursor, std::uint64_t size,
                           Misplace misplace);
  void scatter(const std::byte* packed, SlotList slots);
  std::uint64_t move_locally(std::span<std::byte> scratch);
  std::size_t take_final_slots(SlotList finals);
  void take_any_slots(std::span<SlotIndex> slots);
  void set_origin(SlotIndex final_slot, SlotIndex slot);
  void relocate(SlotList freed);
  std::size_t relocate_some(std::span<SlotIndex> from, std::span<SlotIndex> to);

  const plan::Flows& flows_;
  StorageBackend& backend_;
  storage::SlotSet& free_;
  storage::Origins origins_;
  observe::Trace* trace_;
  const storage::NodeMemory* node_;
  VacatedSlots* vacated_;
  bool origins_ready_ = false;
  std::uint64_t relocated_ = 0;  ///< block copies made before the end
  std::uint64_t misplaced_ = 0;
};

}  // namespace valet::engine
