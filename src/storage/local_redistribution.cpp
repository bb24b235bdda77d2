// SPDX-License-Identifier: BSD-3-Clause
#include "storage/local_redistribution.hpp"

#include "base/assert.hpp"
#include "storage/rows.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace valet::storage {
namespace {

/// Several chains at a time: where a chain goes on is found in memory that was not touched before,
/// so one chain alone waits for memory at each of its steps.
constexpr std::size_t most_walkers = 16;
/// Moves that are left when a chain is no longer divided for idle walkers: each division costs a
/// copy more.
constexpr std::uint64_t worth_dividing = 64 * most_walkers;

/// Blocks that wait in scratch, and where they go.
class SavedBlocks {
 public:
  SavedBlocks(StorageBackend& backend, std::byte* memory, std::size_t room)
      : backend_(backend), memory_(memory), room_(std::min(room, most)) {
    from_.fill(Origins::none);
    list_idle();
  }

  static constexpr std::size_t most = 64;
  [[nodiscard]] bool has_room() const { return room_ > 0; }
  [[nodiscard]] bool is_full() const { return idle_count_ == 0; }
  /// Saves the block of a slot, once gather() is called.
  void save(SlotIndex slot) {
    const std::size_t index = idle_[--idle_count_];
    from_[index] = slot;
    asked_[index] = true;
  }
  /// Says where the saved block of a slot goes; false when there is none.
  bool bring(SlotIndex slot, SlotIndex to) {
    const auto index = static_cast<std::size_t>(std::ranges::find(from_, slot) - from_.begin());
    if (index == most) return false;
    to_[index] = to;
    goes_[index] = true;
    return true;
  }

  void gather() {
    for_each_run([&](std::size_t k) { return asked_[k]; },
                 [&](std::size_t first, std::size_t count) {
                   backend_.gather(SlotList(from_).subspan(first, count), at(first));
                   std::fill_n(asked_.begin() + first, count, false);
                 });
  }
  /// Brings those whose slots are known, after gather().
  void scatter() {
    for_each_run([&](std::size_t k) { return goes_[k]; },
                 [&](std::size_t first, std::size_t count) {
                   backend_.start_scatter(at(first), SlotList(to_).subspan(first, count));
                   std::fill_n(from_.begin() + first, count, Origins::none);
                   std::fill_n(goes_.begin() + first, count, false);
                 });
    list_idle();
  }

 private:
  [[nodiscard]] std::byte* at(std::size_t index) const {
    return memory_ + index * backend_.block_bytes();
  }
  void list_idle() {
    idle_count_ = 0;
    for (std::size_t k = room_; k-- > 0;)
      if (from_[k] == Origins::none) idle_[idle_count_++] = static_cast<std::uint8_t>(k);
  }
  /// Calls action(first, count) for the indices next to each other for which is(index) holds.
  template <class Is, class Action>
  void for_each_run(Is&& is, Action&& action) {
    for (std::size_t first = 0; first < room_; ++first) {
      std::size_t end = first;
      while (end < room_ && is(end)) ++end;
      if (end > first) action(first, end - first);
      first = end;
    }
  }

  StorageBackend& backend_;
  std::byte* memory_;
  std::size_t room_;
  std::array<SlotIndex, most> from_{}, to_{};  ///< from_: none where nothing is saved
  std::array<bool, most> asked_{}, goes_{};    ///< for gather() and scatter()
  std::array<std::uint8_t, most> idle_{};
  std::size_t idle_count_ = 0;
};

/// One local redistribution.
class LocalMoves {
 public:
  LocalMoves(StorageBackend& backend, Origins& origins, SlotSet& free, std::span<std::byte> scratch)
      : backend_(backend),
        origins_(origins),
        free_(free),
        saved_(backend, scratch.data(), saved_room(scratch)),
        copy_scratch_(scratch.subspan(std::min(SavedBlocks::most, saved_room(scratch)) *
                                      backend.block_bytes())) {}

