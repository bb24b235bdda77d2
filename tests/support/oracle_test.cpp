// SPDX-License-Identifier: BSD-3-Clause

// The oracle itself: worked examples, what the documentation promises of every order, and that a
// comparison with it finds a block that is elsewhere, lost or doubled.

#include "oracle.hpp"

#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

/// As pairs, which GoogleTest prints; (-1, 0) where a slot is free.
std::vector<std::pair<int, std::uint64_t>> pairs_of(const Content& content) {
  std::vector<std::pair<int, std::uint64_t>> pairs;
  for (const auto& from : content)
    pairs.emplace_back(from ? from->rank : -1, from ? from->slot : 0);
  return pairs;
}
using Pairs = decltype(pairs_of({}));

constexpr std::size_t block_bytes = 8;

/// Rank 0 has blocks in slots 0, 2, 3 and 4 of 6, rank 1 in 0 and 1 of 3.
GlobalMap worked_map() {
  GlobalMap map{{6, 3}, {Content(6), Content(3)}};
  map.destination[0][0] = Address{1, 2};
  map.destination[0][2] = Address{0, 5};
  map.destination[0][3] = Address{1, 0};
  map.destination[0][4] = Address{0, 1};
  map.destination[1][0] = Address{0, 0};
  map.destination[1][1] = Address{1, 1};
  return map;
}

TEST(Oracle, HasTheWorkedExampleOfEveryOrder) {
  const GlobalMap map = worked_map();
  const auto expect = [](const GlobalContent& content, const Pairs& first, const Pairs& second) {
    EXPECT_EQ(pairs_of(content[0]), first);
    EXPECT_EQ(pairs_of(content[1]), second);
  };
  const std::pair<int, std::uint64_t> none{-1, 0};
  expect(content_by_slots(map), {{1, 0}, {0, 4}, none, none, none, {0, 2}},
         {{0, 3}, {1, 1}, {0, 0}});
  expect(content_by_ranks(map, Order::stable, block_bytes),
         {{0, 2}, {0, 4}, {1, 0}, none, none, none}, {{1, 1}, {0, 0}, {0, 3}});
  expect(content_by_ranks(map, Order::fill, block_bytes),
         {{1, 0}, {0, 4}, {0, 2}, none, none, none}, {{0, 0}, {1, 1}, {0, 3}});
  // A slot that is free is taken before one that a block has to leave.
  expect(content_by_ranks(map, Order::any, block_bytes), {{0, 4}, {1, 0}, {0, 2}, none, none, none},
         {{0, 3}, {1, 1}, {0, 0}});
}

TEST(Oracle, HasTheWorkedTablesOfLayouts) {
  // In object_layout.hpp and dimension.hpp.
  EXPECT_EQ(numbers_of(ObjectLayout::cyclic(1), 10, 2),
            (Numbers{{0, 2, 4, 6, 8}, {1, 3, 5, 7, 9}}));
  EXPECT_EQ(numbers_of(ObjectLayout::cyclic(3), 10, 2),
            (Numbers{{0, 1, 2, 6, 7, 8}, {3, 4, 5, 9}}));
  EXPECT_EQ(numbers_of(ObjectLayout::balanced(), 10, 2),
            (Numbers{{0, 1, 2, 3, 4}, {5, 6, 7, 8, 9}}));
  EXPECT_EQ(numbers_of(ObjectLayout::balanced(3), 2, 4), (Numbers{{0}, {}, {1}, {}}));
  EXPECT_EQ(numbers_of(ObjectLayout::tiles({{2, 5}, {1, 2}, {1, 2}}), 10, 2),
            (Numbers{{0, 1, 4, 5, 6, 9}, {2, 3, 7, 8}}));
  // The same of the array as columns: element (i, j) is number i + 2 j.
  EXPECT_EQ(
      numbers_of(ObjectLayout::tiles({{2, 3}, {1, 2}, {2, 2}}, IndexOrder::column_major), 6, 4),
      (Numbers{{0, 2}, {4}, {1, 3}, {5}}));
  const GridLayout row{BlockCyclic({10}, {2}, {3}, IndexOrder::row_major, {1})};
  EXPECT_EQ(numbers_of(row, IndexOrder::row_major, 3),
            (Numbers{{4, 5}, {0, 1, 6, 7}, {2, 3, 8, 9}}));
  const GridLayout matrix{BlockCyclic({3, 3}, {2, 2}, {1, 2}), {2, 0}};
  EXPECT_EQ(numbers_of(matrix, IndexOrder::row_major, 3),
            (Numbers{{2, 5, 8}, {}, {0, 1, 3, 4, 6, 7}}));
  EXPECT_EQ(numbers_of(matrix, IndexOrder::column_major, 3),
            (Numbers{{2, 5, 8}, {}, {0, 3, 6, 1, 4, 7}}));
}

