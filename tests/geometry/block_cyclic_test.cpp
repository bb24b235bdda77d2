// SPDX-License-Identifier: BSD-3-Clause

#include "cyclic_layouts.hpp"
#include "oracle.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

TEST(Dimension, DistributesAsTheWorkedTableShows) {
  // The table in dimension.hpp.
  const layout::Dimension dimension(10, 2, 3, 1);
  const std::vector<int> owners{1, 1, 2, 2, 0, 0, 1, 1, 2, 2};
  const std::vector<std::int64_t> locals{0, 1, 0, 1, 0, 1, 2, 3, 2, 3};
  for (std::int64_t global = 0; global < 10; ++global) {
    EXPECT_EQ(dimension.owner(global), owners[static_cast<std::size_t>(global)]);
    EXPECT_EQ(dimension.local_index(global), locals[static_cast<std::size_t>(global)]);
  }
  EXPECT_EQ(dimension.local_extent(0), 2);
  EXPECT_EQ(dimension.local_extent(1), 4);
  EXPECT_EQ(dimension.local_extent(2), 4);
}

std::uint64_t extent_of(const BlockCyclic& layout, std::size_t dimension) {
  return static_cast<std::uint64_t>(layout.extents()[dimension]);
}

TEST(BlockCyclic, IndicesAgreeWithAnElementByElementDistribution) {
  std::mt19937_64 random(seed());
  std::printf("%s\n", seed_note().c_str());
  for (int number = 0; number < 3000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    const BlockCyclic layout = RandomLayouts(random).any_layout();
    const Numbers numbers = numbers_of({layout}, IndexOrder::row_major, layout.ranks());
    std::int64_t elements = 0;
    for (int rank = 0; rank < layout.ranks(); ++rank) {
      const std::vector<std::uint64_t>& own = row_of(numbers, rank);
      ASSERT_EQ(layout.local_elements(rank), static_cast<std::int64_t>(own.size()));
      ASSERT_EQ(layout.rank(layout.coordinates(rank)), rank);
      std::size_t next = 0;
      for_every_element(layout.local_extents(rank), IndexOrder::row_major, [&](const auto& local) {
        BlockCyclic::Extents global = layout.extents();
        std::uint64_t rest = own.at(next++);
        for (std::size_t d = global.size(); d-- > 0; rest /= extent_of(layout, d))
          global[d] = static_cast<std::int64_t>(rest % extent_of(layout, d));
        ASSERT_EQ(layout.owner(global), rank);
        ASSERT_EQ(layout.local_indices(global), local);
        ASSERT_EQ(layout.global_indices(rank, local), global);
      });
      ASSERT_EQ(next, own.size());
      elements += layout.local_elements(rank);
    }
    ASSERT_EQ(layout.elements(), elements);
  }
}

TEST(BlockCyclic, NumbersRanksInRowsOrColumns) {
  const BlockCyclic rows({8, 8}, {2, 2}, {2, 3}, IndexOrder::row_major);
  const BlockCyclic columns({8, 8}, {2, 2}, {2, 3}, IndexOrder::column_major);
  EXPECT_EQ(rows.ranks(), 6);
  EXPECT_EQ(rows.rank({1, 2}), 5);
  EXPECT_EQ(rows.rank({1, 0}), 3);
  EXPECT_EQ(columns.rank({1, 0}), 1);
  EXPECT_EQ(columns.rank({0, 1}), 2);
  EXPECT_NE(rows, columns);
}

TEST(BlockCyclic, BlockAndCyclicAreCases) {
  const BlockCyclic block = BlockCyclic::block({10, 7}, {3, 2});
  EXPECT_EQ(block, BlockCyclic({10, 7}, {4, 4}, {3, 2}));
  EXPECT_EQ(block.local_extents(5), (BlockCyclic::Extents{2, 3}));
  EXPECT_EQ(BlockCyclic::block({9}, {3}), BlockCyclic({9}, {3}, {3})) << "all are full";
  const BlockCyclic cyclic = BlockCyclic::cyclic({10, 7}, {3, 2});
  EXPECT_EQ(cyclic, BlockCyclic({10, 7}, {1, 1}, {3, 2}));
  EXPECT_EQ(cyclic.local_extents(0), (BlockCyclic::Extents{4, 4}));
  EXPECT_EQ(BlockCyclic::block({0}, {3}).elements(), 0) << "an empty array has layouts too";
}

