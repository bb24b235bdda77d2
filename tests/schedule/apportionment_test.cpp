// SPDX-License-Identifier: BSD-3-Clause

#include "schedule/apportionment.hpp"

#include "instances.hpp"
#include "testing.hpp"

namespace valet::schedule {
namespace {

using Counts = std::vector<std::uint64_t>;

Counts credited(Heuristic heuristic, const Counts& remaining, std::uint64_t free,
                std::uint64_t seed = 1, std::uint64_t equal_phases_left = 0) {
  Counts result(remaining.size(), 77);
  ReceiverRandom random(seed, 0);
  apportion(heuristic, {remaining, free, equal_phases_left}, random, result);
  return result;
}

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(Apportionment, GivesCreditsForBlocksThatExistAndUsesAllMemory) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    Counts remaining(test::pick(random, 0, 9));
    for (std::uint64_t& count : remaining)
      count = test::pick(random, 0, 3) * test::pick(random, 0, 50);
    const std::uint64_t free = test::pick(random, 0, 200);
    for (const Heuristic heuristic : all_heuristics()) {
      const std::uint64_t pieces =
          heuristic == Heuristic::continuous ? test::pick(random, 0, 5) : 0;
      const Counts credits = credited(heuristic, remaining, free, seed, pieces);
      for (std::size_t i = 0; i < credits.size(); ++i)
        ASSERT_LE(credits[i], remaining[i]) << to_string(heuristic) << ", seed " << seed;
      ASSERT_LE(sum(credits), free) << to_string(heuristic) << ", seed " << seed;
      if (pieces == 0) {
        ASSERT_EQ(sum(credits), std::min(free, sum(remaining)))
            << to_string(heuristic) << ", seed " << seed;
      }
    }
  }
}

TEST(Apportionment, FirstFitServesTheListInOrder) {
  EXPECT_EQ(credited(Heuristic::first_fit, {3, 0, 5, 4}, 7), (Counts{3, 0, 4, 0}));
}

TEST(Apportionment, MaxFirstServesWhoHasMost) {
  EXPECT_EQ(credited(Heuristic::max_first, {3, 9, 5, 9}, 20), (Counts{0, 9, 2, 9}));
}

TEST(Apportionment, MinMaxLeavesAsLittleAsPossibleToAnySource) {
  EXPECT_EQ(credited(Heuristic::min_max, {5, 4}, 5), (Counts{3, 2})) << "the paper's example";
  EXPECT_EQ(credited(Heuristic::min_max, {5, 4, 1}, 2), (Counts{2, 0, 0})) << "levels 3, 4, 1";
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    Counts remaining(test::pick(random, 1, 6));
    for (std::uint64_t& count : remaining) count = test::pick(random, 0, 12);
    const std::uint64_t free = test::pick(random, 0, 40);
    const Counts credits = credited(Heuristic::min_max, remaining, free);
    std::uint64_t most_left = 0;
    for (std::size_t i = 0; i < credits.size(); ++i)
      most_left = std::max(most_left, remaining[i] - credits[i]);
    if (most_left == 0) continue;
    std::uint64_t needed = 0;  // to lower every source below that
    for (const std::uint64_t count : remaining) needed += count - std::min(count, most_left - 1);
    ASSERT_GT(needed, free) << "seed " << seed;
  }
}

/// How often each of the sources is served first in `draws` phases.
std::vector<double> first_served(Heuristic heuristic, const Counts& remaining, int draws) {
  std::vector<double> frequency(remaining.size(), 0);
  ReceiverRandom random(42, 7);
  Counts credits(remaining.size());
  for (int draw = 0; draw < draws; ++draw) {
    apportion(heuristic, {remaining, 1, 0}, random, credits);
    for (std::size_t i = 0; i < credits.size(); ++i)
      if (credits[i] > 0) frequency[i] += 1.0 / draws;
  }
  return frequency;
}

TEST(Apportionment, RandomServesSourcesAlike) {
  const std::vector<double> frequency = first_served(Heuristic::random, {1, 0, 50, 7}, 30000);
  EXPECT_EQ(frequency[1], 0);
  for (const std::size_t i : {0, 2, 3}) EXPECT_NEAR(frequency[i], 1.0 / 3, 0.02) << i;
}

