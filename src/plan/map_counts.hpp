// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The first pass over a map: how many blocks go to which rank, which slots are free now, and which
/// will be once everything that leaves has left. No array over the ranks.

#include "storage/slot_set.hpp"
#include <valet/ledger.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
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
  /// The entry of a rank; nullptr where it has none.
  [[nodiscard]] Entry* known(int rank) {
    Entry* const entry = find(rank);
    return entry->rank == rank && rank >= 0 ? entry : nullptr;
  }

  /// Ranks with a count above 0.
  [[nodiscard]] std::size_t size() const {
    std::size_t ranks = 0;
    for_each([&](int, std::uint64_t) { ++ranks; });
    return ranks;
  }
  /// Calls action(rank, count) for each of those, in no order.
  template <class Action>
  void for_each(Action&& action) const {
    for (const Entry& entry : entries_)
      if (entry.count > 0) action(entry.rank, entry.count);
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

  /// Counts destinations, up to the first that is not a rank. Returns how many.
  std::size_t count(std::span<const int> ranks, int rank_count) {
    if (std::ranges::all_of(ranks, [&](int rank) { return rank == ranks[0]; })) {
      if (ranks.empty() || ranks[0] < 0 || ranks[0] >= rank_count) return 0;
      leaving[ranks[0]].count += ranks.size();
      return ranks.size();
    }
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      DestinationCounts::Entry* entry = leaving.known(ranks[k]);
      if (entry == nullptr) {
        if (ranks[k] < 0 || ranks[k] >= rank_count) return k;
        entry = &leaving[ranks[k]];
      }
      ++entry->count;
    }
    return ranks.size();
  }
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

/// Counts a map. `destination_of(slot)` is asked once for each occupied slot, ascending; a bad
/// destination ends it, with `diagnostic` set.
///
/// Nothing in here depends on what a single entry says, but where a rank is new: neighbours in a
/// map often differ without any pattern, and a branch that is not foreseen costs more than all the
/// rest.
template <class DestinationOf>
void count_map(MapCounts& map_counts, const Occupied& occupied, int own_rank, int rank_count,
               DestinationOf&& destination_of) {
  constexpr std::size_t bits = 64;
  const std::uint64_t slots = map_counts.holes.slots();
  std::array<int, bits> ranks{};
  for (std::uint64_t first = 0; first < slots; first += bits) {
    const std::uint64_t behind = std::min(first + bits, slots);
    const std::uint64_t all = ~std::uint64_t{0} >> (bits - (behind - first));
    const std::uint64_t occupied_here = occupied_bits(occupied, first, slots);
    std::size_t count = 0;
    std::uint64_t leaving = 0;
    if (occupied_here == ~std::uint64_t{0}) {
      for (; count < bits; ++count) {
        ranks[count] = destination_of(first + count);
        leaving |= std::uint64_t{ranks[count] != own_rank} << count;
      }
    } else {
      for (std::uint64_t left = occupied_here; left != 0; left &= left - 1) {
        ranks[count] = destination_of(first + static_cast<std::uint64_t>(std::countr_zero(left)));
        leaving |= ranks[count++] != own_rank ? left & (~left + 1) : 0;
      }
    }
    if (const std::size_t bad = map_counts.count(std::span(ranks).first(count), rank_count);
        bad < count) {
      std::uint64_t left = occupied_here;
      for (std::size_t k = 0; k < bad; ++k) left &= left - 1;
      map_counts.diagnostic = bad_destination(
          first + static_cast<std::uint64_t>(std::countr_zero(left)), ranks[bad], rank_count);
      return;
    }
    map_counts.initially_free.set_word(first / bits, all & ~occupied_here);
    map_counts.holes.set_word(first / bits, (all & ~occupied_here) | leaving);
  }
  map_counts.blocks_before = slots - map_counts.initially_free.count();
  map_counts.blocks_leaving = map_counts.holes.count() - map_counts.initially_free.count();
  map_counts.leaving[own_rank].count = 0;
}

}  // namespace valet::plan
