// SPDX-License-Identifier: BSD-3-Clause

// Random lists, given in every way, move objects into the very slots into which valet::migrate()
// moves them by the map that the lists stand for.

#include "test_comm.hpp"
#include <valet/valet.hpp>
#include <valet/zoltan/lists.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace valet::test {
namespace {

using zoltan::ListOptions;
using zoltan::PartitionList;
using zoltan::PartitionLists;

/// One object, as all ranks know it.
struct Object {
  int from = 0;
  std::uint32_t slot = 0;
  int to = 0;
  int part = 0;
  bool listed = true;
};

/// What the case draws; the same on all ranks.
struct Draw {
  int gid_words = 1;
  int lid_words = 1;
  bool with_parts = true, masked = false, by_table = false;
  bool imports = false, exports = true;
  Order order = Order::any;
  std::uint64_t slots = 0;  ///< of each rank: all objects fit any of them
  std::vector<Object> objects;

  explicit Draw(std::mt19937_64& random) {
    const auto below = [&random](std::uint64_t limit) { return random() % limit; };
    const auto ranks = static_cast<std::uint64_t>(size());
    gid_words = 1 + static_cast<int>(below(3));
    lid_words = static_cast<int>(below(3));
    with_parts = below(2) == 0;
    masked = below(2) == 0;
    by_table = below(3) == 0;
    imports = below(2) == 0;
    exports = !imports || below(3) == 0;
    order = std::array{Order::any, Order::fill, Order::stable}[below(3)];
    const std::uint64_t chance = below(101);  // in percent, that an object is listed
    for (int from = 0; from < size(); ++from) {
      const std::uint64_t count = below(4) == 0 ? 0 : below(120);
      for (std::uint32_t k = 0; k < count; ++k)
        objects.push_back({from, k, static_cast<int>(below(ranks)), static_cast<int>(below(5)),
                           below(100) < chance});
    }
    slots = objects.size() + below(3) * 50;
    if (masked) put_anywhere(random);
    for (Object& object : objects) {
      if (by_table) object.to = table().at(static_cast<std::size_t>(object.part));
      if (!object.listed) object.to = object.from;
      if (!by_table && !with_parts) object.part = object.to;
    }
    std::ranges::shuffle(objects, random);
  }

  [[nodiscard]] std::vector<int> table() const {
    return {0, size() - 1, size() / 2, 0, (size() + 1) / 3};
  }

 private:
  void put_anywhere(std::mt19937_64& random) {
    std::vector<std::uint32_t> all(slots);
    for (int from = 0; from < size(); ++from) {
      for (std::uint32_t s = 0; s < slots; ++s) all[s] = s;
      std::ranges::shuffle(all, random);
      for (Object& object : objects)
        if (object.from == from) object.slot = all[object.slot];
    }
  }
};

/// What a slot holds.
struct Block {
  std::uint32_t number = 0;
  [[nodiscard]] bool operator==(const Block&) const = default;
};

/// The storage of a rank and what moves along, for one of the two ways.
struct Held {
  std::vector<Block> blocks;
  std::vector<int> parts;
  std::vector<ZOLTAN_ID_TYPE> gids;
  std::vector<std::uint8_t> mask;
  std::vector<int> ranks;
  std::uint64_t count = 0;

  Held(const Draw& draw, bool with_values)
      : blocks(draw.slots),
        parts(draw.slots, -1),
        gids(draw.slots * static_cast<std::size_t>(draw.gid_words)),
        mask(draw.slots, 0),
        ranks(draw.slots, 0) {
    for (std::uint32_t k = 0; k < draw.objects.size(); ++k) {
      const Object& object = draw.objects[k];
      if (object.from != rank()) continue;
      blocks[object.slot] = {k};
      mask[object.slot] = 1;
      ranks[object.slot] = object.to;
      ++count;
      parts[object.slot] = with_values && object.listed ? object.part : -2;
      if (with_values || !object.listed) write_gid(draw, k, object.slot);
    }
    if (!draw.masked) ranks.resize(count);
  }
  [[nodiscard]] Occupied occupied(const Draw& draw) const {
    return draw.masked ? Occupied::masked(mask) : Occupied(count);
  }

