// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects for the Rebalancer whose data are blocks of different sizes: an arena with lengths, an
/// arena of numbers with offsets, and columns with names, places and work. All of it follows from
/// the name of an object, and from the step for what changes in time.

#include "gathered.hpp"
#include "ragged_case.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {

/// Where an object is: anywhere in a square, of which it crosses a part in each step.
inline double place_of(const RaggedBlock& block, int step, int dimension) {
  const std::uint64_t word = block.name() * 0x9E3779B97F4A7C15U;
  const double start = static_cast<double>((word >> (20 * dimension)) % 1'000'003) / 1'000'003;
  return std::fmod(start + 0.37 * step * (dimension + 1), 1.0);
}

/// How many numbers it has in the arena with offsets, and which.
inline std::uint64_t links_of(const RaggedBlock& block) { return block.name() % 5; }
inline std::uint32_t link_of(const RaggedBlock& block, std::uint64_t k) {
  return static_cast<std::uint32_t>(block.name() * 31 + k);
}

/// Blocks of all ranks, of which `empty` has none.
inline RaggedCase some_case(std::mt19937_64& random, int empty) {
  RaggedCase c = random_case(random, size());
  if (empty >= 0 && empty < size()) c.before[static_cast<std::size_t>(empty)].clear();
  RaggedBlocks& last = c.before.back();  // an object at least, with bytes
  if (last.empty()) last.push_back({300, size() - 1, 0, 0});
  last.back().length = std::max<std::uint64_t>(last.back().length, 1);
  return c;
}

/// What one rank holds, in memory that is exactly as large as asked for.
struct RaggedObjects {
  RaggedObjects(RaggedBlocks mine, std::uint64_t alignment_bytes, const zoltan::RaggedRoom& room)
      : blocks(std::move(mine)), alignment(alignment_bytes) {
    allocate(room);
    write(0);
  }

  /// The room that blocks take, and no more.
  static zoltan::RaggedRoom room_for(const RaggedBlocks& blocks, std::uint64_t alignment) {
    std::uint64_t links = 0;
    for (const RaggedBlock& block : blocks) links += links_of(block);
    return {blocks.size(), {bytes_of(blocks, alignment), links * sizeof(std::uint32_t)}};
  }
  [[nodiscard]] zoltan::RaggedRoom room() {
    return {lengths.size(), {arena.bytes().size(), links.size() * sizeof(std::uint32_t)}};
  }

