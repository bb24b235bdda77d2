// SPDX-License-Identifier: BSD-3-Clause

// What intersect() finds by each algorithm, and after how many operations.

#include "cyclic_layouts.hpp"
#include "geometry/intersection.hpp"
#include "test_comm.hpp"
#include <valet/intersect.hpp>

#include <map>
#include <numeric>

namespace valet::test {
namespace {

using layout::Dimension;
using layout::DimensionIntersection;
using layout::DimensionPair;
using layout::Intersection;
using Family = DimensionIntersection::Family;

constexpr std::array algorithms{IntersectionAlgorithm::aspen, IntersectionAlgorithm::falls,
                                IntersectionAlgorithm::classical};

DimensionIntersection found(const DimensionPair& pair, int coordinate,
                            const IntersectOptions& options = {}) {
  static Ledger ledger;
  return {ledger, pair, coordinate, options};
}

std::int64_t operations(const DimensionPair& pair, int coordinate,
                        IntersectionAlgorithm algorithm) {
  return found(pair, coordinate, {.algorithm = algorithm}).operations();
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
bool continues(const DimensionPair& pair, const Family& first, const Family& next) {
  return first.length == pair.mine.block && next.length == pair.mine.block &&
         next.position == first.position + first.count * pair.mine.stride &&
         next.position / pair.theirs.block == first.position / pair.theirs.block;
}

TEST(Operations, OfAspenAreAtMostTwoPerFamilyItReturnsOnAllGridsOfTheStudy) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    const DimensionIntersection aspen = found(pair, coordinate);
    std::int64_t families = 0, indices = 0;
    for (int peer = 0; peer < pair.theirs.ranks; ++peer) {
      const auto of_peer = aspen.families(peer);
      families += static_cast<std::int64_t>(of_peer.size());
      for (std::size_t f = 0; f < of_peer.size(); ++f) {
        const Family& family = of_peer[f];
        ASSERT_LE(family.position + (family.count - 1) * pair.family_stride() + family.length,
                  pair.period)
            << "nothing is looked for behind it";
        ASSERT_EQ(
            (family.position / pair.theirs.block + pair.theirs.first_rank) % pair.theirs.ranks,
            peer);
        ASSERT_EQ(f > 0 && continues(pair, of_peer[f - 1], family), false);
        indices += family.count * family.length;
      }
    }
    ASSERT_LE(aspen.operations(), 2 * families);
    // And no family is there twice: together they are the indices of the coordinate in a period.
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
    EXPECT_EQ(found(few, 0).operations(), found(many, 0).operations());
    EXPECT_GT(operations(many, 0, IntersectionAlgorithm::classical),
              4 * found(many, 0).operations());
  }
}

TEST(Operations, OfClassicalAndFallsAreTheComparisonsOfTheirDefinition) {
  // 10,000 by 30 on 2: 334 blocks, 167 on coordinate 0; 40 blocks of 256 on 4 coordinates.
  const DimensionPair pair(Dimension(10'000, 30, 2), Dimension(10'000, 256, 4));
  EXPECT_EQ(operations(pair, 0, IntersectionAlgorithm::classical), 167 * 40);
  // Equal blocks: one own block in a period of 32, against one block of each of 32 peers.
  const DimensionPair equal(Dimension(10'000, 30, 32), Dimension(10'000, 30, 32));
  EXPECT_EQ(operations(equal, 0, IntersectionAlgorithm::falls), 32);
  EXPECT_EQ(operations(equal, 0, IntersectionAlgorithm::aspen), 2);
  EXPECT_EQ(equal.period, 960);
}

std::int64_t blocks_in(std::int64_t length, std::int64_t block) { return (length - 1) / block + 1; }

/// The table of src/docs/layouts.md, for all coordinates together.
void expect_the_formulas(const DimensionPair& pair) {
  const std::int64_t n = pair.extent, p = pair.period;
  const std::int64_t b1 = pair.mine.block, b2 = pair.theirs.block;
  const std::int64_t l = pair.mine.ranks, r = pair.theirs.ranks;
  ASSERT_EQ(p, std::min(n, std::lcm(b1 * l, b2 * r)));
  const std::int64_t n1 = blocks_in(p, b1 * l), n2 = blocks_in(p, b2 * r);
  std::int64_t aspen = 0, falls = 0, classical = 0;
  for (int coordinate = 0; coordinate < l; ++coordinate) {
    aspen += operations(pair, coordinate, IntersectionAlgorithm::aspen);
    falls += operations(pair, coordinate, IntersectionAlgorithm::falls);
    classical += operations(pair, coordinate, IntersectionAlgorithm::classical);
    const int peer = coordinate % static_cast<int>(r);
    const DimensionIntersection one = found(pair, coordinate, {.peer = peer});
    ASSERT_LE(one.operations(),
              static_cast<std::int64_t>(one.families(peer).size()) + 2 * std::min(n1, n2) + 1);
    ASSERT_LE(found(pair, coordinate, {.peer = peer, .algorithm = IntersectionAlgorithm::falls})
                  .operations(),
              n1 + n2);
    if (pair.repeats) {
      ASSERT_EQ(one.operations() == 0, one.is_empty()) << "known without a look at any block";
    }
  }
  ASSERT_LE(aspen, 2 * blocks_in(p, b1) + blocks_in(p, b2));
  ASSERT_LE(falls, r * blocks_in(p, b1) + l * blocks_in(p, b2));
  ASSERT_LE(falls, l * r * n1 * n2) << "equation (2)";
  ASSERT_EQ(classical, blocks_in(n, b1) * blocks_in(n, b2));
}

TEST(Operations, AreThoseOfTheFormulasOnAllGridsOfTheStudy) {
  for_the_study([](const DimensionPair& pair, int coordinate) {
    if (coordinate == 0) expect_the_formulas(pair);
  });
}

TEST(Operations, OfAspenAndFallsGrowWithThePeriod) {
  const Dimension own(1'000'000, 8, 6);
  const DimensionPair alike(own, Dimension(1'000'000, 8, 6)), coprime(own, {1'000'000, 8, 7});
  EXPECT_EQ(alike.period, 48);
  EXPECT_EQ(coprime.period, 48 * 7);
  EXPECT_EQ(found(coprime, 3).operations(), 7 * found(alike, 3).operations());
}

/// An element by its number and the local indices of its owner.
struct Shared {
  std::int64_t number;
  BlockCyclic::Extents local;
  bool operator==(const Shared&) const = default;
};
using SharedLists = std::map<std::pair<int, int>, std::vector<Shared>>;

std::int64_t number_in(const BlockCyclic& whole, const BlockCyclic::Extents& global) {
  std::int64_t number = 0;
  for (std::size_t d = 0; d < global.size(); ++d) number = number * whole.extents()[d] + global[d];
  return number;
}

/// What all pairs of ranks share, element by element.
SharedLists by_brute_force(const BlockCyclic& mine, const BlockCyclic& theirs, IndexOrder order) {
  SharedLists lists;
  for_every_element(mine.extents(), order, [&](const BlockCyclic::Extents& global) {
    lists[{mine.owner(global), theirs.owner(global)}].push_back(
        {number_in(mine, global), mine.local_indices(global)});
  });
  return lists;
}

std::vector<Shared> listed(const Intersection& shared, int peer, IndexOrder order) {
  std::vector<Shared> list;
  const BlockCyclic& theirs = shared.theirs();
  const std::size_t fastest = order == IndexOrder::row_major ? theirs.dimensions() - 1 : 0;
  shared.for_each_run(peer, order,
                      [&](const BlockCyclic::Extents& global, const BlockCyclic::Extents& local,
                          std::int64_t length) {
                        EXPECT_GT(length, 0);
                        for (std::int64_t k = 0; k < length; ++k) {
                          BlockCyclic::Extents at = global, place = local;
                          at[fastest] += k;
                          place[fastest] += k;
                          list.push_back({number_in(theirs, at), place});
                        }
                      });
  return list;
}

/// Whether both have the same families of a peer in every dimension that `one` has looked at.
void expect_same_families(const Intersection& one, const Intersection& all, int peer) {
  const BlockCyclic::Coordinates at = all.theirs().coordinates(peer);
  for (std::size_t d = 0; d < at.size(); ++d) {
    ASSERT_TRUE(
        std::ranges::equal(one.dimension(d).families(at[d]), all.dimension(d).families(at[d])))
        << "dimension " << d;
    if (one.dimension(d).is_empty()) return;
  }
}

TEST(Intersect, FindsTheElementsOfRandomLayoutsByEveryAlgorithmForAllPeersAndForOne) {
  constexpr long long cases = 2'000;
  std::mt19937_64 random(seed());
  std::printf("%s, %lld cases\n", seed_note().c_str(), cases);
  for (long long number = 0; number < cases; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    RandomLayouts layouts(random);
    const BlockCyclic mine = layouts.layout();
    const BlockCyclic theirs = layouts.layout();
    const IndexOrder order = layouts.order();
    SharedLists expected = by_brute_force(mine, theirs, order);
    for (int rank = 0; rank < mine.ranks(); ++rank) {
      const Intersection all = intersect(mine, rank, theirs);
      for (int peer = 0; peer < theirs.ranks(); ++peer) {
        const std::vector<Shared>& list = expected[{rank, peer}];
        ASSERT_EQ(all.elements(peer), static_cast<std::int64_t>(list.size()));
        ASSERT_EQ(listed(all, peer, order), list);
        for (const IntersectionAlgorithm algorithm : algorithms) {
          const Intersection one =
              intersect(mine, rank, theirs, {.peer = peer, .algorithm = algorithm});
          expect_same_families(one, all, peer);
          ASSERT_EQ(one.elements(peer), all.elements(peer));
          ASSERT_EQ(one.next_peer(0), list.empty() ? theirs.ranks() : peer);
        }
      }
      for (const IntersectionAlgorithm algorithm : algorithms) {
        const Intersection same = intersect(mine, rank, theirs, {.algorithm = algorithm});
        for (int peer = 0; peer < theirs.ranks(); ++peer) expect_same_families(same, all, peer);
      }
    }
    for (std::size_t d = 0; d < mine.dimensions(); ++d)
      if (const DimensionPair pair(mine.dimension(d), theirs.dimension(d)); pair.extent > 0)
        expect_the_formulas(pair);
    if (HasFatalFailure()) return;
  }
}

TEST(Intersect, OfOnePeerEndsAtTheDimensionInWhichNothingIsShared) {
  // Row 0 of the grid has the even rows here, row 1 of the other grid the odd ones.
  const BlockCyclic mine({1'000, 1'000}, {1, 7}, {2, 3}), theirs({1'000, 1'000}, {1, 5}, {2, 4});
  for (const IntersectionAlgorithm algorithm : algorithms) {
    Ledger ledger;
    const Intersection nothing(ledger, mine, 2, theirs, {.peer = 5, .algorithm = algorithm});
    EXPECT_EQ(nothing.elements(5), 0);
    EXPECT_EQ(ledger.peak_bytes(), 16U) << "two entries, and nothing of the columns";
    EXPECT_EQ(nothing.operations(), nothing.dimension(0).operations());
    const Intersection columns(ledger, mine, 2, theirs, {.peer = 1, .algorithm = algorithm});
    EXPECT_GT(columns.operations(), columns.dimension(0).operations());
    EXPECT_EQ(columns.elements(5), 0) << "not asked for";
  }
  EXPECT_EQ(intersect(mine, 2, theirs, {.peer = 5}).operations(), 0);
}

TEST(Intersect, OfOnePeerTakesMemoryForItsFamilies) {
  const BlockCyclic mine({1'000'000}, {11}, {6}), theirs({1'000'000}, {13}, {500});
  Ledger ledger;
  const Intersection one(ledger, mine, 2, theirs, {.peer = 77});
  EXPECT_EQ(ledger.peak_bytes(), 16U + 40U * one.dimension(0).families(77).size());
  const Intersection all(ledger, mine, 2, theirs);
  EXPECT_GT(all.operations(), 20 * one.operations());
}

TEST(Intersect, IntoMemoryOfTheCallerWritesWhatFits) {
  const DimensionPair pair(Dimension(10'000, 30, 7, 3), Dimension(10'000, 256, 5, 1));
  for (const IntersectionAlgorithm algorithm : algorithms)
    for (int coordinate = 0; coordinate < 7; ++coordinate) {
      const IntersectOptions options{.algorithm = algorithm};
      std::vector<layout::IndexFamily> all(100), few(3, layout::IndexFamily{-1, -1, -1, -1, -1});
      const FoundFamilies count = intersect(pair, coordinate, all, options);
      ASSERT_LE(count.families, all.size());
      all.resize(count.families);
      EXPECT_EQ(count.operations, operations(pair, coordinate, algorithm));
      EXPECT_EQ(intersect(pair, coordinate, std::span(few).first(2), options).families, all.size());
      EXPECT_EQ(few[0], all[0]);
      EXPECT_EQ(few[2].length, -1) << "nothing is written behind the room";
      std::ranges::stable_sort(all, {}, &layout::IndexFamily::peer);
      const DimensionIntersection stored = found(pair, coordinate);
      std::size_t next = 0;
      for (int peer = 0; peer < 5; ++peer)
        for (const Family& family : stored.families(peer))
          EXPECT_EQ(all.at(next++), (layout::IndexFamily{family.position, family.local,
                                                         family.length, family.count, peer}));
      EXPECT_EQ(next, all.size());
    }
}

TEST(Intersect, ResultsCanBeMoved) {
  const BlockCyclic mine({90, 80}, {3, 4}, {2, 3}), theirs({90, 80}, {7, 5}, {3, 2});
  Intersection shared = intersect(mine, 1, theirs);
  const std::int64_t elements = shared.elements(2);
  Intersection other = std::move(shared);
  EXPECT_EQ(other.elements(2), elements);
  other = intersect(theirs, 2, mine);
  EXPECT_EQ(other.elements(1), elements);
  EXPECT_EQ(other.theirs(), mine);
}

TEST(Intersect, RefusesWhatDoesNotFitTogether) {
  const BlockCyclic mine({8, 9}, {1, 2}, {2, 2});
  const auto expect_refusal = [&](const BlockCyclic& theirs, const IntersectOptions& options,
                                  const std::string& text) {
    const Outcome outcome = outcome_of([&] { (void)intersect(mine, 0, theirs, options); });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument) << text;
    expect_words(outcome.text, {text});
  };
  expect_refusal(mine, {.peer = 4},
                 "peer 4 is not in the other layout's grid, which has ranks 0 to 3");
  expect_refusal(mine, {.peer = -2}, "peer -2 is not in the other layout's grid");
  expect_refusal(mine, {.algorithm = static_cast<IntersectionAlgorithm>(3)},
                 "unknown intersection algorithm 3; give aspen (0), falls (1) or classical (2)");
  // Found in the second dimension, although the first one shares nothing.
  expect_refusal(BlockCyclic({8, 10}, {1, 2}, {2, 2}), {.peer = 2},
                 "extent 9 and 10 in dimension 1");
  const DimensionPair rows(mine.dimension(0), mine.dimension(0));
  const Outcome outcome = outcome_of([&] { intersect(rows, 2, {}); });
  expect_words(outcome.text, {"coordinate 2 is not in the layout's grid, which has ranks 0 to 1"});
}

}  // namespace
}  // namespace valet::test