 private:
  void write_gid(const Draw& draw, std::uint32_t k, std::uint64_t slot) {
    const auto words = static_cast<std::size_t>(draw.gid_words);
    std::fill_n(&gids[slot * words], words, 5U);
    gids[slot * words + words - 1] = k;
  }
};

/// A list as Zoltan returns it, of the objects that one rank lists.
struct List {
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs, parts;

  List(const Draw& draw, bool exports) {
    for (std::uint32_t k = 0; k < draw.objects.size(); ++k) {
      const Object& object = draw.objects[k];
      // What a table sends elsewhere is imported by whoever has the part.
      if (!object.listed || (exports ? object.from : object.to) != rank()) continue;
      gids.insert(gids.end(), static_cast<std::size_t>(draw.gid_words - 1), 5U);
      gids.push_back(k);
      for (int word = 0; word < draw.lid_words; ++word)
        lids.push_back(word == 0 ? object.slot : 9U);
      procs.push_back(exports ? object.to : object.from);
      parts.push_back(object.part);
    }
  }
  [[nodiscard]] PartitionList list(bool with_parts) const {
    return {static_cast<int>(procs.size()), gids.data(), lids.data(), procs.data(),
            with_parts ? parts.data() : nullptr};
  }
};

void compare(const Draw& draw) {
  Held expected(draw, true), found(draw, false);
  ListOptions options;
  options.migration = {.budget_bytes = 2048, .order = draw.order, .verify = true};
  const auto words = static_cast<std::size_t>(draw.gid_words);
  const Report report = migrate(
      MPI_COMM_WORLD, {field(expected.blocks), field(expected.parts), field(expected.gids, words)},
      expected.occupied(draw), std::span<const int>(expected.ranks), options.migration);

  const List imports(draw, false), exports(draw, true);
  const bool with_parts = draw.with_parts || draw.by_table;
  PartitionLists lists{draw.gid_words, draw.lid_words, {}, {}};
  if (draw.imports) lists.imports = imports.list(with_parts);
  if (draw.exports) lists.exports = exports.list(with_parts);
  options.parts = found.parts;
  options.global_ids = found.gids;
  const std::vector<int> table = draw.table();
  if (draw.by_table) options.part_to_rank = table;
  if (draw.by_table && draw.masked) lists.exports.procs = nullptr;  // parts alone say so
  if (draw.lid_words == 0)
    options.slot_of = [&draw](const ZOLTAN_ID_TYPE* gid, const ZOLTAN_ID_TYPE* lid) {
      EXPECT_EQ(lid, nullptr);
      return draw.objects.at(gid[draw.gid_words - 1]).slot;
    };
  const auto done =
      zoltan::migrate(MPI_COMM_WORLD, lists, found.occupied(draw), {field(found.blocks)}, options);
  EXPECT_TRUE(all_ranks(done.count == report.blocks_after));
  EXPECT_TRUE(all_ranks(std::equal(found.blocks.begin(),
                                   found.blocks.begin() + static_cast<std::ptrdiff_t>(done.count),
                                   expected.blocks.begin())));
  EXPECT_TRUE(all_ranks(std::equal(found.parts.begin(),
                                   found.parts.begin() + static_cast<std::ptrdiff_t>(done.count),
                                   expected.parts.begin())));
  EXPECT_TRUE(all_ranks(std::equal(
      found.gids.begin(), found.gids.begin() + static_cast<std::ptrdiff_t>(done.count * words),
      expected.gids.begin())));
}

TEST(RandomLists, MoveAsTheirMap) {
  std::mt19937_64 random(seed());
  for (std::uint64_t k = 0; k < cases_wanted(60) && !::testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    compare(Draw(random));
  }
}

}  // namespace
}  // namespace valet::test
