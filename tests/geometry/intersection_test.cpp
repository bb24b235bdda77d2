// SPDX-License-Identifier: BSD-3-Clause

#include "geometry/intersection.hpp"

#include "geometry/owner_walk.hpp"
#include "storage/sequence_copy.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using layout::Intersection;

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
  expect_words(outcome.text, {text});
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

}  // namespace
}  // namespace valet::test
