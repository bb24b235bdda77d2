// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Feasible maps that every rank generates alike, most of them random from a shared seed.

#include "oracle.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

namespace valet::test {

inline constexpr std::array all_orders{Order::any, Order::fill, Order::stable};

enum class Tightness { loose, one_free, full };

inline std::uint64_t pick(std::mt19937_64& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
}

/// A map of ranks with so many slots, without a block yet.
inline GlobalMap empty_map(std::vector<std::uint64_t> slots) {
  GlobalMap map{std::move(slots), {}};
  for (const std::uint64_t count : map.slots) map.destination.emplace_back(count);
  return map;
}
inline GlobalMap empty_map(int ranks, std::uint64_t slots) {
  return empty_map(std::vector<std::uint64_t>(static_cast<std::size_t>(ranks), slots));
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
inline GlobalMap random_map(std::mt19937_64& random, int ranks, std::uint64_t slot_limit,
                            Tightness tightness, bool first_slots) {
  std::vector<std::uint64_t> slots;
  std::uint64_t all_slots = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    slots.push_back(pick(random, 0, 7) == 0 ? 0 : pick(random, 1, slot_limit));
    all_slots += slots.back();
  }
  GlobalMap map = empty_map(slots);
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
  std::vector<std::uint64_t> next(map.slots.size(), 0);
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const auto rank = static_cast<std::size_t>(from[k].rank);
    const std::uint64_t slot = first_slots ? next[rank]++ : from[k].slot;
    map.destination[rank][slot] = to[k];
  }
  return map;
}

/// Sends block k of each rank to rank ranks[k], into slots in the order in which they are listed,
/// as an all-to-all does. Each rank has room for what it has and gets, and `spare` slots more.
inline GlobalMap map_to(const std::vector<std::vector<int>>& ranks, std::uint64_t spare = 0) {
  GlobalMap map{std::vector<std::uint64_t>(ranks.size(), 0), {}};
  for (const auto& row : ranks) {
    auto& to = map.destination.emplace_back();
    for (const int rank : row) to.push_back(Address{rank, row_of(map.slots, rank)++});
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    map.slots[r] = std::max<std::uint64_t>(map.slots[r], ranks[r].size()) + spare;
    map.destination[r].resize(map.slots[r]);
  }
  return map;
}

/// A map in which block k of rank r goes to slot k of rank r + k + shift, modulo ranks.
inline GlobalMap ring_map(int ranks, std::uint64_t slots, std::uint64_t blocks, int shift) {
  GlobalMap map = empty_map(ranks, slots);
  for (int rank = 0; rank < ranks; ++rank)
    for (std::uint64_t k = 0; k < blocks; ++k)
      row_of(map.destination, rank)[k] = Address{(rank + static_cast<int>(k) + shift) % ranks, k};
  return map;
}

}  // namespace valet::test