  /// Returns the block copies made.
  std::uint64_t run() {
    do {
      while (walking_ < most_walkers && start()) {
      }
      // Not earlier: where kernels move the blocks, calls for few of them are expensive.
      if (walking_ == 0) flush();
      for (std::size_t w = 0; w < walking_;)
        if (step(walkers_[w]))
          ++w;
        else
          walkers_[w] = walkers_[--walking_];
    } while (walking_ > 0 || moved_ < origins_.entries);
    flush();
    return copies_;
  }

 private:
  static constexpr SlotIndex none = Origins::none;
  static constexpr std::size_t chunk = 1024;
  /// The next move of a chain.
  struct Walker {
    SlotIndex to, from;
  };

  /// What is left of the scratch serves the copies between slots.
  [[nodiscard]] std::size_t saved_room(std::span<std::byte> scratch) const {
    const std::size_t blocks = scratch.size() / backend_.block_bytes();
    return backend_.reachable_by_host() ? blocks : (blocks + 1) / 2;
  }
  [[nodiscard]] std::uint64_t left() const { return origins_.entries - moved_; }

  void walk_from(SlotIndex to) {
    walkers_[walking_++] = {to, origins_.of[to]};
    origins_.of[to] = none;
    ++moved_;
  }

  /// Starts at a free slot, or else at one whose block is saved for that: in a cycle, or to divide
  /// what others walk.
  bool start() {
    for (; left() > 0 && free_slot_ < free_.slots(); free_slot_ = free_.next(free_slot_ + 1)) {
      if (origins_.of[free_slot_] == none) continue;
      free_.erase(free_slot_);
      walk_from(static_cast<SlotIndex>(free_slot_));
      return true;
    }
    VALET_ASSERT(left() == 0 || saved_.has_room());
    if (left() == 0 || saved_.is_full() || (walking_ > 0 && left() < worth_dividing)) return false;
    while (origins_.of[slot_] == none) ++slot_;
    saved_.save(static_cast<SlotIndex>(slot_));
    copies_ += 2;
    walk_from(static_cast<SlotIndex>(slot_));
    return true;
  }

  /// Makes a move; false where it was the last one of the walk.
  bool step(Walker& walker) {
    const auto [to, from] = walker;
    const SlotIndex next = origins_.of[from];
    if (next == none && saved_.bring(from, to)) return false;
    from_[size_] = from;
    to_[size_] = to;
    if (++size_ == chunk) flush();
    if (next == none) {
      free_.insert(std::uint64_t{from});
      return false;
    }
    origins_.of[from] = none;
    ++moved_;
    walker = {from, next};
    detail::fetch_row<false>(reinterpret_cast<const std::byte*>(&origins_.of[next]),
                             std::integral_constant<std::size_t, sizeof(SlotIndex)>());
    return true;
  }

  /// What is saved comes before what is copied over it, and goes where others have been copied
  /// from.
  void flush() {
    saved_.gather();
    if (size_ > 0)
      backend_.copy(SlotList(from_).first(size_), SlotList(to_).first(size_), copy_scratch_);
    saved_.scatter();
    copies_ += std::exchange(size_, 0);
  }

  StorageBackend& backend_;
  Origins& origins_;
  SlotSet& free_;
  SavedBlocks saved_;
  std::span<std::byte> copy_scratch_;
  std::array<Walker, most_walkers> walkers_{};
  std::size_t walking_ = 0;
  std::uint64_t free_slot_ = free_.next(0), slot_ = 0;  ///< where starts are looked for
  std::array<SlotIndex, chunk> from_{}, to_{};          ///< copies to be made, in this order
  std::size_t size_ = 0;
  std::uint64_t moved_ = 0;  ///< entries of the origins that walkers have taken
  std::uint64_t copies_ = 0;
};

}  // namespace

std::uint64_t redistribute_locally(StorageBackend& backend, Origins& origins, SlotSet& free,
                                   std::span<std::byte> scratch) {
  const std::uint64_t copies = LocalMoves(backend, origins, free, scratch).run();
  origins.entries = 0;
  return copies;
}

}  // namespace valet::storage
