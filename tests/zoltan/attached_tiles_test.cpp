// SPDX-License-Identifier: BSD-3-Clause

// Tiles in two and three dimensions, at every door: parameters of attached storage, with and
// without lists, and the Rebalancer. Every object is where the tiles have it, and from tiles to
// tiles nothing is exchanged but the agreements and the objects.

#include "numbered_objects.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace {

using namespace valet::test;
using valet::BlockCyclic;
using valet::ObjectLayout;
using valet::zoltan::Rebalancer;
using valet::zoltan::RebalancerOptions;

/// As many as an array has, the first ranks with one more.
std::vector<std::uint64_t> counts_of(const BlockCyclic::Extents& extents) {
  const std::uint64_t all = elements_of(extents), ranks = even_counts(0).size();
  std::vector<std::uint64_t> counts = even_counts(all / ranks);
  for (std::uint64_t r = 0; r < all % ranks; ++r) ++counts[r];
  return counts;
}

const BlockCyclic::Extents plane{13, 11};
const BlockCyclic::Extents room{5, 4, 6};

/// Tiles one after the other, of which grids of too many ranks are left out.
std::vector<ObjectLayout> chain_of(const BlockCyclic::Extents& extents) {
  const std::vector<BlockCyclic> in_plane{{plane, {2, 3}, {3, 2}}, {plane, {3, 2}, {2, 2}},
                                          {plane, {4, 1}, {1, 5}}, {plane, {1, 4}, {3, 1}},
                                          {plane, {5, 5}, {1, 2}}, {plane, {20, 2}, {1, 1}},
                                          {plane, {2, 2}, {2, 1}}};
  const std::vector<BlockCyclic> in_room{{room, {1, 2, 1}, {1, 2, 3}}, {room, {2, 1, 3}, {3, 1, 2}},
                                         {room, {1, 1, 1}, {1, 1, 5}}, {room, {2, 2, 2}, {1, 1, 3}},
                                         {room, {1, 3, 4}, {2, 1, 1}}, {room, {9, 1, 1}, {1, 1, 1}},
                                         {room, {1, 1, 4}, {1, 2, 1}}};
  std::vector<ObjectLayout> chain;
  for (const BlockCyclic& tiles : extents.size() == 2 ? in_plane : in_room)
    if (tiles.ranks() <= size()) chain.push_back(ObjectLayout::tiles(tiles));
  return chain;
}

TEST(AttachedTiles, AreExactThroughEveryFormOfLists) {
  for (const auto& extents : {plane, room})
    for (const char* const lists : {"NONE", "ALL", "IMPORT", "EXPORT", "PARTS"}) {
      SCOPED_TRACE(lists);
      Numbered objects(counts_of(extents), lists);
      for (const ObjectLayout& layout : chain_of(extents)) {
        objects.choose(layout);
        const auto before = objects.here();
        const ZoltanLists given(objects.zoltan);
        EXPECT_EQ(given.code(), ZOLTAN_OK);
        objects.expect_in(layout);
        if (std::string(lists) == "ALL") {
          EXPECT_EQ(before.size() + static_cast<std::size_t>(given.imports().count) -
                        static_cast<std::size_t>(given.exports().count),
                    objects.cells.count());
        }
        const valet::Report& report = objects.cells.result().report;
        EXPECT_TRUE(size() == 1 || report.plan_from_layout);
        const bool moves = report.blocks_sent + report.blocks_received > 0;
        EXPECT_TRUE(!moves || report.segments > 0);
      }
    }
}

TEST(AttachedTiles, AreReachedFromAnyLayoutInRandomChains) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    std::mt19937_64 random(seed() + k);
    const BlockCyclic::Extents extents = random_extents(random, 150);
    Numbered objects(counts_of(extents), pick(random, 0, 1) == 0 ? "NONE" : "ALL");
    for (int step = 0; step < 5 && objects.all > 0; ++step) {
      ObjectLayout layout{pick(random, 0, 12), 0};
      if (extents.size() > 1 && pick(random, 0, 3) > 0) {
        // What parameters can say: in row-major order from rank 0 on.
        const BlockCyclic tiles = random_tiles(random, extents, size());
        auto blocks = extents;
        auto grid = BlockCyclic::Coordinates::filled(extents.size(), 1);
        for (std::size_t d = 0; d < extents.size(); ++d) {
          blocks[d] = tiles.dimension(d).block_size();
          grid[d] = tiles.dimension(d).ranks();
        }
        layout = ObjectLayout::tiles({extents, blocks, grid});
      }
      objects.choose(layout);
      ASSERT_EQ(ZoltanLists(objects.zoltan).code(), ZOLTAN_OK);
      // A block beyond all objects is remembered as one of all of them.
      EXPECT_EQ(objects.here(), numbers_here(layout, objects.all));
      EXPECT_TRUE(!layout.tiling || objects.cells.layout() == layout);
    }
  }
}

