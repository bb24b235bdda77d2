// SPDX-License-Identifier: BSD-3-Clause

#include "geometry/intersection.hpp"

#include "geometry/owner_walk.hpp"
#include "geometry/walks.hpp"
#include "outcome.hpp"
#include "storage/sequence_copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace valet::test {
namespace {

using layout::Algorithm;
using layout::Dimension;
using layout::DimensionPair;
using layout::Intersection;
using layout::SegmentFamily;

struct Found {
  std::int64_t operations = 0;
  std::vector<SegmentFamily> families;
};

Found found(const DimensionPair& pair, int coordinate, Algorithm algorithm) {
  Found found;
  found.operations = walk(pair, coordinate, algorithm,
                          [&](const SegmentFamily& family) { found.families.push_back(family); });
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
bool continues(const DimensionPair& pair, const SegmentFamily& first, const SegmentFamily& next) {
  return first.length == pair.mine.block && next.length == pair.mine.block &&
         next.position == first.position + first.count * pair.mine.stride &&
         next.position / pair.theirs.block == first.position / pair.theirs.block;
}

TEST(Operations, OfAspenAreAtMostTwoPerFamilyItReturnsOnAllGridsOfTheStudy) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    const Found aspen = found(pair, coordinate, Algorithm::aspen);
    ASSERT_LE(aspen.operations, 2 * static_cast<std::int64_t>(aspen.families.size()));
    for (std::size_t f = 0; f < aspen.families.size(); ++f) {
      const SegmentFamily& family = aspen.families[f];
      ASSERT_LT(family.position, pair.extent) << "nothing is looked for behind it";
      ASSERT_EQ((family.position / pair.theirs.block + pair.theirs.first_rank) % pair.theirs.ranks,
                family.peer);
      if (f > 0) {
        ASSERT_FALSE(continues(pair, aspen.families[f - 1], aspen.families[f]));
      }
    }
    // And no family is there twice: together they are the indices of the coordinate in a period.
    std::int64_t indices = 0;
    for (const SegmentFamily& family : aspen.families) {
      const std::int64_t stride = pair.segment_stride();
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
    EXPECT_EQ(found(few, 0, Algorithm::aspen).operations,
              found(many, 0, Algorithm::aspen).operations);
    EXPECT_GT(found(many, 0, Algorithm::classical).operations,
              4 * found(many, 0, Algorithm::aspen).operations);
  }
}

TEST(Operations, OfClassicalAndFallsAreTheComparisonsOfTheirDefinition) {
  // 10,000 by 30 on 2: 334 blocks, 167 on coordinate 0; 40 blocks of 256 on 4 coordinates.
  const DimensionPair pair(Dimension(10'000, 30, 2), Dimension(10'000, 256, 4));
  EXPECT_EQ(found(pair, 0, Algorithm::classical).operations, 167 * 40);
  // Equal blocks: one own block in a period of 32, against one block of each of 32 peers.
  const DimensionPair equal(Dimension(10'000, 30, 32), Dimension(10'000, 30, 32));
  EXPECT_EQ(found(equal, 0, Algorithm::falls).operations, 32);
  EXPECT_EQ(found(equal, 0, Algorithm::aspen).operations, 2);
  EXPECT_EQ(equal.period, 960);
}

// Each comparison ends the search for an own block, or leaves a block of theirs behind for good.
TEST(Operations, OfFallsAreNoMoreThanTheBlocksOfAPeriodThatAreMetOnwards) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    const std::int64_t own = (pair.period - 1) / pair.mine.stride + 1;
    const std::int64_t others = (pair.period - 1) / pair.theirs.block + 1;
    ASSERT_LE(found(pair, coordinate, Algorithm::falls).operations,
              own * pair.theirs.ranks + others);
  });
}

TEST(OwnerWalk, OfAPartThatIsEmptyInOneDimensionIsEmpty) {
  const BlockCyclic mine({3, 5}, {1, 5}, {4, 1});
  const BlockCyclic theirs({3, 5}, {2, 2}, {1, 2});
  const auto stretch = [](int, std::int64_t) { FAIL() << "rank 3 has none of the three rows"; };
  for (const IndexOrder order : {IndexOrder::row_major, IndexOrder::column_major}) {
    layout::walk_owners<layout::Direction::forward>(mine, 3, theirs, order, stretch);
    layout::walk_owners<layout::Direction::backward>(mine, 3, theirs, order, stretch);
  }
}

