// SPDX-License-Identifier: BSD-3-Clause

// General grids: what a dimension that is cut shares with others, index by index, what it takes,
// and what is refused. Whole arrays: random_layouts_test.cpp.

#include "cyclic_layouts.hpp"
#include "geometry/intersection.hpp"
#include "geometry/numbered_array.hpp"
#include "test_comm.hpp"
#include <valet/scalapack.hpp>

namespace valet::test {
namespace {

using layout::Dimension;
using layout::DimensionPair;

/// Local indices by global index of what is shared with a peer; -1 elsewhere.
std::vector<std::int64_t> found(const layout::DimensionIntersection& shared, int peer) {
  std::vector<std::int64_t> locals(static_cast<std::size_t>(shared.pair().extent), -1);
  std::int64_t end = 0;
  shared.for_each_run(peer, [&](auto position, auto local, auto length) {
    EXPECT_TRUE(length > 0 && end <= position) << "families ascend";
    end = position + length;
    for (std::int64_t k = 0; k < length; ++k)
      locals[static_cast<std::size_t>(position + k)] = local + k;
  });
  return locals;
}

void expect_shared(const Dimension& mine, const Dimension& theirs) {
  const DimensionPair pair(mine, theirs);
  for (int own = 0; own < mine.ranks(); ++own) {
    Ledger ledger;
    const layout::DimensionIntersection all(ledger, pair, own);
    std::uint64_t families = 0;
    for (int peer = 0; peer < theirs.ranks(); ++peer) {
      std::vector<std::int64_t> expected(static_cast<std::size_t>(mine.extent()), -1);
      for (std::int64_t i = 0; i < mine.extent(); ++i)
        if (mine.owner(i) == own && theirs.owner(i) == peer)
          expected[static_cast<std::size_t>(i)] = mine.local_index(i);
      ASSERT_EQ(found(all, peer), expected) << own << " and " << peer;
      ASSERT_EQ(all.size(peer), mine.extent() - std::ranges::count(expected, -1));
      ASSERT_LE(all.families(peer).size(), 3U);
      families += all.families(peer).size();
      for (const auto algorithm :
           {IntersectionAlgorithm::aspen, IntersectionAlgorithm::classical}) {
        Ledger other;
        const layout::DimensionIntersection one(other, pair, own, {peer, algorithm});
        ASSERT_EQ(found(one, peer), expected) << "of one peer";
      }
    }
    ASSERT_LE(ledger.peak_bytes(), layout::bytes_of_families(pair, families));
    ASSERT_EQ(intersect(pair, own, {}).families, families);
  }
}

TEST(Cuts, ShareWithBlocksAndCutsWhatEveryIndexSays) {
  std::mt19937_64 random(seed());
  std::printf("%s\n", seed_note().c_str());
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int number = 0; number < 500; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    const std::int64_t extent = pick(pick(0, 20) == 0 ? 0 : 1, 120);
    const auto cut = [&](std::int64_t most) {
      return random_cuts({extent}, most, IndexOrder::row_major, pick).dimension(0);
    };
    const auto ranks = static_cast<int>(pick(1, 9));
    const Dimension dealt(extent, pick(1, pick(1, 40)), ranks,
                          static_cast<int>(pick(0, ranks - 1)));
    const Dimension few = cut(9), many = cut(90);
    for (const auto& [mine, theirs] :
         {std::pair(few, dealt), std::pair(dealt, few), std::pair(few, many), std::pair(many, few),
          std::pair(many, dealt), std::pair(dealt, many), std::pair(few, few)}) {
      expect_shared(mine, theirs);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

// Neither for the extent, nor for blocks, nor for cells that do not meet.
TEST(Cuts, TakeMemoryForWhatTheyMeet) {
  constexpr std::int64_t extent = BlockCyclic::most_elements;
  const Dimension halves(std::vector<std::int64_t>{0, extent / 2 - 7, extent});
  const DimensionPair dealt(halves, Dimension(extent, 3, 24));
  Ledger ledger;
  const layout::DimensionIntersection blocks(ledger, dealt, 1);
  EXPECT_LE(ledger.peak_bytes(), layout::bytes_of_families(dealt, std::uint64_t{3} * 24));
  std::int64_t sum = 0;
  for (int peer = 0; peer < 24; ++peer) sum += blocks.size(peer);
  EXPECT_EQ(sum, extent - extent / 2 + 7);

  std::vector<std::int64_t> cuts(10'001);
  for (std::size_t c = 0; c < cuts.size(); ++c) cuts[c] = static_cast<std::int64_t>(10 * c);
  const DimensionPair cells(Dimension(std::vector<std::int64_t>{0, 50'005, 50'031, 100'000}),
                            Dimension(cuts));
  Ledger few;
  const layout::DimensionIntersection met(few, cells, 1);
  EXPECT_LT(few.peak_bytes(), 512U);
  EXPECT_EQ(met.size(5000), 5);
  EXPECT_EQ(met.size(5003), 1);
  EXPECT_EQ(met.size(5004), 0);
}

void refused_cuts(const layout::PerDimension<std::vector<std::int64_t>>& cuts,
                  const std::string& text) {
  const Outcome outcome = outcome_of([&] { static_cast<void>(BlockCyclic::cut_at(cuts)); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << text;
  expect_words(outcome.text, {text});
}

TEST(Cuts, AreRefusedUnlessTheyAscendFromZero) {
  refused_cuts(
      {{0, 4}, {0, 5, 3, 9}},
      "cut 2 in dimension 1 is 3, below the one before it, 5; give them in ascending order");
  refused_cuts({{0, 4}, {2, 9}}, "the cuts in dimension 1 begin with 2; the first one is 0");
  refused_cuts({{-1, 4}}, "the cuts in dimension 0 begin with -1");
  refused_cuts({{0}, {0, 9}},
               "one cut more than cells is needed in dimension 0, at least 2, not 1");
  refused_cuts({}, "1 to 6 dimensions, not 0");
  refused_cuts({{0, BlockCyclic::most_elements}, {0, 2}},
               "more than 2^60 elements, first in dimension 1");
  const std::vector<std::int64_t> many(70'001, 0);
  refused_cuts({many, many}, "more than 2147483647 ranks, first in dimension 1");
}

TEST(Cuts, AreAPartOfALayout) {
  const BlockCyclic one = BlockCyclic::cut_at({{0, 3, 8}, {0, 5, 5}});
  const auto digest = [](const BlockCyclic& grid) { return layout::digest_of(grid); };
  EXPECT_TRUE(one.is_cut());
  EXPECT_EQ(one.ranks(), 4);
  EXPECT_EQ(one.elements(), 40);
  EXPECT_EQ(one.local_extents(2), (BlockCyclic::Extents{5, 5}));
  EXPECT_EQ(one.local_elements(3), 0) << "an empty cell";
  const BlockCyclic same = BlockCyclic::cut_at({{0, 3, 8}, {0, 5, 5}});
  EXPECT_TRUE(one == same);
  EXPECT_EQ(digest(one), digest(same));
  for (const BlockCyclic& other :
       {BlockCyclic::cut_at({{0, 4, 8}, {0, 5, 5}}), BlockCyclic::cut_at({{0, 3, 8}, {0, 0, 5}}),
        BlockCyclic::cut_at({{0, 3, 8}, {0, 5, 5}}, IndexOrder::column_major),
        BlockCyclic({8, 5}, {8, 5}, {2, 2})}) {
    EXPECT_FALSE(one == other);
    EXPECT_NE(digest(one), digest(other));
  }
  const Outcome outcome = outcome_of([&] { static_cast<void>(layout::to_scalapack(one, 0, 8)); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"equal blocks, but the layout is cut"});
}

}  // namespace
}  // namespace valet::test