TEST(AttachedTiles, TakeTheExtentsOfTheLayoutThatIsKnown) {
  const auto chain = chain_of(plane);
  Numbered objects(counts_of(plane));
  const auto own = numbers_here(chain.front(), objects.all);
  std::ranges::copy(own, objects.number.begin());
  objects.cells.count(own.size());
  // Of columns: the same objects, told with the first index as the fast one.
  const valet::IndexOrder columns = valet::IndexOrder::column_major;
  const BlockCyclic& first = *chain.front().tiling;
  const BlockCyclic turned_tiles({plane[1], plane[0]},
                                 {first.dimension(1).block_size(), first.dimension(0).block_size()},
                                 {first.dimension(1).ranks(), first.dimension(0).ranks()}, columns);
  objects.cells.layout(ObjectLayout::tiles(turned_tiles, columns));
  EXPECT_EQ(objects.cells.layout(), chain.front());
  objects.choose(chain.back());
  objects.set("LB_EXTENTS", "DEFAULT");
  objects.cells.partition();
  objects.expect_in(chain.back());
}

TEST(AttachedTiles, OfOneDimensionAreBlocksOnTheFirstRanks) {
  Numbered objects(even_counts(30));
  const int ranks = std::max(1, size() - 1);
  objects.set("LB_METHOD", "BLOCK_CYCLIC");
  objects.set("LB_BLOCK_SIZE", "4");
  objects.set("LB_GRID", std::to_string(ranks));
  for (const char* const extents : {"DEFAULT", "all"}) {
    objects.set("LB_EXTENTS",
                extents[0] == 'a' ? std::to_string(objects.all) : std::string(extents));
    EXPECT_EQ(objects.cells.partition(), size() > 1);
    EXPECT_EQ(objects.here(), numbers_here(ObjectLayout::cyclic(4, ranks), objects.all));
    objects.choose(ObjectLayout::balanced());
    objects.cells.partition();
    objects.expect_in(ObjectLayout::balanced());
    objects.set("LB_METHOD", "BLOCK_CYCLIC");
    objects.set("LB_GRID", std::to_string(ranks));
  }
}

TEST(AttachedTiles, AreWhatARebalancerMakesReturnsAndTakes) {
  for (const auto& extents : {plane, room}) {
    std::vector<std::uint64_t> number(elements_of(extents) + 1);
    const auto counts = counts_of(extents);
    std::uint64_t count = row_of(counts, rank());
    std::iota(number.begin(), number.begin() + static_cast<std::ptrdiff_t>(count),
              std::accumulate(counts.begin(), counts.begin() + rank(), std::uint64_t{0}));
    std::optional<ObjectLayout> layout;
    for (const ObjectLayout& next : chain_of(extents)) {
      Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "block_cyclic", .tiles = next.tiling});
      rebalancer.from(layout);
      const auto result = rebalancer.rebalance(count, valet::BlockStorage{valet::field(number)});
      count = result.count;
      layout = result.layout;
      ASSERT_EQ(layout, next);
      EXPECT_TRUE(result.report.plan_from_layout);
      const auto expected = numbers_here(next, elements_of(extents));
      ASSERT_EQ(expected.size(), count);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), number.begin()));
    }
  }
}

TEST(AttachedTiles, ExchangeNeitherCountsNorSlots) {
  const BlockCyclic::Extents extents{60, std::int64_t{10} * size()};
  Numbered objects(counts_of(extents));
  const ObjectLayout rows = ObjectLayout::tiles({extents, {4, 3}, {size(), 1}});
  const ObjectLayout columns = ObjectLayout::tiles({extents, {3, 4}, {1, size()}});
  // There and back: the first exchange between two ranks takes more.
  for (const ObjectLayout& layout : {rows, columns, rows}) {
    objects.choose(layout);
    objects.cells.partition();
  }
  objects.choose(columns);
  communication = {};
  objects.cells.partition();
  expect_only_blocks_sent(objects.cells.result().report);
  // The number of objects makes no difference to what is exchanged before they move.
  const auto bytes_of_map = [&](std::int64_t more) {
    const BlockCyclic::Extents larger{extents[0], extents[1] * more};
    Numbered many(counts_of(larger));
    many.choose(ObjectLayout::tiles({larger, {4, 3}, {size(), 1}}));
    many.cells.partition();
    many.set("AUTO_MIGRATE", "FALSE");
    many.choose(ObjectLayout::tiles({larger, {4, 3}, {size(), 1}}));
    communication = {};
    EXPECT_EQ(ZoltanLists(many.zoltan).code(), ZOLTAN_OK);
    return communication.bytes;
  };
  EXPECT_EQ(bytes_of_map(1), bytes_of_map(7));
}

/// What is wrong with these parameters of 143 objects.
void expect_refused(const char* grid, const char* block, const char* extents,
                    const std::vector<std::string>& words) {
  SCOPED_TRACE(grid);
  Numbered objects(counts_of(plane));
  const auto before = objects.here();
  objects.set("LB_METHOD", "BLOCK_CYCLIC");
  objects.set("LB_GRID", grid);
  objects.set("LB_BLOCK_SIZE", block);
  objects.set("LB_EXTENTS", extents);
  expect_thrown(valet::ErrorCode::invalid_argument, words, [&] { objects.cells.partition(); });
  EXPECT_EQ(objects.here(), before);
  EXPECT_FALSE(objects.cells.layout().has_value());
}

