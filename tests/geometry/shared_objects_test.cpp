// SPDX-License-Identifier: BSD-3-Clause

// What two ranks share of numbered objects, for every pair of ranks of random sides, against the
// definition tried out object by object.

#include "geometry/shared_objects.hpp"

#include "oracle.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using layout::Dimension;
using layout::ObjectSide;
using layout::SharedObjects;

/// A side with what it refers to.
struct Side {
  std::optional<ObjectSide> balanced;
  std::vector<std::int64_t> bounds;
  Dimension cyclic;
  std::optional<BlockCyclic> tiles;
  [[nodiscard]] ObjectSide get() const {
    if (balanced) return *balanced;
    if (tiles) return ObjectSide(*tiles);
    return bounds.empty() ? ObjectSide(cyclic) : ObjectSide(std::span(bounds));
  }
};

/// @param extents  Of all objects, in one or more dimensions.
Side random_side(std::mt19937_64& random, const BlockCyclic::Extents& extents) {
  const int ranks = static_cast<int>(pick(random, 1, 7));
  const auto objects = static_cast<std::int64_t>(elements_of(extents));
  const auto below = [&](std::int64_t most) {
    return static_cast<std::int64_t>(pick(random, 0, static_cast<std::uint64_t>(most)));
  };
  Side side;
  if (pick(random, 0, 2) == 0) {
    side.tiles = random_tiles(random, extents, ranks);
    return side;
  }
  if (pick(random, 0, 2) > 0) {
    const std::int64_t most = pick(random, 0, 1) == 0 ? 4 : objects + 2;
    side.cyclic = Dimension(objects, 1 + below(most), ranks);
    return side;
  }
  if (pick(random, 0, 1) == 0) {
    side.balanced.emplace(objects, ranks);
    return side;
  }
  side.bounds.assign(static_cast<std::size_t>(ranks) + 1, objects);
  side.bounds[0] = 0;
  for (std::size_t r = 1; r + 1 < side.bounds.size(); ++r) side.bounds[r] = below(objects);
  std::sort(side.bounds.begin(), side.bounds.end());
  return side;
}

/// The numbers of each rank, by slot.
Numbers numbers_of(const Side& side, int ranks) {
  const auto objects = static_cast<std::uint64_t>(side.get().objects());
  if (side.balanced)
    return test::numbers_of(ObjectLayout::balanced(side.balanced->ranks()), objects, ranks);
  if (side.tiles) return test::numbers_of(ObjectLayout::tiles(*side.tiles), objects, ranks);
  if (side.bounds.empty()) {
    const auto block = static_cast<std::uint64_t>(side.cyclic.block_size());
    return test::numbers_of(ObjectLayout::cyclic(block, side.cyclic.ranks()), objects, ranks);
  }
  Numbers numbers(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank + 1 < side.bounds.size(); ++rank)
    for (std::int64_t number = side.bounds[rank]; number < side.bounds[rank + 1]; ++number)
      numbers[rank].push_back(static_cast<std::uint64_t>(number));
  return numbers;
}

void expect_shared(const Side& mine, const Side& theirs, int ranks) {
  Ledger ledger;
  const ObjectSide a = mine.get(), b = theirs.get();
  const auto of_mine = numbers_of(mine, ranks), of_theirs = numbers_of(theirs, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    const SharedObjects shared(ledger, a, rank, b);
    const auto& own = of_mine[static_cast<std::size_t>(rank)];
    ASSERT_EQ(a.count(rank), static_cast<std::int64_t>(own.size()));
    for (int peer = 0; peer < ranks; ++peer) {
      const auto& other = of_theirs[static_cast<std::size_t>(peer)];
      std::vector<std::uint64_t> expected, found;
      std::ranges::set_intersection(own, other, std::back_inserter(expected));
      shared.for_each_run(peer, [&](const layout::ObjectRun& run) {
        for (std::int64_t k = 0; k < run.length; ++k) {
          found.push_back(static_cast<std::uint64_t>(run.number + k));
          ASSERT_EQ(own.at(static_cast<std::size_t>(run.slot + k)), found.back());
        }
      });
      ASSERT_EQ(found, expected) << "rank " << rank << ", peer " << peer;
      ASSERT_EQ(shared.count(peer), static_cast<std::int64_t>(expected.size()));
      ASSERT_EQ(shared.families(peer) == 0, expected.empty());
    }
    // All peers at once: the same, in whatever order of the peers.
    std::vector<std::vector<std::uint64_t>> all(static_cast<std::size_t>(ranks));
    shared.for_each_run([&](int peer, const layout::ObjectRun& run) {
      for (std::int64_t k = 0; k < run.length; ++k) {
        ASSERT_EQ(own.at(static_cast<std::size_t>(run.slot + k)),
                  static_cast<std::uint64_t>(run.number + k));
        row_of(all, peer).push_back(static_cast<std::uint64_t>(run.number + k));
      }
    });
    for (int peer = 0; peer < ranks; ++peer) {
      std::vector<std::uint64_t> expected;
      std::ranges::set_intersection(own, row_of(of_theirs, peer), std::back_inserter(expected));
      ASSERT_EQ(row_of(all, peer), expected) << "rank " << rank << ", peer " << peer;
    }
  }
}

