// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The oracle: what every slot of every rank must hold, worked out serially by listing all blocks,
/// from the definitions and without code of the library. Lists are maps to ranks, layouts to slots.

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace valet::test {

/// By slot: the address that its block came from; nothing where it is free.
using Content = std::vector<std::optional<Address>>;
using GlobalContent = std::vector<Content>;

/// Global state, for small tests only: per rank and slot, the address a block is sent to.
struct GlobalMap {
  std::vector<std::uint64_t> slots;                              ///< per rank
  std::vector<std::vector<std::optional<Address>>> destination;  ///< per rank and slot

  [[nodiscard]] int ranks() const { return static_cast<int>(slots.size()); }
};

template <class Rows>
auto& row_of(Rows& rows, int rank) {
  return rows[static_cast<std::size_t>(rank)];
}

/// Calls visit(from, to) for every block, by rank and slot.
template <class Visit>
void for_each_block(const GlobalMap& map, Visit&& visit) {
  for (int rank = 0; rank < map.ranks(); ++rank)
    for (std::uint64_t slot = 0; slot < row_of(map.destination, rank).size(); ++slot)
      if (const auto& to = row_of(map.destination, rank)[slot]) visit(Address{rank, slot}, *to);
}

/// Afterwards, when the map says the slots.
inline GlobalContent content_by_slots(const GlobalMap& map) {
  GlobalContent content;
  for (const std::uint64_t slots : map.slots) content.emplace_back(slots);
  for_each_block(map, [&](auto from, auto to) { row_of(content, to.rank)[to.slot] = from; });
  return content;
}

/// By source and destination, the slots of the blocks that leave, ascending.
using Flows = std::map<std::pair<int, int>, std::vector<std::uint64_t>>;

/// Imports or exports of a rank under Order::any, as src/schedule/grains.hpp defines it: by what is
/// delivered of their flow in the middle of their grain (exact up to 2^25 blocks), then in turns.
inline std::vector<Address> by_grains(const Flows& flows, int rank, int ranks, bool imports,
                                      std::size_t block_bytes) {
  const auto all = static_cast<std::uint64_t>(ranks), degree = (flows.size() + all - 1) / all;
  const std::uint64_t most = block_bytes < 4096 ? 32768 : 131072;
  const auto grain =
      std::max<std::uint64_t>(1, std::min(most, 1048576 / (degree + 1)) / block_bytes);
  std::map<std::tuple<double, std::uint64_t, std::uint64_t>, Address> sorted;
  for (const auto& [pair, slots] : flows) {
    if ((imports ? pair.second : pair.first) != rank) continue;
    const auto distance = static_cast<std::uint64_t>((pair.second - pair.first + ranks) % ranks);
    const std::uint64_t turn = distance * 2654435769 % (std::uint64_t{1} << 32);
    for (std::uint64_t k = 0; k < slots.size(); ++k) {
      const std::uint64_t begin = k / grain * grain;
      const auto middle = static_cast<double>(begin + std::min(begin + grain, slots.size()));
      sorted[{middle / static_cast<double>(slots.size()), turn, k}] = {pair.first, slots[k]};
    }
  }
  std::vector<Address> blocks;
  for (const auto& [key, from] : sorted) blocks.push_back(from);
  return blocks;
}

/// How many imports wait for the last holes under Order::any; the same source.
inline std::uint64_t shift_of(const Flows& flows, int rank, std::size_t block_bytes,
                              std::uint64_t imports, std::uint64_t free) {
  std::uint64_t exports = 0, runs = 0;
  for (const auto& [pair, slots] : flows)
    for (std::size_t k = 0; pair.first == rank && k < slots.size(); ++k, ++exports)
      if (k == 0 || slots[k] != slots[k - 1] + 1) ++runs;
  const std::uint64_t wished =
      std::min({std::max<std::uint64_t>(1, 524288 / block_bytes), imports / 8, exports / 8});
  if (exports * block_bytes < runs * 65536 || wished * block_bytes < 131072) return 0;
  return wished - std::min(wished, free);
}

/// Afterwards, when the map says the ranks and Valet the slots.
/// @param block_bytes  Matter to Order::any alone.
inline GlobalContent content_by_ranks(const GlobalMap& map, Order order, std::size_t block_bytes) {
  std::vector<std::vector<Address>> all_staying(map.slots.size()), all_arriving(map.slots.size());
  Flows flows;
  for_each_block(map, [&](const Address& from, const Address& to) {
    row_of(from.rank == to.rank ? all_staying : all_arriving, to.rank).push_back(from);
    if (from.rank != to.rank) flows[{from.rank, to.rank}].push_back(from.slot);
  });
  GlobalContent content;
  for (int rank = 0; rank < map.ranks(); ++rank) {
    const auto& staying = row_of(all_staying, rank);
    auto& arriving = row_of(all_arriving, rank);
    const std::size_t count = staying.size() + arriving.size();
    Content& here = content.emplace_back(row_of(map.slots, rank));
    std::vector<std::uint64_t> holes;
    std::vector<Address> moved;  // inside the rank, into holes
    for (const Address& from : staying)
      if (order != Order::stable && from.slot < count)
        here[from.slot] = from;
      else
        moved.push_back(from);
    for (std::uint64_t slot = 0; slot < count; ++slot)
      if (!here[slot] && (order != Order::any || !row_of(map.destination, rank)[slot]))
        holes.push_back(slot);
    if (order == Order::any) {
      // Slots that are free, then as the exports leave them; the first imports take the last ones.
      const auto shift = shift_of(flows, rank, block_bytes, arriving.size(), holes.size());
      for (const Address& from : by_grains(flows, rank, map.ranks(), false, block_bytes))
        if (from.slot < count) holes.push_back(from.slot);
      arriving = by_grains(flows, rank, map.ranks(), true, block_bytes);
      std::rotate(arriving.begin(), arriving.begin() + static_cast<std::ptrdiff_t>(shift),
                  arriving.end());
    }
    arriving.insert(order == Order::stable ? arriving.begin() : arriving.end(), moved.begin(),
                    moved.end());
    for (std::size_t k = 0; k < arriving.size(); ++k) here[holes[k]] = arriving[k];
  }
  return content;
}

/// Slots of a rank without the block that they must hold, of which holds(slot, origin) tells.
template <class Holds>
[[nodiscard]] long long wrong_slots(const Content& content, Holds&& holds) {
  long long wrong = 0;
  for (std::uint64_t slot = 0; slot < content.size(); ++slot)
    if (content[slot] && !holds(slot, *content[slot])) ++wrong;
  return wrong;
}

/// Numbered blocks, or elements of an array: the numbers in the slots of each rank.
using Numbers = std::vector<std::vector<std::uint64_t>>;

/// Brings all from one distribution to another.
inline GlobalMap map_between(const Numbers& before, const Numbers& after) {
  std::unordered_map<std::uint64_t, Address> places;
  for (std::size_t r = 0; r < after.size(); ++r)
    for (std::uint64_t slot = 0; slot < after[r].size(); ++slot)
      places[after[r][slot]] = {static_cast<int>(r), slot};
  GlobalMap map;
  for (std::size_t r = 0; r < after.size(); ++r) {
    map.slots.push_back(std::max(before[r].size(), after[r].size()));
    auto& to = map.destination.emplace_back();
    for (const std::uint64_t number : before[r]) to.push_back(places.at(number));
    to.resize(map.slots[r]);
  }
  return map;
}

/// Elements of an array, numbered row by row, as they follow each other in the memory of a rank.
inline Numbers numbers_of(const GridLayout& grid, IndexOrder memory, int ranks) {
  const BlockCyclic& layout = grid.layout;
  const std::size_t dimensions = layout.dimensions();
  Numbers numbers(static_cast<std::size_t>(ranks));
  auto index = BlockCyclic::Extents::filled(dimensions, 0);
  for (std::int64_t left = layout.elements(); left > 0; --left) {
    auto place = BlockCyclic::Coordinates::filled(dimensions, 0);
    std::int64_t number = 0;
    for (std::size_t d = 0; d < dimensions; ++d) {
      const layout::Dimension& dim = layout.dimension(d);
      number = number * dim.extent() + index[d];
      if (dim.cuts())
        while ((*dim.cuts())[static_cast<std::size_t>(place[d]) + 1] <= index[d]) ++place[d];
      else
        place[d] = static_cast<int>((dim.first_rank() + index[d] / dim.block_size()) % dim.ranks());
    }
    const int rank = layout.rank(place);
    // Of a rank with several cells these alternate.
    row_of(numbers, grid.ranks.empty() ? rank : row_of(grid.ranks, rank))
        .push_back(static_cast<std::uint64_t>(number));
    for (std::size_t step = 0; step < dimensions; ++step) {
      const std::size_t d = memory == IndexOrder::row_major ? dimensions - 1 - step : step;
      if (++index[d] < layout.dimension(d).extent()) break;
      index[d] = 0;
    }
  }
  return numbers;
}

/// Objects under a layout.
inline Numbers numbers_of(const ObjectLayout& layout, std::uint64_t objects, int ranks) {
  if (layout.tiling) return numbers_of(GridLayout{*layout.tiling}, IndexOrder::row_major, ranks);
  const auto all = static_cast<std::uint64_t>(layout.ranks == 0 ? ranks : layout.ranks);
  Numbers numbers(static_cast<std::size_t>(ranks));
  for (std::uint64_t number = 0, rank = 0; number < objects; ++number) {
    if (layout.block_size > 0) rank = number / layout.block_size % all;
    // Balanced: the next rank begins at objects * (rank + 1) / all, rounded to the nearest.
    while (layout.block_size == 0 && (2 * objects * (rank + 1) + all) / (2 * all) <= number) ++rank;
    numbers[rank].push_back(number);
  }
  return numbers;
}

}  // namespace valet::test
