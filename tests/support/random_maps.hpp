// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Feasible maps that every rank generates alike, most of them random from a shared seed.

#include "oracle.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

namespace valet::test {

inline constexpr std::array all_orders{Order::any, Order::fill, Order::stable};

enum class Tightness { loose, one_free, full };

inline std::uint64_t pick(std::mt19937_64& random, std::uint64_t least, std::uint64_t most) {
  return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
}

/// The shape of an array of 1 to 3 dimensions with so many elements at most, rarely with none.
inline BlockCyclic::Extents random_extents(std::mt19937_64& random, std::uint64_t most) {
  const std::size_t dimensions = pick(random, 1, 3);
  auto extents = BlockCyclic::Extents::filled(dimensions, 0);
  for (std::size_t d = 0; d < dimensions; ++d) {
    const std::uint64_t extent =
        pick(random, pick(random, 0, 15) == 0 ? 0 : std::min<std::uint64_t>(1, most), most);
    const bool is_last = d + 1 == dimensions || extent == 0;
    extents[d] = static_cast<std::int64_t>(is_last ? extent : 1 + (extent - 1) % 8);
    most /= static_cast<std::uint64_t>(std::max<std::int64_t>(1, extents[d]));
  }
  return extents;
}

inline std::uint64_t elements_of(const BlockCyclic::Extents& extents) {
  return std::accumulate(extents.begin(), extents.end(), std::uint64_t{1},
                         [](std::uint64_t product, std::int64_t extent) {
                           return product * static_cast<std::uint64_t>(extent);
                         });
}

/// The same number of elements in another shape.
inline BlockCyclic::Extents turned(const BlockCyclic::Extents& extents) {
  BlockCyclic::Extents turned = extents;
  for (std::size_t d = 0; d < extents.size(); ++d) turned[d] = extents[extents.size() - 1 - d];
  return turned;
}

/// Tiles of an array over a grid of at most so many ranks, blocks beyond the array among them.
inline BlockCyclic random_tiles(std::mt19937_64& random, const BlockCyclic::Extents& extents,
                                int most_ranks) {
  auto blocks = extents;
  auto grid = BlockCyclic::Coordinates::filled(extents.size(), 1);
  auto first = grid;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    grid[d] = static_cast<int>(pick(random, 1, static_cast<std::uint64_t>(most_ranks)));
    most_ranks /= grid[d];
    first[d] = pick(random, 0, 3) > 0 ? 0 : grid[d] - 1;
    const std::uint64_t most = pick(random, 0, 1) == 0 ? 3 : static_cast<std::uint64_t>(extents[d]);
    blocks[d] = static_cast<std::int64_t>(pick(random, 1, most + 2));
  }
  const IndexOrder order =
      pick(random, 0, 1) == 0 ? IndexOrder::row_major : IndexOrder::column_major;
  return {extents, blocks, grid, order, first};
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
