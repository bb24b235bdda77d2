// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random feasible maps that every rank generates alike from a shared seed, and what the answer
/// must be. The answer is computed from the definition in a way of its own: by listing the blocks
/// of every rank, not by the cursors and bitmaps of the library.

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace valet::test {

/// Global state, for small tests only: per rank and slot, the address a block is sent to.
struct GlobalMap {
  std::vector<std::uint64_t> slots;                              ///< per rank
  std::vector<std::vector<std::optional<Address>>> destination;  ///< per rank and slot

  [[nodiscard]] int ranks() const { return static_cast<int>(slots.size()); }
};

/// What each slot holds afterwards: the address its block came from.
using GlobalContent = std::vector<std::vector<std::optional<Address>>>;

enum class Tightness { loose, one_free, full };

inline std::uint64_t pick(std::mt19937_64& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
}

/// All addresses of all ranks in random order.
inline std::vector<Address> shuffled_addresses(const std::vector<std::uint64_t>& slots,
                                               std::mt19937_64& random) {
  std::vector<Address> all;
  for (std::size_t rank = 0; rank < slots.size(); ++rank)
    for (std::uint64_t slot = 0; slot < slots[rank]; ++slot)
      all.push_back({static_cast<int>(rank), slot});
  std::shuffle(all.begin(), all.end(), random);
  return all;
}

/// A random injective map. Some ranks are empty now, some at the end, some have no slots at all.
/// With `first_slots` the blocks of each rank are in its first slots.
inline GlobalMap random_map(std::mt19937_64& random, int ranks, std::uint64_t most_slots,
                            Tightness tightness, bool first_slots) {
  GlobalMap map;
  std::uint64_t all_slots = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    map.slots.push_back(pick(random, 0, 7) == 0 ? 0 : pick(random, 1, most_slots));
    all_slots += map.slots.back();
  }
  std::uint64_t blocks = all_slots;
  if (tightness == Tightness::one_free && all_slots > 0) blocks -= 1;
  if (tightness == Tightness::loose) blocks = pick(random, 0, all_slots);
  std::vector<Address> from = shuffled_addresses(map.slots, random);
  std::vector<Address> to = shuffled_addresses(map.slots, random);
  if (pick(random, 0, 3) == 0) {
    // Sparse: most blocks stay where they are.
    std::vector<Address> sparse = from;
    for (std::uint64_t swaps = pick(random, 0, 4); swaps > 0 && all_slots > 0; --swaps)
      std::swap(sparse[pick(random, 0, all_slots - 1)], sparse[pick(random, 0, all_slots - 1)]);
    to = sparse;
  }
  map.destination.resize(map.slots.size());
  for (std::size_t rank = 0; rank < map.slots.size(); ++rank)
    map.destination[rank].resize(map.slots[rank]);
  std::vector<std::uint64_t> next(map.slots.size(), 0);
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const auto rank = static_cast<std::size_t>(from[k].rank);
    const std::uint64_t slot = first_slots ? next[rank]++ : from[k].slot;
    map.destination[rank][slot] = to[k];
  }
  return map;
}

/// Afterwards, when the map says the slots.
inline GlobalContent content_by_slots(const GlobalMap& map) {
  GlobalContent content(map.slots.size());
  for (std::size_t rank = 0; rank < map.slots.size(); ++rank) content[rank].resize(map.slots[rank]);
  for (std::size_t rank = 0; rank < map.slots.size(); ++rank)
    for (std::uint64_t slot = 0; slot < map.slots[rank]; ++slot)
      if (const auto& to = map.destination[rank][slot])
        content[static_cast<std::size_t>(to->rank)][to->slot] =
            Address{static_cast<int>(rank), slot};
  return content;
}

/// Afterwards, when the map says the ranks and Valet the slots.
inline GlobalContent content_by_ranks(const GlobalMap& map, Order order) {
  GlobalContent content(map.slots.size());
  for (std::size_t rank = 0; rank < map.slots.size(); ++rank) {
    std::vector<Address> staying;
    std::vector<Address> arriving;
    for (std::size_t source = 0; source < map.slots.size(); ++source)
      for (std::uint64_t slot = 0; slot < map.slots[source]; ++slot) {
        const auto& to = map.destination[source][slot];
        if (!to || to->rank != static_cast<int>(rank)) continue;
        (source == rank ? staying : arriving).push_back({static_cast<int>(source), slot});
      }
    auto& here = content[rank];
    here.resize(map.slots[rank]);
    if (order == Order::stable) {
      staying.insert(staying.end(), arriving.begin(), arriving.end());
      for (std::size_t k = 0; k < staying.size(); ++k) here[k] = staying[k];
      continue;
    }
    for (const Address& block : staying) here[block.slot] = block;
    std::size_t hole = 0;
    const auto next_hole = [&] {
      while (here[hole]) ++hole;
      return hole;
    };
    for (const Address& block : arriving) here[next_hole()] = block;
    // The highest resident blocks, ascending, fill the holes below the final count.
    const std::size_t count = staying.size() + arriving.size();
    for (std::size_t slot = count; slot < here.size(); ++slot) {
      if (!here[slot]) continue;
      const std::size_t to = next_hole();
      here[to] = here[slot];
      here[slot].reset();
    }
  }
  return content;
}

}  // namespace valet::test
