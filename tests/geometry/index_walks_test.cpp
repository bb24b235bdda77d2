// SPDX-License-Identifier: BSD-3-Clause

// ASPEN's walk, which Valet uses, and those that valet-bench compares with it.

#include "tools/bench/index_walks.hpp"

#include "cyclic_layouts.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using bench::IndexAlgorithm;
using layout::Dimension;
using layout::DimensionPair;
using layout::IndexFamily;

struct Found {
  std::int64_t operations = 0;
  std::vector<IndexFamily> families;
};

Found found(const DimensionPair& pair, int coordinate, IndexAlgorithm algorithm) {
  Found found;
  found.operations = walk(pair, coordinate, algorithm,
                          [&](const IndexFamily& family) { found.families.push_back(family); });
  return found;
}

/// Blocks and grids of the index study of the ASPEN paper, section 5, every grid size between.
template <class Check>
void for_the_study(Check&& check) {
  constexpr std::int64_t extent = 10'000;
  const std::array<std::int64_t, 6> blocks{1024, 256, 30, 50, 654, 321};
  for (const std::int64_t own_block : blocks)
    for (const std::int64_t their_block : blocks)
      for (int own_ranks = 2; own_ranks <= 32; own_ranks += own_ranks < 8 ? 1 : 4)
        for (int their_ranks = 2; their_ranks <= 32; ++their_ranks) {
          const DimensionPair pair(Dimension(extent, own_block, own_ranks),
                                   Dimension(extent, their_block, their_ranks));
          SCOPED_TRACE(std::to_string(own_block) + " on " + std::to_string(own_ranks) + " to " +
                       std::to_string(their_block) + " on " + std::to_string(their_ranks));
          for (int coordinate = 0; coordinate < own_ranks; ++coordinate) check(pair, coordinate);
          if (::testing::Test::HasFatalFailure()) return;
        }
}

/// Whether two families of own blocks inside one of their blocks could be one.
bool continues(const DimensionPair& pair, const IndexFamily& first, const IndexFamily& next) {
  return first.length == pair.mine.block && next.length == pair.mine.block &&
         next.position == first.position + first.count * pair.mine.stride &&
         next.position / pair.theirs.block == first.position / pair.theirs.block;
}

TEST(Operations, OfAspenAreAtMostTwoPerFamilyItReturnsOnAllGridsOfTheStudy) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    const Found aspen = found(pair, coordinate, IndexAlgorithm::aspen);
    ASSERT_LE(aspen.operations, 2 * static_cast<std::int64_t>(aspen.families.size()));
    for (std::size_t f = 0; f < aspen.families.size(); ++f) {
      const IndexFamily& family = aspen.families[f];
      ASSERT_LT(family.position, pair.extent) << "nothing is looked for behind it";
      ASSERT_EQ((family.position / pair.theirs.block + pair.theirs.first_rank) % pair.theirs.ranks,
                family.peer);
      if (f > 0) {
        ASSERT_FALSE(continues(pair, aspen.families[f - 1], aspen.families[f]));
      }
    }
    // And no family is there twice: together they are the indices of the coordinate in a period.
    std::int64_t indices = 0;
    for (const IndexFamily& family : aspen.families) {
      const std::int64_t stride = pair.family_stride();
      for (std::int64_t k = 0; k < family.count; ++k)
        indices +=
            std::clamp<std::int64_t>(pair.extent - family.position - k * stride, 0, family.length);
    }
    if (pair.repeats) {
      ASSERT_EQ(indices, pair.local_period());
    } else {
      const std::int64_t block = pair.mine.block;
      std::int64_t owned = 0;
      for (std::int64_t start = pair.mine.start(coordinate); start < pair.extent;
           start += pair.mine.stride)
        owned += std::min(block, pair.extent - start);
      ASSERT_EQ(indices, owned);
    }
  });
}

TEST(Operations, OfAspenDoNotGrowWithTheirGridWhereTheOwnBlocksOfAPeriodDoNot) {
  for (const std::int64_t block : {1024, 256, 30, 50, 654, 321}) {
    const Dimension own(10'000, block, 32);
    const DimensionPair few(own, Dimension(10'000, block, 2));
    const DimensionPair many(own, Dimension(10'000, block, 32));
    EXPECT_EQ(found(few, 0, IndexAlgorithm::aspen).operations,
              found(many, 0, IndexAlgorithm::aspen).operations);
    EXPECT_GT(found(many, 0, IndexAlgorithm::classical).operations,
              4 * found(many, 0, IndexAlgorithm::aspen).operations);
  }
}

TEST(Operations, OfClassicalAndFallsAreTheComparisonsOfTheirDefinition) {
  // 10,000 by 30 on 2: 334 blocks, 167 on coordinate 0; 40 blocks of 256 on 4 coordinates.
  const DimensionPair pair(Dimension(10'000, 30, 2), Dimension(10'000, 256, 4));
  EXPECT_EQ(found(pair, 0, IndexAlgorithm::classical).operations, 167 * 40);
  // Equal blocks: one own block in a period of 32, against one block of each of 32 peers.
  const DimensionPair equal(Dimension(10'000, 30, 32), Dimension(10'000, 30, 32));
  EXPECT_EQ(found(equal, 0, IndexAlgorithm::falls).operations, 32);
  EXPECT_EQ(found(equal, 0, IndexAlgorithm::aspen).operations, 2);
  EXPECT_EQ(equal.period, 960);
}

// Each comparison ends the search for an own block, or leaves a block of theirs behind for good.
TEST(Operations, OfFallsAreNoMoreThanTheBlocksOfAPeriodThatAreMetOnwards) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    const std::int64_t own = (pair.period - 1) / pair.mine.stride + 1;
    const std::int64_t others = (pair.period - 1) / pair.theirs.block + 1;
    ASSERT_LE(found(pair, coordinate, IndexAlgorithm::falls).operations,
              own * pair.theirs.ranks + others);
  });
}

TEST(Walks, FindTheSameSegmentsInRandomLayouts) {
  constexpr long long cases = 10'000;
  std::mt19937_64 random(seed());
  for (long long number = 0; number < cases; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    RandomLayouts layouts(random);
    const BlockCyclic mine = layouts.layout();
    const BlockCyclic theirs = layouts.layout();
    for (std::size_t d = 0; d < mine.dimensions(); ++d) {
      const DimensionPair pair(mine.dimension(d), theirs.dimension(d));
      for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate) {
        const auto expected = segments_of(pair, coordinate, IndexAlgorithm::classical);
        ASSERT_EQ(segments_of(pair, coordinate, IndexAlgorithm::falls), expected);
        ASSERT_EQ(segments_of(pair, coordinate, IndexAlgorithm::aspen), expected);
      }
    }
  }
}

}  // namespace
}  // namespace valet::test
