// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The first pass over a map: how many blocks go to which rank, which slots are free now, and which
/// will be once everything that leaves has left. No array over the ranks.

#include "storage/slot_set.hpp"
#include <valet/ledger.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>

namespace valet::plan {

/// Blocks per destination rank, for the few ranks that occur: open addressing, at most 32 bytes a
/// rank. Ranks are dense small numbers, so the rank itself is the hash.
class DestinationCounts {
 public:
  struct Entry {
    int rank = -1;
    std::uint64_t count = 0;
  };

  explicit DestinationCounts(Ledger& ledger) : entries_(initial_capacity, Entry{}, ledger) {}

  /// The entry of a rank, made when it is new. Valid until the next call.
  Entry& operator[](int rank) {
    Entry* entry = find(rank);
    if (entry->rank == rank) return *entry;
    if (2 * (used_ + 1) > entries_.size()) {
      grow();
      entry = find(rank);
    }
    ++used_;
    entry->rank = rank;
    return *entry;
  }

  [[nodiscard]] std::size_t size() const { return used_; }

  /// Calls action(rank, count) for every rank, in no order.
  template <class Action>
  void for_each(Action&& action) const {
    for (const Entry& entry : entries_)
      if (entry.rank >= 0) action(entry.rank, entry.count);
  }

 private:
  static constexpr std::size_t initial_capacity = 32;

  Entry* find(int rank) {
    const std::size_t mask = entries_.size() - 1;
    std::size_t place = static_cast<std::size_t>(rank) & mask;
    while (entries_[place].rank != rank && entries_[place].rank >= 0) place = (place + 1) & mask;
    return &entries_[place];
  }

  void grow() {
    Vector<Entry> old(2 * entries_.size(), Entry{}, entries_.get_allocator());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.rank >= 0) *find(entry.rank) = entry;
  }

  Vector<Entry> entries_;
  std::size_t used_ = 0;
};

struct MapCounts {
  MapCounts(Ledger& ledger, std::uint64_t slots)
      : initially_free(ledger, slots), holes(ledger, slots), leaving(ledger) {}

  storage::SlotSet initially_free;
  storage::SlotSet holes;
  DestinationCounts leaving;
  std::uint64_t blocks_before = 0;
  std::uint64_t blocks_leaving = 0;
  std::optional<Diagnostic> diagnostic;
};

/// The occupied slots among the 64 from `first` on, as bits.
inline std::uint64_t occupied_bits(const Occupied& occupied, std::uint64_t first,
                                   std::uint64_t slots) {
  const std::uint64_t end = std::min({first + 64, slots, occupied.map_size()});
  if (end <= first) return 0;
  if (!occupied.is_masked()) return ~std::uint64_t{0} >> (64 - (end - first));
  std::uint64_t bits = 0;
  for (std::uint64_t slot = first; slot < end; ++slot)
    if (occupied.mask()[slot] != 0) bits |= std::uint64_t{1} << (slot - first);
  return bits;
}

[[nodiscard]] inline Diagnostic bad_destination(std::uint64_t slot, int rank, int rank_count) {
  return {ErrorCode::rank_out_of_range,
          "the block in slot " + std::to_string(slot) + " is sent to rank " + std::to_string(rank) +
              ", but the communicator has ranks 0 to " + std::to_string(rank_count - 1) +
              "; fix the map, nothing has moved"};
}

/// Counts a map. `destination_of(slot)` is asked once for each occupied slot, ascending; on a bad
/// destination the map_counts ends with a diagnostic.
template <class DestinationOf>
void count_map(MapCounts& map_counts, const Occupied& occupied, int own_rank, int rank_count,
               DestinationOf&& destination_of) {
  const std::uint64_t slots = map_counts.holes.slots();
  int last_rank = own_rank;
  std::uint64_t run = 0;  // blocks to last_rank not entered yet
  const auto enter_run = [&] {
    if (run > 0) map_counts.leaving[last_rank].count += run;
    map_counts.blocks_leaving += run;
    run = 0;
  };
  for (std::uint64_t first = 0; first < slots; first += 64) {
    const std::uint64_t behind = std::min(first + 64, slots);
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - (behind - first));
    const std::uint64_t occupied_here = occupied_bits(occupied, first, slots);
    std::uint64_t leaving = 0;
    for (std::uint64_t bits = occupied_here; bits != 0; bits &= bits - 1) {
      const std::uint64_t slot = first + static_cast<std::uint64_t>(std::countr_zero(bits));
      const int rank = destination_of(slot);
      if (rank == own_rank) continue;
      leaving |= bits & (~bits + 1);
      if (rank != last_rank) {
        enter_run();
        if (rank < 0 || rank >= rank_count) {
          map_counts.diagnostic = bad_destination(slot, rank, rank_count);
          return;
        }
        last_rank = rank;
      }
      ++run;
    }
    map_counts.initially_free.set_word(first / 64, all & ~occupied_here);
    map_counts.holes.set_word(first / 64, (all & ~occupied_here) | leaving);
  }
  enter_run();
  map_counts.blocks_before = slots - map_counts.initially_free.count();
}

}  // namespace valet::plan