TEST(Intersection, OfBlockAndCyclicTakesMemoryForTheGridAndNotForTheArray) {
  constexpr std::int64_t extent = 1'000'000'000;
  const BlockCyclic block = BlockCyclic::block({extent}, {16});
  const BlockCyclic cyclic = BlockCyclic::cyclic({extent}, {24});
  Ledger ledger;
  const Intersection out(ledger, block, 3, cyclic);
  EXPECT_LT(ledger.peak_bytes(), 64U * 24U);
  const Intersection back(ledger, cyclic, 3, block);
  EXPECT_LT(ledger.peak_bytes(), 2 * 64U * 24U);
  std::int64_t shared = 0;
  for (int peer = 0; peer < cyclic.ranks(); ++peer) shared += out.elements(peer);
  EXPECT_EQ(shared, block.local_elements(3));
  EXPECT_EQ(back.elements(3), out.elements(3));
}

TEST(Intersection, OfSmallBlocksAndLargeOnesTakesMemoryForTheLargeOnes) {
  constexpr std::int64_t extent = 1'000'000'000;
  const BlockCyclic small({extent}, {3}, {16});
  const BlockCyclic large({extent}, {1'000'003}, {24});
  Ledger ledger;
  const Intersection intersection(ledger, small, 5, large);
  // 1000 blocks of theirs, at most three families each.
  EXPECT_LE(ledger.peak_bytes(), 3U * 1000U * 40U + 64U * 24U);
  std::int64_t shared = 0;
  for (int peer = 0; peer < large.ranks(); ++peer) shared += intersection.elements(peer);
  EXPECT_EQ(shared, small.local_elements(5));
}

TEST(Intersection, GivesItsMemoryBackAndCopiesTakeNone) {
  Ledger ledger;
  {
    const BlockCyclic mine({100, 100}, {7, 3}, {2, 3});
    const BlockCyclic theirs({100, 100}, {5, 11}, {3, 2});
    const Intersection intersection(ledger, mine, 4, theirs);
    ledger.reset_peak();
    const std::size_t before = ledger.current_bytes();
    const std::int64_t elements = intersection.elements(2);
    std::vector<std::byte> array(100 * 100), packed(static_cast<std::size_t>(elements));
    layout::SequenceCopy(intersection, {{1, 100}, 1}, IndexOrder::column_major)
        .pack(array.data(), {2, 0, elements}, packed.data());
    EXPECT_EQ(ledger.peak_bytes(), before);
  }
  EXPECT_EQ(ledger.current_bytes(), 0U);
}

TEST(Intersection, OfHugeLayoutsDoesNotOverflow) {
  // Strides near 2^60 whose least common multiple is near 2^120.
  constexpr std::int64_t extent = BlockCyclic::most_elements;
  const BlockCyclic mine({extent}, {extent / 8 - 1}, {8});
  const BlockCyclic theirs({extent}, {extent / 12 - 5}, {7});
  for (const auto& [one, other] : {std::pair(mine, theirs), std::pair(theirs, mine)})
    for (int rank = 0; rank < one.ranks(); ++rank) {
      Ledger ledger;
      const Intersection intersection(ledger, one, rank, other);
      std::int64_t shared = 0;
      for (int peer = 0; peer < other.ranks(); ++peer) shared += intersection.elements(peer);
      EXPECT_EQ(shared, one.local_elements(rank));
    }
}

void refused(const Outcome& outcome, const std::string& text) {
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << text;
  EXPECT_NE(outcome.text.find(text), std::string::npos) << outcome.text;
}

TEST(Intersection, RefusesWhatDoesNotFitTogether) {
  const BlockCyclic mine({8, 9}, {2, 2}, {2, 2});
  const auto with = [&](int rank, const BlockCyclic& theirs) {
    return outcome_of([&] {
      Ledger ledger;
      const Intersection intersection(ledger, mine, rank, theirs);
    });
  };
  refused(with(0, BlockCyclic({8, 10}, {2, 2}, {2, 2})),
          "not of the same array: extent 9 and 10 in dimension 1");
  refused(with(0, BlockCyclic({72}, {2}, {2})), "not of the same array: 2 and 1 dimensions");
  refused(with(4, mine), "rank 4 is not in the layout's grid, which has ranks 0 to 3");
  refused(with(-1, mine), "rank -1 is not in the layout's grid");
}

TEST(Algorithm, NamesAreReadInEitherCaseAndUnknownOnesRefused) {
  EXPECT_EQ(layout::parse_algorithm("ASPEN"), Algorithm::aspen);
  EXPECT_EQ(layout::parse_algorithm("falls"), Algorithm::falls);
  EXPECT_EQ(layout::parse_algorithm("Classical"), Algorithm::classical);
  refused(outcome_of([] { (void)layout::parse_algorithm("oak"); }),
          "unknown intersection algorithm 'oak'; known: classical, falls, aspen");
}

}  // namespace
}  // namespace valet::test