TEST(SharedObjects, AreThoseOfBothRanksInTheSameOrderWhateverTheSides) {
  constexpr int ranks = 8;  // some have nothing on either side
  const std::uint64_t cases = cases_wanted(2000);
  for (std::uint64_t number = 0; number < cases; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    const BlockCyclic::Extents extents = random_extents(random, 150);
    const Side mine = random_side(random, extents);
    // The same objects as an array of another shape, too.
    const bool is_turned = pick(random, 0, 3) == 0;
    const Side theirs = random_side(random, is_turned ? turned(extents) : extents);
    expect_shared(mine, theirs, ranks);
    ASSERT_FALSE(HasFatalFailure());
  }
}

TEST(SharedObjects, OfManyObjectsAreDescribedByFewSegments) {
  constexpr std::int64_t objects = 1'000'000'000'000;
  Ledger ledger;
  const ObjectSide before(Dimension(objects, 3, 64)), after(Dimension(objects, 2, 50));
  const SharedObjects shared(ledger, before, 5, after);
  std::int64_t count = 0;
  std::uint64_t segments = 0;
  for (int peer = 0; peer < 50; ++peer) {
    count += shared.count(peer);
    segments += shared.families(peer);
  }
  EXPECT_EQ(count, before.count(5));
  EXPECT_EQ(layout::shared_periods(before, after), (objects + 4799) / 4800);
  EXPECT_LE(segments, 50U) << "a period has 25 blocks, each in two pieces at most";
  EXPECT_LE(ledger.peak_bytes(), 4096U);
}

TEST(SharedObjects, OfFewSegmentsTakeNoTableOverTheRanks) {
  constexpr std::int64_t objects = 1'000'000'000'000;
  constexpr int ranks = 10'000;
  const ObjectSide before(Dimension(objects, 4, ranks)), after(Dimension(objects, 7, ranks));
  const ObjectSide tiles(BlockCyclic({1'000'000, 1'000'000}, {4, 1'000'000}, {ranks, 1}));
  const ObjectSide others(BlockCyclic({1'000'000, 1'000'000}, {7, 1'000'000}, {ranks, 1}));
  const ObjectSide balanced(objects, ranks);
  for (const auto& [a, b] : {std::pair(&before, &after), std::pair(&after, &before),
                             std::pair(&tiles, &others), std::pair(&balanced, &before)})
    for (const int rank : {0, 4321, ranks - 1}) {
      Ledger ledger;
      const SharedObjects shared(ledger, *a, rank, *b);
      std::int64_t count = 0;
      for (int peer = 0; peer < ranks; ++peer) count += shared.count(peer);
      EXPECT_EQ(count, a->count(rank));
      EXPECT_LE(ledger.peak_bytes(), 4096U) << "not as much as a bit for each of 32,768 ranks";
    }
}

TEST(SharedObjects, OfTilesAreDescribedByFewSegmentsOfEachDimension) {
  const BlockCyclic::Extents extents{1'000'000, 1'000'000};
  Ledger ledger;
  const ObjectSide before(BlockCyclic(extents, {3, 2}, {4, 5}));
  const ObjectSide after(BlockCyclic(extents, {2, 3}, {5, 4}));
  const SharedObjects shared(ledger, before, 5, after);
  std::int64_t count = 0;
  std::uint64_t segments = 0;
  for (int peer = 0; peer < 20; ++peer) {
    count += shared.count(peer);
    segments += shared.families(peer);
  }
  EXPECT_EQ(count, before.count(5));
  // Periods of 60 and 60 indices, in which a rank has 5 blocks of 3, and 6 of 2.
  EXPECT_EQ(layout::shared_periods(before, after), 16667 * 16667);
  EXPECT_LE(segments, 10U * 12U) << "each block in two pieces at most";
  EXPECT_LE(ledger.peak_bytes(), 4096U);
}

}  // namespace
}  // namespace valet::test
