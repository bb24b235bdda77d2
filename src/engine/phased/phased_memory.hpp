// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The places of PHASED on one rank: the slots, and places in the scratch that are as good. A block
/// is received into scratch and stays there only while no slot is free. Blocks of other ranks may
/// wait here, in either kind of place.

#include "engine/exchange.hpp"
#include "mpi/message.hpp"
#include "schedule/phased_sizes.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::engine {

/// Blocks `first` to `first + count` of those that the map sends from `origin` to `target`: what a
/// message has.
struct Parcel {
  int target = 0;
  int origin = 0;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};

class PhasedMemory {
 public:
  PhasedMemory(const ExchangeContext& context, const plan::Flows& flows,
               const schedule::PhasedSizes& sizes);

  /// Starts an execution; `places` has the memory of all scratch places.
  void start(std::byte* places);
  /// A_i of the paper: blocks that can be received now.
  [[nodiscard]] std::uint64_t free(const Transfer& transfer) const {
    return transfer.free().count() + scratch_free_.count();
  }
  /// Blocks of other ranks for which there is bookkeeping.
  [[nodiscard]] std::uint64_t waiting_room() const { return most_waiting_ - waiting_.size(); }
  /// Scratch places that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t scratch_in_use() const {
    return scratch_free_.slots() - scratch_free_.count();
  }

  /// A run of free scratch places to receive into, at most `most`; empty when there is none.
  /// @param on_node  The sender writes into the segment, if it can.
  storage::SlotRun take_scratch(std::uint64_t most, bool on_node);
  /// Gives back places of such a run that nothing came for.
  void give_back(storage::SlotRun run) { scratch_free_.insert(run); }
  [[nodiscard]] std::byte* memory(std::uint64_t place) const {
    return place < node_places_ ? node_memory_ + place * block_bytes_
                                : places_ + (place - node_places_) * block_bytes_;
  }
  /// What was received into a run belongs here, at the final slots from `cursor` on.
  void arrived(Transfer& transfer, storage::SlotRun run, SlotIndex cursor);
  /// The same for blocks of another rank, which wait here, within waiting_room().
  void arrived_to_wait(Transfer& transfer, storage::SlotRun run, const Parcel& parcel);

  /// Takes up to `most` blocks for `target` that waited here when the phase began.
  /// @param entry  Gets where their places are listed.
  Parcel take_waiting(int target, std::uint64_t most, std::size_t& entry);
  /// Packs `count` waiting blocks from entry `entry` on, and frees their places.
  void gather_waiting(Transfer& transfer, std::size_t entry, std::uint64_t count,
                      std::byte* packed);
  /// The same without packing: lists their memory, to be released when it has been sent.
  void list_waiting(Transfer& transfer, std::size_t entry, std::uint64_t count,
                    Vector<MemoryPiece>& pieces);
  void release_waiting(Transfer& transfer, std::size_t entry, std::uint64_t count);

  /// Ends a phase: blocks in scratch go to slots that became free.
  void finalize(Transfer& transfer);

 private:
  /// A block of another rank.
  struct Waiting {
    std::uint32_t target : 31;
    std::uint32_t in_scratch : 1;
    int origin;            ///< nobody once it has been taken
    std::uint32_t number;  ///< among those from its origin to its target
    SlotIndex place;       ///< a slot, or a place in scratch
  };
  static_assert(sizeof(Waiting) == schedule::waiting_block_bytes);
  static constexpr int nobody = -1;
  static constexpr SlotIndex nothing = static_cast<SlotIndex>(-1);

  const plan::Flows& flows_;
  std::size_t block_bytes_;
  std::uint64_t most_waiting_;
  std::uint64_t node_places_;  ///< the first ones, in the segment that this rank offers
  std::byte* node_memory_;
  std::byte* places_ = nullptr;
  storage::SlotSet scratch_free_;
  Array<SlotIndex> cursors_;  ///< per scratch place: of its block, or nothing
  Vector<Waiting> waiting_;   ///< those of earlier phases by (target, origin, number) in front
  std::size_t waited_ = 0;    ///< from earlier phases
};

}  // namespace valet::engine