TEST(AttachedTiles, ThatContradictThemselvesAreAnErrorOnAllRanks) {
  const std::string remedy = "give each of them a number for each dimension";
  expect_refused("DEFAULT", "2x3", "13x11",
                 {"LB_BLOCK_SIZE is 2 x 3, LB_GRID not set, LB_EXTENTS 13 x 11", remedy});
  expect_refused("1x1", "4", "13x11",
                 {"LB_BLOCK_SIZE is 4, LB_GRID 1 x 1, LB_EXTENTS 13 x 11", remedy});
  expect_refused("1x1", "2x3", "DEFAULT", {"LB_EXTENTS not set", remedy});
  expect_refused("1x1", "DEFAULT", "13x11x1", {"LB_EXTENTS 13 x 11 x 1", remedy});
  expect_refused("1x1", "2x3", "13x12",
                 {"13 x 12 = 156 objects, but there are 143", "give the extents"});
  expect_refused("1", "2", "142", {"142 objects, but there are 143"});
  expect_refused("1x1x1", "1x1x1", "2000000000x2000000000x2000000000", {"more than 2^60"});
  const std::string more = std::to_string(size() + 1), ranks = std::to_string(size());
  const std::vector<std::string> words{"the layout after is over " + more + " ranks",
                                       "there are " + ranks, "give at most that many"};
  expect_refused((more + "x1").c_str(), "2x3", "13x11", words);
  expect_refused(more.c_str(), "DEFAULT", "DEFAULT", words);
  if (size() == 1) return;
  Numbered objects(counts_of(plane));
  objects.choose(ObjectLayout::tiles({plane, {1, 1}, {1, 1}}));
  for (const auto& [name, value] :
       {std::pair("LB_GRID", "1x1"), std::pair("LB_EXTENTS", "13x11")}) {
    objects.set(name, rank() == 0 ? "1x2" : value);
    expect_thrown(valet::ErrorCode::invalid_argument, {name, "1X2", "set the same on all ranks"},
                  [&] { objects.cells.partition(); });
    objects.set(name, value);
  }
}

TEST(AttachedTiles, OfOtherObjectsAreAnErrorOnAllRanks) {
  Numbered objects(counts_of(plane));
  objects.cells.layout(ObjectLayout::tiles({{13, 12}, {1, 1}, {1, 1}}));
  objects.choose(ObjectLayout::cyclic(2));
  expect_thrown(valet::ErrorCode::invalid_argument,
                {"the layout that the objects are in", "13 x 12 = 156 objects", "143"},
                [&] { objects.cells.partition(); });
  objects.cells.layout(ObjectLayout::tiles({plane, {1, 1}, {1, 1}}));
  if (size() > 1)
    expect_thrown(valet::ErrorCode::invalid_argument, {"gives this rank 143", "or none"},
                  [&] { objects.cells.partition(); });
  objects.cells.layout(ObjectLayout::tiles({plane, {1, 1}, {size(), 2}}));
  expect_thrown(valet::ErrorCode::invalid_argument, {"is over", "there are", "at most"},
                [&] { objects.cells.partition(); });
  if (size() == 1) return;
  objects.cells.layout(ObjectLayout::tiles({plane, {rank() == 0 ? 2 : 1, 1}, {1, 1}}));
  expect_thrown(valet::ErrorCode::invalid_argument, {"the tiles of the layout that they are in"},
                [&] { objects.cells.partition(); });
}

TEST(AttachedTiles, OfARebalancerThatContradictItsOptionsAreAnErrorOnAllRanks) {
  const auto expect = [](const RebalancerOptions& options, const std::vector<std::string>& words) {
    expect_thrown(valet::ErrorCode::invalid_argument, words,
                  [&] { const Rebalancer rebalancer(MPI_COMM_WORLD, options); });
  };
  const BlockCyclic tiles(plane, {2, 3}, {1, 1});
  expect({.method = "RCB", .tiles = tiles}, {"tiles with method 'RCB'", "BLOCK_CYCLIC"});
  expect({.method = "BLOCK_CYCLIC", .block_size = 4, .tiles = tiles},
         {"a block_size of 4", "leave block_size out"});
  for (const char* const name : {"lb_grid", "LB_EXTENTS"})
    expect({.method = "BLOCK_CYCLIC", .parameters = {{name, "1x1"}}},
           {name, "use RebalancerOptions::tiles"});
  expect({.method = "BLOCK_CYCLIC", .tiles = tiles, .parameters = {{"NUM_GLOBAL_PARTS", "4"}}},
         {"blocks of objects go to ranks, not to parts"});
  Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "BLOCK_CYCLIC", .tiles = tiles});
  expect_thrown(valet::ErrorCode::invalid_argument, {"13 x 11 = 143 objects", "give the extents"},
                [&] { static_cast<void>(rebalancer.partition(7)); });
  if (size() == 1) return;
  expect({.method = "BLOCK_CYCLIC", .tiles = BlockCyclic(plane, {rank() + 1, 3}, {1, 1})},
         {"the tiles that they are to be in"});
}

}  // namespace
