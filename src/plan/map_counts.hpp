// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The first pass over a map: how many blocks go to which rank, which slots are free now, and which
/// will be once everything that leaves has left. No array over the ranks.

#include "base/diagnose.hpp"
#include "storage/slot_set.hpp"
#include <valet/ledger.hpp>
#include <valet/options.hpp>
#include <valet/plan.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

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
  /// What it takes for so many destinations.
  [[nodiscard]] static constexpr std::uint64_t bytes_for(std::size_t destinations) {
    std::size_t capacity = initial_capacity;
    while (2 * destinations > capacity) capacity *= 2;
    return capacity * sizeof(Entry);
  }
  /// The same while it grows to that.
  [[nodiscard]] static constexpr std::uint64_t bytes_to_grow(std::size_t destinations) {
    const std::uint64_t bytes = bytes_for(destinations);
    return bytes > bytes_for(0) ? bytes + bytes / 2 : bytes;
  }

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
    std::size_t index = static_cast<std::size_t>(rank) & mask;
    while (entries_[index].rank != rank && entries_[index].rank >= 0) index = (index + 1) & mask;
    return &entries_[index];
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

/// The ranks that up to 64 neighbouring slots are sent to; those that do not count are anything.
using WordOfRanks = std::array<int, 64>;

/// Which of them are `rank`, as bits.
[[nodiscard]] inline std::uint64_t bits_of(const WordOfRanks& ranks, int rank) {
  std::uint64_t bits = 0;
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi32(rank);
  const auto equal = [&](std::size_t k) {
    return _mm_cmpeq_epi32(wanted, _mm_loadu_si128(reinterpret_cast<const __m128i*>(&ranks[k])));
  };
  for (std::size_t k = 0; k < ranks.size(); k += 16) {
    const __m128i low = _mm_packs_epi32(equal(k), equal(k + 4));
    const __m128i high = _mm_packs_epi32(equal(k + 8), equal(k + 12));
    bits |= std::uint64_t{static_cast<std::uint16_t>(_mm_movemask_epi8(_mm_packs_epi16(low, high)))}
            << k;
  }
#else
  for (std::size_t k = 0; k < ranks.size(); ++k) bits |= std::uint64_t{ranks[k] == rank} << k;
#endif
  return bits;
}

/// Calls action(rank, bits, count) for the ranks of the slots in `slots`, at least once for each of
/// them, with as many bits, which are in `slots` and together all of it; the lowest bit of the rest
/// comes next. Stops when it returns false.
///
/// Neighbours in a map go to few ranks, often without any pattern: to take all of one rank together
/// costs less than to ask for each entry. Where it does not pay, entries are taken one by one.
template <class Action>
void for_each_rank(const WordOfRanks& ranks, std::uint64_t slots, Action&& action) {
  constexpr std::uint64_t worth_it = 6;
  bool together = true;
  while (slots != 0) {
    const int rank = ranks[static_cast<std::size_t>(std::countr_zero(slots))];
    const std::uint64_t bits = together ? bits_of(ranks, rank) & slots : slots & (~slots + 1);
    const auto count = together ? static_cast<std::uint64_t>(std::popcount(bits)) : 1;
    if (!action(rank, bits, count)) return;
    slots &= ~bits;
    together = together && count >= worth_it;
  }
}

struct MapCounts {
  MapCounts(Ledger& ledger, std::uint64_t slots)
      : initially_free(ledger, slots), holes(ledger, slots), leaving(ledger) {}

  storage::SlotSet initially_free;
  storage::SlotSet holes;
  DestinationCounts leaving;
  std::uint64_t blocks_before = 0;
  std::uint64_t blocks_leaving = 0;
  std::uint64_t blocks_dropped = 0;  ///< not among those before
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

/// The rank of blocks that NegativeRank::drop deletes.
constexpr int dropped_rank = -1;

/// @param block     What the number stands for.
/// @param may_drop  Whether the call has Options::negative_rank.
[[nodiscard]] inline Diagnostic bad_destination(std::uint64_t number, int rank, int rank_count,
                                                const char* block = "the block in slot ",
                                                bool may_drop = true) {
  return diagnose(ErrorCode::rank_out_of_range, block, number, " is sent to rank ", rank,
                  ", but the communicator has ranks 0 to ", rank_count - 1,
                  rank == dropped_rank && may_drop
                      ? "; fix the map, or drop such blocks by option negative_rank, nothing has "
                        "moved"
                      : "; ranks count from 0: fix the map, nothing has moved");
}

[[nodiscard]] inline Diagnostic bad_map_size(std::size_t entries, std::uint64_t wanted) {
  return invalid("the map has ", entries, " entries for ", wanted,
                 " blocks; it needs one for each");
}

/// Looks up where the slots of a word go: those of `slots`, bits from slot `first` on.
template <class DestinationOf>
void read_ranks(WordOfRanks& ranks, std::uint64_t first, std::uint64_t slots,
                DestinationOf&& destination_of) {
  if (slots == ~std::uint64_t{0}) {
    for (std::size_t k = 0; k < ranks.size(); ++k) ranks[k] = destination_of(first + k);
    return;
  }
  for (; slots != 0; slots &= slots - 1) {
    const auto k = static_cast<std::size_t>(std::countr_zero(slots));
    ranks[k] = destination_of(first + k);
  }
}

/// Counts a map. `destination_of(slot)` is asked once for each occupied slot, ascending; a bad
/// destination ends it, with `diagnostic` set. The slots of blocks that are dropped are free.
template <class DestinationOf>
void count_map(MapCounts& map_counts, const Occupied& occupied, int own_rank, int rank_count,
               NegativeRank negative_rank, DestinationOf&& destination_of) {
  constexpr std::uint64_t bits_of_word = 64;
  const std::uint64_t slots = map_counts.holes.slots();
  WordOfRanks ranks{};
  for (std::uint64_t first = 0; first < slots; first += bits_of_word) {
    const std::uint64_t behind = std::min(first + bits_of_word, slots);
    const std::uint64_t all = ~std::uint64_t{0} >> (bits_of_word - (behind - first));
    std::uint64_t here = occupied_bits(occupied, first, slots);
    read_ranks(ranks, first, here, destination_of);
    std::uint64_t staying = 0, dropped = 0;
    for_each_rank(ranks, here, [&](int rank, std::uint64_t bits, std::uint64_t count) {
      if (rank == own_rank) {
        staying |= bits;
      } else if (rank >= 0 && rank < rank_count) {
        map_counts.leaving[rank].count += count;
      } else if (rank == dropped_rank && negative_rank == NegativeRank::drop) {
        dropped |= bits;
        map_counts.blocks_dropped += count;
      } else {
        map_counts.diagnostic = bad_destination(
            first + static_cast<std::uint64_t>(std::countr_zero(bits)), rank, rank_count);
      }
      return !map_counts.diagnostic;
    });
    if (map_counts.diagnostic) return;
    here &= ~dropped;
    map_counts.initially_free.set_word(first / bits_of_word, all & ~here);
    map_counts.holes.set_word(first / bits_of_word, all & ~staying);
  }
  map_counts.blocks_before = slots - map_counts.initially_free.count();
  map_counts.blocks_leaving = map_counts.holes.count() - map_counts.initially_free.count();
}

}  // namespace valet::plan