  /// Writes the blocks as they are in a step.
  void write(int at_step) {
    step = at_step;
    std::byte* next = arena.bytes().data();
    std::uint32_t* link = links.data();
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      blocks[k].write(next);
      next += padded(blocks[k].length, alignment);
      lengths[k] = blocks[k].length;
      offsets[k] = static_cast<std::uint64_t>(link - links.data()) * sizeof(std::uint32_t);
      for (std::uint64_t j = 0; j < links_of(blocks[k]); ++j) *link++ = link_of(blocks[k], j);
      names[k] = blocks[k].name();
      for (int d = 0; d < 2; ++d)
        places[2 * k + static_cast<std::size_t>(d)] = place_of(blocks[k], step, d);
    }
    offsets[blocks.size()] =
        static_cast<std::uint64_t>(link - links.data()) * sizeof(std::uint32_t);
  }

  [[nodiscard]] std::vector<RaggedField> fields() {
    RaggedField records = ragged_field(arena.bytes(), std::span(lengths), "records");
    records.alignment_bytes = alignment;
    return {records, ragged_field_by_offsets(std::span(links), std::span(offsets))};
  }
  [[nodiscard]] RaggedStorage storage() {
    const std::vector<Field> columns{field(names), field(places, 2)};
    return RaggedStorage(fields(), columns);
  }
  void tell(zoltan::Rebalancer& rebalancer) const {
    rebalancer.coordinates(zoltan::array_columns(places.data(), lengths.size(), 2));
  }

  /// Takes other memory with what is in this one, as an application does, that has room for what is
  /// required and for what is there.
  RaggedStorage grow_to(const zoltan::RaggedRoom& required) {
    const zoltan::RaggedRoom held = room();
    RaggedObjects before = std::move(*this);
    blocks = before.blocks;
    allocate({std::max(held.blocks, required.blocks),
              {std::max(held.bytes[0], required.bytes.at(0)),
               std::max(held.bytes[1], required.bytes.at(1))}});
    std::ranges::copy(before.arena.bytes(), arena.bytes().begin());
    std::ranges::copy(before.links, links.begin());
    std::ranges::copy(before.lengths, lengths.begin());
    std::ranges::copy(before.offsets, offsets.begin());
    std::ranges::copy(before.names, names.begin());
    std::ranges::copy(before.places, places.begin());
    return storage();
  }

  /// Whether it has exactly these blocks, in this order.
  [[nodiscard]] bool has(const RaggedBlocks& expected) {
    const std::byte* next = arena.bytes().data();
    std::uint64_t link = 0;
    bool right = arena.is_intact() && expected.size() <= lengths.size();
    for (std::size_t k = 0; right && k < expected.size(); ++k) {
      const RaggedBlock& block = expected[k];
      right = names[k] == block.name() && lengths[k] == block.length && block.is_at(next) &&
              offsets[k] == link * sizeof(std::uint32_t) &&
              places[2 * k] == place_of(block, step, 0) &&
              places[2 * k + 1] == place_of(block, step, 1);
      for (std::uint64_t j = 0; right && j < links_of(block); ++j)
        right = links[link++] == link_of(block, j);
      next += padded(block.length, alignment);
    }
    return right && (expected.empty() || offsets[expected.size()] == link * sizeof(std::uint32_t));
  }
  /// Whether it has exactly these blocks, in whatever order; they are put into that.
  [[nodiscard]] bool has_in_any_order(RaggedBlocks& expected) {
    if (expected.size() > names.size()) return false;
    RaggedBlocks ordered;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const auto block = std::ranges::find(expected, names[k], &RaggedBlock::name);
      if (block == expected.end()) return false;
      ordered.push_back(*block);
    }
    expected = ordered;
    std::ranges::sort(ordered, {}, &RaggedBlock::name);
    const bool is_each_once =
        std::ranges::adjacent_find(ordered, {}, &RaggedBlock::name) == ordered.end();
    return is_each_once && has(expected);
  }

  RaggedBlocks blocks;  ///< as written
  std::uint64_t alignment;
  int step = 0;
  GuardedBytes arena{0};
  std::vector<std::uint64_t> lengths, offsets, names;
  std::vector<std::uint32_t> links;
  std::vector<double> places;

 private:
  void allocate(const zoltan::RaggedRoom& room) {
    arena = GuardedBytes(room.bytes.at(0));
    lengths.assign(room.blocks, 0);
    offsets.assign(room.blocks + 1, 0);
    names.assign(room.blocks, 0);
    places.assign(2 * room.blocks, 0);
    links.assign(room.bytes.at(1) / sizeof(std::uint32_t), 0);
  }
};

/// Tells all ranks where the blocks of each go. Collective.
inline void share_destinations(RaggedCase& c, std::span<const int> mine) {
  const auto ranks = gathered(std::vector<int>(mine.begin(), mine.end()));
  for (std::size_t r = 0; r < ranks.size(); ++r)
    for (std::size_t k = 0; k < ranks[r].size(); ++k) c.before[r].at(k).to = ranks[r][k];
}

/// Finds where the blocks of a case have gone, by the names that each rank has now. Collective.
/// @return Whether each of them is there once.
inline bool find_destinations(RaggedCase& c, std::span<const std::uint64_t> names) {
  std::map<std::uint64_t, std::pair<int, int>> found;  // rank and how often, by name
  const Numbers all = gathered(std::vector<std::uint64_t>(names.begin(), names.end()));
  for (int to = 0; to < size(); ++to)
    for (const std::uint64_t name : row_of(all, to)) found[name] = {to, found[name].second + 1};
  std::size_t once = 0;
  for (RaggedBlocks& blocks : c.before)
    for (RaggedBlock& block : blocks) {
      const auto place = found.find(block.name());
      if (place == found.end() || place->second.second != 1) return false;
      block.to = place->second.first;
      ++once;
    }
  return once == found.size();
}

/// The case after its blocks have moved, stable.
inline RaggedCase moved(const RaggedCase& c) {
  RaggedCase result{{}, c.alignment};
  for (int to = 0; to < size(); ++to) result.before.push_back(c.after(to));
  return result;
}

inline const RaggedBlocks& mine(const RaggedCase& c) {
  return c.before[static_cast<std::size_t>(rank())];
}

}  // namespace valet::test