TEST(BlockCyclic, HugeArraysAreDescribedWithoutOverflow) {
  const std::int64_t huge = BlockCyclic::most_elements;
  const BlockCyclic layout({huge}, {huge / 1024 - 1}, {1024});
  EXPECT_EQ(layout.owner({huge - 1}), 0);
  EXPECT_EQ(layout.local_elements(0), huge / 1024 - 1 + 1024);
  const BlockCyclic one_block({5}, {std::numeric_limits<std::int64_t>::max()}, {4},
                              IndexOrder::row_major, {3});
  EXPECT_EQ(one_block.local_elements(3), 5) << "a block may be larger than the array";
}

struct BadLayout {
  BlockCyclic::Extents extents, block_sizes;
  BlockCyclic::Coordinates grid, first_ranks;
  std::string text;
};

TEST(BlockCyclic, RefusesWhatIsNoLayoutAndSaysWhere) {
  const std::int64_t huge = BlockCyclic::most_elements;
  const std::vector<BadLayout> all{
      {{8, 8}, {2, 0}, {2, 2}, {}, "block size 0 in dimension 1 must be at least 1"},
      {{8, 8}, {-2, 2}, {2, 2}, {}, "block size -2 in dimension 0 must be at least 1"},
      {{8, 8}, {2, 2}, {0, 2}, {}, "grid size 0 in dimension 0 must be at least 1"},
      {{8, 8}, {2, 2}, {2, -4}, {}, "grid size -4 in dimension 1 must be at least 1"},
      {{8, -8}, {2, 2}, {2, 2}, {}, "extent -8 in dimension 1 is negative"},
      {{8, 8}, {2, 2}, {2, 3}, {0, 3}, "first rank 3 in dimension 1 is not in the grid"},
      {{8, 8}, {2, 2}, {2, 3}, {-1, 0}, "first rank -1 in dimension 0 is not in the grid"},
      {{}, {}, {}, {}, "1 to 6 dimensions, not 0"},
      {{8, 8}, {2}, {2, 2}, {}, "extents have 2 dimensions, block sizes 1, the grid 2"},
      {{8, 8}, {2, 2}, {2, 2}, {0}, "the grid 2, first ranks 1; give each one value per dimension"},
      {{huge}, {huge / 2}, {3}, {}, "on 3 ranks in dimension 0 overflow"},
      {{huge, 2}, {1, 1}, {1, 1}, {}, "more than 2^60 elements, first in dimension 1"},
      {{huge, 0, 2}, {1, 1, 1}, {1, 1, 1}, {}, "more than 2^60 elements, first in dimension 2"},
      {{8, 8}, {1, 1}, {70'000, 70'000}, {}, "more than 2147483647 ranks, first in dimension 1"},
  };
  for (const BadLayout& bad : all) {
    const Outcome outcome = outcome_of([&] {
      BlockCyclic(bad.extents, bad.block_sizes, bad.grid, IndexOrder::row_major, bad.first_ranks);
    });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << bad.text;
    expect_words(outcome.text, {bad.text, "block-cyclic layout: "});
  }
  const Outcome seven = outcome_of([] { BlockCyclic::Extents{1, 1, 1, 1, 1, 1, 1}; });
  EXPECT_EQ(seven.code, ErrorCode::invalid_argument);
  expect_words(seven.text, {"1 to 6 dimensions, not 7"});
}

TEST(BlockCyclic, ConvenienceFormsRefuseTheSame) {
  const Outcome no_ranks = outcome_of([] { (void)BlockCyclic::block({8}, {0}); });
  expect_words(no_ranks.text, {"grid size 0 in dimension 0"});
  const Outcome negative = outcome_of([] { (void)BlockCyclic::cyclic({-1}, {2}); });
  expect_words(negative.text, {"extent -1 in dimension 0"});
  const Outcome lengths = outcome_of([] { (void)BlockCyclic::block({8, 8}, {2}); });
  expect_words(lengths.text, {"the grid 1"});
}

}  // namespace
}  // namespace valet::test
