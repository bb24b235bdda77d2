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

/// Blocks `first` to `first + count` of those that the map sends from `origin` to `target`.
template <class Index>
struct Parcel {
  int peer = 0;  ///< the rank at the other end of the message
  int target = 0;
  int origin = 0;
  bool own = false;  ///< sent from the slots of this rank's map, not from where they waited
  Index first = 0;
  Index count = 0;
  Index waiting = 0;  ///< where the blocks wait for another rank: their first entry there
  Index done = 0;     ///< blocks asked for, or sent
};

static_assert(sizeof(Parcel<std::uint32_t>) == schedule::parcel_bytes(sizeof(std::uint32_t)));
static_assert(sizeof(Parcel<std::uint64_t>) == schedule::parcel_bytes(sizeof(std::uint64_t)));

template <class Index>
class PhasedMemory {
 public:
  PhasedMemory(const ExchangeContext& context, const plan::Flows<Index>& flows,
               const schedule::PhasedSizes& sizes);

  /// Starts an execution; `places` has the memory of all scratch places.
  void start(std::byte* places);
  /// A_i of the paper: blocks that can be received now.
  [[nodiscard]] std::uint64_t free(const Transfer<Index>& transfer) const {
    return transfer.free().count() + scratch_free_.count();
  }
  /// Blocks of other ranks for which there is bookkeeping, and groups of them.
  [[nodiscard]] std::uint64_t waiting_room() const {
    return most_waiting_ - std::min<std::uint64_t>(most_waiting_, waiting_.size());
  }
  [[nodiscard]] std::uint64_t waiting_groups() const { return groups_.capacity() - groups_.size(); }
  /// Groups of blocks that wait here.
  [[nodiscard]] std::uint64_t groups_here() const { return groups_.size(); }
  /// Scratch places that hold blocks, or wait for them.
  [[nodiscard]] std::uint64_t scratch_in_use() const {
    return scratch_free_.slots() - scratch_free_.count();
  }

  /// A run of free scratch places to receive into, at most `most`; empty when there is none.
  /// @param on_node  The sender writes into the segment, if it can.
  storage::SlotRun take_scratch(std::uint64_t most, bool on_node);
  [[nodiscard]] std::byte* memory(std::uint64_t place) const {
    return place < node_places_ ? node_memory_ + place * block_bytes_
                                : places_ + (place - node_places_) * block_bytes_;
  }
  /// What was received into a run belongs here, at the final slots from `cursor` on.
  void arrived(Transfer<Index>& transfer, storage::SlotRun run, Index cursor);
  /// Announces blocks that will wait here, within waiting_room() and waiting_groups(); returns
  /// their first entry.
  Index expect(const Parcel<Index>& parcel);
  /// What was received into a run waits here; `entry` is that of its first block.
  void arrived_to_wait(Transfer<Index>& transfer, storage::SlotRun run, Index entry);

  /// Takes up to `most` blocks for `target` that wait here, all of one origin; count 0: none.
  Parcel<Index> take_waiting(int target, std::uint64_t most);
  /// Packs `count` waiting blocks from entry `entry` on, and frees their places.
  void gather_waiting(Transfer<Index>& transfer, Index entry, Index count, std::byte* packed);
  /// The same without packing: lists their memory, to be released when it has been sent.
  void list_waiting(Transfer<Index>& transfer, Index entry, Index count,
                    Vector<MemoryPiece>& pieces);
  void release_waiting(Transfer<Index>& transfer, Index entry, Index count);

  /// Ends a phase: blocks in scratch go to slots that became free.
  void finalize(Transfer<Index>& transfer);

 private:
  /// Blocks of one origin and target that wait here; their places are waiting_[entry ...].
  struct Group {
    int target = 0;
    int origin = 0;
    Index first = 0;
    Index count = 0;
    Index entry = 0;
  };
  static_assert(sizeof(Group) == schedule::waiting_group_bytes(sizeof(Index)));
  static constexpr Index nothing = static_cast<Index>(-1);

  [[nodiscard]] bool in_scratch(Index place) const { return place >= flows_.slots; }
  [[nodiscard]] std::uint64_t scratch_of(Index place) const { return place - flows_.slots; }
  void release(Transfer<Index>& transfer, Index place);

  const plan::Flows<Index>& flows_;
  std::size_t block_bytes_;
  std::uint64_t most_waiting_;
  std::uint64_t node_places_;  ///< the first ones, in the segment that this rank offers
  std::byte* node_memory_;
  std::byte* places_ = nullptr;
  storage::SlotSet scratch_free_;
  Array<Index> finals_;    ///< per scratch place: the final slot of its block, or nothing
  Vector<Group> groups_;   ///< by entry
  Vector<Index> waiting_;  ///< places of waiting blocks, those in scratch behind all slots
};

extern template class PhasedMemory<std::uint32_t>;
extern template class PhasedMemory<std::uint64_t>;

}  // namespace valet::engine
