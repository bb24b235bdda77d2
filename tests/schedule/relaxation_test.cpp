// SPDX-License-Identifier: BSD-3-Clause

#include "instances.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

namespace valet::schedule {
namespace {

using test::Instance;

Relaxation relaxed(const Instance& instance) {
  return relax(instance.matrix.totals(instance.free));
}

TEST(Relaxation, TakesAtMostTwoPhasesMoreThanTheLowerBound) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::random_instance(random, 12, 50);
    const Relaxation solution = relaxed(instance);
    const std::uint64_t lower = phase_bounds(instance.matrix.volume(), instance.all_free()).lower;
    ASSERT_GE(solution.phases(), lower) << "seed " << seed;
    ASSERT_LE(solution.phases(), lower + 2) << "seed " << seed;
    ASSERT_LE(solution.blocks_before, static_cast<double>(instance.all_free()) + 1e-6)
        << "seed " << seed << ": all that moves before must fit";
  }
}

TEST(Relaxation, BalancedRanksWithMemoryNeedNoPhaseBeforeOrAfter) {
  const Relaxation solution = relaxed(test::even_transpose(4, 6, 6));
  EXPECT_EQ(solution.pieces, 3U);
  EXPECT_EQ(solution.phases(), 3U);
  EXPECT_EQ(solution.blocks_before, 0);
  EXPECT_EQ(solution.volume, 72);
}

TEST(Relaxation, GivesFreeMemoryToThoseWhoReceive) {
  // Two ranks swap 6 blocks, the memory of 4 is on a third: L = 3 pieces. The swappers need
  // (6 - x)/3 <= x, x = 1.5 each, which the third then receives and sends on for them.
  const Instance instance = test::swaps(1, 6, 4);
  const Relaxation solution = relaxed(instance);
  EXPECT_EQ(solution.pieces, 3U);
  EXPECT_DOUBLE_EQ(solution.blocks_before, 3);
  EXPECT_DOUBLE_EQ(solution.blocks_after, 3);
  EXPECT_EQ(solution.phases(), 5U);
  EXPECT_DOUBLE_EQ(solution.volume, 18);
}

TEST(Relaxation, WhatARankLacksIsRoundedUpAndWhatItHasTooMuchDown) {
  // The 1.5 blocks of memory that each swapper lacks are two, while the third rank has them.
  const Instance instance = test::swaps(1, 6, 4);
  Ledger ledger;
  const ContinuousMatches flows = continuous_matches(ledger, instance.matrix.totals(instance.free));
  EXPECT_EQ(std::vector<Match>(flows.after.begin(), flows.after.end()),
            (std::vector<Match>{{2, 0, 2}, {2, 1, 1}}));
}

TEST(Relaxation, RoundedFlowsFitEverybodysMemory) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::random_instance(random, 12, 50);
    const std::vector<RankTotals> totals = instance.matrix.totals(instance.free);
    Ledger ledger;
    const ContinuousMatches flows = continuous_matches(ledger, totals);
    EXPECT_LE(ledger.peak_bytes(), 64 * totals.size()) << "the root's share";
    std::vector<std::uint64_t> arriving(totals.size(), 0);
    std::vector<std::uint64_t> leaving(totals.size(), 0);
    for (const Match& flow : flows.before) {
      arriving[flow.to] += flow.blocks;
      leaving[flow.from] += flow.blocks;
    }
    for (std::size_t rank = 0; rank < totals.size(); ++rank) {
      ASSERT_LE(arriving[rank], totals[rank].free) << "seed " << seed << ", rank " << rank;
      ASSERT_LE(leaving[rank], totals[rank].sent) << "seed " << seed << ", rank " << rank;
      ASSERT_TRUE(arriving[rank] == 0 || leaving[rank] == 0) << "seed " << seed;
    }
  }
}

TEST(Relaxation, NoMoreWaitsThanRanksCanKeepAccountOf) {
  std::uint64_t cut = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::random_instance(random, 12, 50);
    const std::vector<RankTotals> totals = instance.matrix.totals(instance.free);
    std::vector<RankTotals> tight = totals;
    for (RankTotals& rank : tight) rank.waiting_room = test::pick(random, 0, 40);
    Ledger ledger;
    const ContinuousMatches flows = continuous_matches(ledger, tight);
    const ContinuousMatches all = continuous_matches(ledger, totals);
    std::vector<std::uint64_t> waiting(totals.size(), 0);
    for (const Match& flow : flows.after) waiting[flow.from] += flow.blocks;
    for (const Match& flow : flows.before) waiting[flow.to] += flow.blocks;
    for (std::size_t rank = 0; rank < totals.size(); ++rank)
      ASSERT_LE(waiting[rank], tight[rank].waiting_room) << "seed " << seed << ", rank " << rank;
    if (flows.before.size() + flows.after.size() < all.before.size() + all.after.size()) ++cut;
  }
  EXPECT_GT(cut, 100U) << "the limits are felt";
}

TEST(Relaxation, RoundedScheduleComesCloseToItsValue) {
  std::mt19937_64 random(11);
  double rounded = 0;
  double value = 0;
  for (int i = 0; i < 20; ++i) {
    const Instance instance = test::neighbourhood(random, 6, 10000, 300);
    value += static_cast<double>(relaxed(instance).phases());
    const PhaseCounts counts =
        count_phases(instance.matrix, instance.free, {.heuristic = Heuristic::continuous});
    ASSERT_TRUE(counts.complete);
    rounded += static_cast<double>(counts.phases);
  }
  std::printf("seed 11, 20 instances: relaxation %.2f phases, rounded %.2f\n", value / 20,
              rounded / 20);
  EXPECT_LE(rounded, 1.25 * value);
}

}  // namespace
}  // namespace valet::schedule