TEST(Oracle, HasTheElementsOfAnAllToAllBySourceAndNumberedBlocksByNumber) {
  const auto content = content_by_slots(map_to({{0, 1, 1}, {0, 0}, {}}, 1));
  EXPECT_EQ(pairs_of(content[0]), (Pairs{{0, 0}, {1, 0}, {1, 1}, {-1, 0}}));
  EXPECT_EQ(pairs_of(content[1]), (Pairs{{0, 1}, {0, 2}, {-1, 0}}));
  const auto moved = content_by_slots(map_between({{7, 3}, {5}}, {{5}, {3, 7}}));
  EXPECT_EQ(pairs_of(moved[0]), (Pairs{{1, 0}, {-1, 0}}));
  EXPECT_EQ(pairs_of(moved[1]), (Pairs{{0, 1}, {0, 0}}));
}

/// Calls check(map, content by ranks, order) for random maps.
void for_random_maps(
    const std::function<void(const GlobalMap&, const GlobalContent&, Order)>& check) {
  for (std::uint64_t k = 0; k < 300; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, static_cast<int>(pick(random, 1, 6)), 40,
                                     static_cast<Tightness>(k % 3), k % 2 == 0);
    const std::size_t bytes = std::array<std::size_t, 3>{8, 20'000, 1 << 20}[pick(random, 0, 2)];
    for (const Order order : all_orders) check(map, content_by_ranks(map, order, bytes), order);
  }
}

TEST(Oracle, PromisesOfEveryOrderWhatTheDocumentationDoes) {
  for_random_maps([](const GlobalMap& map, const GlobalContent& content, Order order) {
    std::vector<std::vector<Address>> blocks(map.slots.size());
    for_each_block(map, [&](const Address& from, const Address& to) {
      row_of(blocks, to.rank).push_back(from);
    });
    for (int rank = 0; rank < map.ranks(); ++rank) {
      const Content& here = row_of(content, rank);
      const auto& expected = row_of(blocks, rank);
      Pairs wanted, found = pairs_of(here);
      for (const Address& from : expected) wanted.emplace_back(from.rank, from.slot);
      for (std::size_t slot = 0; slot < here.size(); ++slot)
        ASSERT_EQ(here[slot].has_value(), slot < wanted.size()) << "in the first slots";
      found.resize(wanted.size());
      std::ranges::sort(found);
      ASSERT_EQ(found, wanted) << "every block once";
      for (const Address& from : expected)
        if (order != Order::stable && from.rank == rank && from.slot < wanted.size()) {
          ASSERT_EQ(here[from.slot]->rank, rank) << "keeps its slot";
          ASSERT_EQ(here[from.slot]->slot, from.slot) << "keeps its slot";
        }
    }
  });
}

TEST(Oracle, ComparisonsFindWhatIsElsewhereLostOrDoubled) {
  const auto wrong = [](const Content& content, const Content& held) {
    return wrong_slots(content, [&](std::uint64_t slot, const Address& origin) {
      return held[slot] && held[slot]->rank == origin.rank && held[slot]->slot == origin.slot;
    });
  };
  long long spoilt = 0, other_orders = 0;
  for_random_maps([&](const GlobalMap& map, const GlobalContent& content, Order order) {
    for (std::size_t r = 0; r < content.size(); ++r) {
      const Content& right = content[r];
      ASSERT_EQ(wrong(right, right), 0);
      other_orders += order != Order::stable
                          ? wrong(right, content_by_ranks(map, Order::stable, block_bytes)[r])
                          : 0;
      if (right.size() < 2 || !right[1]) continue;
      ++spoilt;
      Content held = right;
      std::swap(held[0], held[1]);
      ASSERT_EQ(wrong(right, held), 2) << "two in each other's slot";
      held = right;
      held[1].reset();
      ASSERT_EQ(wrong(right, held), 1) << "one is lost";
      held[1] = held[0];
      ASSERT_EQ(wrong(right, held), 1) << "one is there twice";
    }
  });
  EXPECT_GT(spoilt, 1000);
  EXPECT_GT(other_orders, 1000) << "one order is not taken for another";
}

}  // namespace
}  // namespace valet::test
