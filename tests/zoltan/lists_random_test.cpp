// SPDX-License-Identifier: BSD-3-Clause

// Random lists, given in every way, move objects into the slots in which the oracle has them for
// the map that the lists stand for.

#include "random_maps.hpp"
#include "test_comm.hpp"
#include <valet/zoltan/lists.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

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

/// The storage of a rank and what moves along.
struct HeldObjects {
  std::vector<Block> blocks;
  std::vector<int> parts;
  std::vector<ZOLTAN_ID_TYPE> gids;
  std::vector<std::uint8_t> mask;
  std::uint64_t count = 0;

  explicit HeldObjects(const Draw& draw)
      : blocks(draw.slots),
        parts(draw.slots, -1),
        gids(draw.slots * static_cast<std::size_t>(draw.gid_words)),
        mask(draw.slots, 0) {
    for (std::uint32_t k = 0; k < draw.objects.size(); ++k) {
      const Object& object = draw.objects[k];
      if (object.from != rank()) continue;
      blocks[object.slot] = {k};
      mask[object.slot] = 1;
      ++count;
      parts[object.slot] = -2;
      if (!object.listed) write_gid(draw, k, object.slot);
    }
  }
  [[nodiscard]] Occupied occupied(const Draw& draw) const {
    return draw.masked ? Occupied::masked(mask) : Occupied(count);
  }

  /// Whether a slot has an object with the part and the name that it must have.
  [[nodiscard]] bool has(const Draw& draw, std::uint64_t slot, std::uint32_t k) const {
    const auto words = static_cast<std::size_t>(draw.gid_words);
    const Object& object = draw.objects[k];
    return blocks[slot] == Block{k} && parts[slot] == (object.listed ? object.part : -2) &&
           gids[slot * words + words - 1] == k &&
           std::count(&gids[slot * words], &gids[slot * words + words - 1], 5U) ==
               draw.gid_words - 1;
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
  HeldObjects found(draw);
  ListOptions options;
  options.migration = {.budget_bytes = 2048, .order = draw.order, .verify = true};
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
  GlobalMap map = empty_map(size(), draw.slots);
  std::vector<std::vector<std::uint32_t>> numbers(map.slots.size(),
                                                  std::vector<std::uint32_t>(draw.slots));
  for (std::uint32_t k = 0; k < draw.objects.size(); ++k) {
    const Object& object = draw.objects[k];
    row_of(map.destination, object.from)[object.slot] = Address{object.to, 0};
    row_of(numbers, object.from)[object.slot] = k;
  }
  const GlobalContent content = content_by_ranks(map, draw.order, done.report.block_bytes);
  const Content& here = row_of(content, rank());
  const auto count = std::ranges::count_if(here, [](const auto& from) { return from.has_value(); });
  EXPECT_TRUE(all_ranks(done.count == static_cast<std::uint64_t>(count)));
  EXPECT_EQ(sum_over_ranks(wrong_slots(here,
                                       [&](std::uint64_t slot, const Address& from) {
                                         return found.has(draw, slot,
                                                          row_of(numbers, from.rank)[from.slot]);
                                       })),
            0);
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
