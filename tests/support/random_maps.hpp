// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random feasible maps that every rank generates alike from a shared seed, and what the answer
/// must be. The answer is computed from the definition in a way of its own: by listing the blocks
/// of every rank, not by the cursors and bitmaps of the library.

#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
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

inline constexpr std::array all_orders{Order::any, Order::fill, Order::stable};

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

/// Blocks that move between two ranks, and where they come in the order of all that a rank gets or
/// gives: Order::any.
struct OrderedBlock {
  std::uint64_t numerator = 0, denominator = 1;  ///< fraction delivered in the middle of the grain
  std::uint64_t distance = 0;
  std::uint64_t number = 0;  ///< in its flow
  Address from;

  friend bool operator<(const OrderedBlock& a, const OrderedBlock& b) {
    // Where fractions are equal flows take turns.
    const auto turn = [](std::uint64_t ranks_away) {
      return ranks_away * 2654435769 % (std::uint64_t{1} << 32);
    };
    const std::uint64_t left = a.numerator * b.denominator, right = b.numerator * a.denominator;
    return std::tuple(left, turn(a.distance), a.number) <
           std::tuple(right, turn(b.distance), b.number);
  }
};

/// Other ranks that a rank sends to, on average, rounded up.
inline std::uint64_t degree_of(const GlobalMap& map) {
  const auto ranks = static_cast<std::size_t>(map.ranks());
  std::uint64_t flows = 0;
  for (std::size_t source = 0; source < ranks; ++source) {
    std::vector<bool> gets(ranks, false);
    for (const auto& to : map.destination[source])
      if (to) gets[static_cast<std::size_t>(to->rank)] = true;
    gets[source] = false;
    flows += static_cast<std::uint64_t>(std::count(gets.begin(), gets.end(), true));
  }
  return (flows + ranks - 1) / ranks;
}

/// Blocks of a grain, as the documentation of Order::any has it.
inline std::uint64_t grain_of(std::size_t block_bytes, std::uint64_t degree) {
  const std::size_t most = block_bytes < 4096 ? 32768 : 131072;
  const std::size_t bytes = std::min<std::size_t>(most, 1048576 / (degree + 1));
  return block_bytes > bytes ? 1 : bytes / block_bytes;
}

/// The blocks of one flow with their places in the order of all.
inline std::vector<OrderedBlock> ordered_flow(const GlobalMap& map, int source, int destination,
                                              std::uint64_t grain) {
  std::vector<OrderedBlock> flow;
  const auto& row = map.destination[static_cast<std::size_t>(source)];
  for (std::uint64_t slot = 0; slot < row.size(); ++slot)
    if (row[slot] && row[slot]->rank == destination)
      flow.push_back({.number = flow.size(), .from = {source, slot}});
  for (OrderedBlock& block : flow) {
    const std::uint64_t begin = block.number / grain * grain;
    block.numerator = begin + std::min<std::uint64_t>(begin + grain, flow.size());
    block.denominator = flow.size();
    block.distance = static_cast<std::uint64_t>((destination - source + map.ranks()) % map.ranks());
  }
  return flow;
}

/// How many imports of a rank wait for its last holes, as the documentation of Order::any has it.
/// @param exports  Ordered by nothing; runs are those of each flow.
inline std::uint64_t shift_of(std::size_t block_bytes, std::uint64_t imports, std::uint64_t free,
                              std::vector<OrderedBlock> exports) {
  const auto by_flow = [](const OrderedBlock& a, const OrderedBlock& b) {
    return std::tie(a.distance, a.from.slot) < std::tie(b.distance, b.from.slot);
  };
  std::sort(exports.begin(), exports.end(), by_flow);
  std::uint64_t runs = 0;
  for (std::size_t k = 0; k < exports.size(); ++k)
    runs += k == 0 || exports[k].distance != exports[k - 1].distance ||
                    exports[k].from.slot != exports[k - 1].from.slot + 1
                ? 1
                : 0;
  if (exports.size() * block_bytes < runs * 65536) return 0;
  const std::uint64_t shift =
      std::min({std::max<std::uint64_t>(1, 524288 / block_bytes), imports / 8,
                static_cast<std::uint64_t>(exports.size()) / 8});
  if (shift * block_bytes < 131072) return 0;
  return shift > free ? shift - free : 0;
}

/// What one rank holds afterwards under Order::any.
inline void fill_in_any_order(const GlobalMap& map, int rank, std::size_t block_bytes,
                              std::vector<std::optional<Address>>& here) {
  const std::uint64_t grain = grain_of(block_bytes, degree_of(map));
  std::vector<OrderedBlock> imports, exports;
  for (int other = 0; other < map.ranks(); ++other) {
    if (other == rank) continue;
    const auto arriving = ordered_flow(map, other, rank, grain);
    const auto leaving = ordered_flow(map, rank, other, grain);
    imports.insert(imports.end(), arriving.begin(), arriving.end());
    exports.insert(exports.end(), leaving.begin(), leaving.end());
  }
  std::sort(imports.begin(), imports.end());
  std::sort(exports.begin(), exports.end());
  const auto& row = map.destination[static_cast<std::size_t>(rank)];
  std::vector<std::uint64_t> staying, holes;
  for (std::uint64_t slot = 0; slot < row.size(); ++slot)
    if (row[slot] && row[slot]->rank == rank) staying.push_back(slot);
  const std::uint64_t count = staying.size() + imports.size();
  for (std::uint64_t slot = 0; slot < count; ++slot)
    if (!row[slot]) holes.push_back(slot);
  const std::uint64_t shift = shift_of(block_bytes, imports.size(), holes.size(), exports);
  for (const OrderedBlock& block : exports)
    if (block.from.slot < count) holes.push_back(block.from.slot);
  for (std::size_t k = 0; k < imports.size(); ++k)
    here[holes[k < shift ? imports.size() - shift + k : k - shift]] = imports[k].from;
  std::size_t next = imports.size();
  for (const std::uint64_t slot : staying)
    here[slot < count ? slot : holes[next++]] = Address{rank, slot};
}

/// Afterwards, when the map says the ranks and Valet the slots.
/// @param block_bytes  Matter to Order::any alone.
inline GlobalContent content_by_ranks(const GlobalMap& map, Order order, std::size_t block_bytes) {
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
    if (order == Order::any) {
      fill_in_any_order(map, static_cast<int>(rank), block_bytes, here);
      continue;
    }
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