TEST(Apportionment, FortuneWheelServesInProportion) {
  const std::vector<double> frequency =
      first_served(Heuristic::fortune_wheel, {10, 0, 50, 40}, 30000);
  EXPECT_NEAR(frequency[0], 0.1, 0.02);
  EXPECT_EQ(frequency[1], 0);
  EXPECT_NEAR(frequency[2], 0.5, 0.02);
  EXPECT_NEAR(frequency[3], 0.4, 0.02);
}

TEST(Apportionment, SourcesWithoutBlocksChangeNothing) {
  // Ranks may keep finished sources in their lists, a root may not: both must decide alike.
  for (const Heuristic heuristic : all_heuristics())
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      const std::uint64_t pieces = seed % 7;
      const Counts dense = credited(heuristic, {4, 9, 6}, 11, seed, pieces);
      const Counts sparse = credited(heuristic, {0, 4, 0, 0, 9, 6, 0}, 11, seed, pieces);
      EXPECT_EQ(dense, (Counts{sparse[1], sparse[4], sparse[5]})) << to_string(heuristic);
    }
}

TEST(Apportionment, SeedsAndRanksHaveStreamsOfTheirOwn) {
  const Counts remaining(40, 3);
  EXPECT_EQ(credited(Heuristic::random, remaining, 30, 5),
            credited(Heuristic::random, remaining, 30, 5));
  EXPECT_NE(credited(Heuristic::random, remaining, 30, 5),
            credited(Heuristic::random, remaining, 30, 6));
  ReceiverRandom one(5, 1);
  ReceiverRandom other(5, 2);
  EXPECT_NE(one(), other());
}

TEST(Apportionment, ContinuousSendsEqualPiecesInTheirNumberOfPhases) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Counts remaining(test::pick(random, 1, 9));
    for (std::uint64_t& count : remaining) count = test::pick(random, 0, 30);
    const std::uint64_t pieces = test::pick(random, 1, 12);
    const std::uint64_t share = sum(remaining) / pieces;
    for (std::uint64_t left = pieces; left > 0; --left) {
      const Counts credits = credited(Heuristic::continuous, remaining, 1000, seed, left);
      ASSERT_LE(sum(credits), share + 1) << "seed " << seed;
      for (std::size_t i = 0; i < credits.size(); ++i) remaining[i] -= credits[i];
    }
    ASSERT_EQ(sum(remaining), 0U) << "seed " << seed;
  }
}

TEST(Apportionment, ContinuousBeginsWithAnotherSourceInEachPhase) {
  // Less than a block in all is a block, of another source each time; two sources share more.
  const Counts remaining{2, 2, 2};
  const auto piece = [&](std::uint64_t equal_phases_left) {
    return credited(Heuristic::continuous, remaining, 1000, 1, equal_phases_left);
  };
  EXPECT_EQ(piece(8), (Counts{0, 0, 1}));
  EXPECT_EQ(piece(7), (Counts{0, 1, 0}));
  EXPECT_EQ(piece(6), (Counts{1, 0, 0}));
  EXPECT_EQ(piece(5), (Counts{0, 1, 1})) << "six blocks in five pieces: two now";
}

TEST(Apportionment, ContinuousNeverExceedsFreeMemory) {
  EXPECT_EQ(sum(credited(Heuristic::continuous, {10, 10, 10}, 4, 1, 2)), 4U);
  EXPECT_EQ(credited(Heuristic::continuous, {10, 10, 10}, 14, 1, 0), (Counts{10, 4, 0}))
      << "first fit when the pieces are sent";
}

TEST(Heuristic, NamesAreReadBack) {
  for (const Heuristic heuristic : all_heuristics())
    EXPECT_EQ(parse_heuristic(to_string(heuristic)), heuristic);
  EXPECT_EQ(parse_heuristic("MIN_MAX"), Heuristic::min_max);
}

TEST(Heuristic, UnknownNameIsRefusedWithTheKnownOnes) {
  valet::test::expect_thrown(ErrorCode::invalid_argument,
                             {"unknown heuristic 'best_fit'; known: first_fit, max_first, random, "
                              "fortune_wheel, min_max, continuous"},
                             [] { (void)parse_heuristic("best_fit"); });
}

}  // namespace
}  // namespace valet::schedule
