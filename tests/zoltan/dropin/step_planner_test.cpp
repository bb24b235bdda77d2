// SPDX-License-Identifier: BSD-3-Clause

// What a rank takes in a step: within the limits, in proportion, and always something.

#include "dropin/step_planner.hpp"

#include "test_comm.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace {

using namespace valet::zoltan;

constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

struct Sources {
  std::vector<Peer> peers;
  std::vector<int> sizes;
  std::uint64_t object_bytes = 8;

  [[nodiscard]] StepPlanner planner(valet::Ledger& ledger, std::size_t first = 0) const {
    return {ledger, peers, sizes, object_bytes, first};
  }
};

std::uint64_t cost_of(const Sources& sources, const StepPlanner& planner,
                      const std::vector<std::uint64_t>& grants) {
  std::uint64_t cost = 0;
  for (std::size_t s = 0; s < grants.size(); ++s) {
    const std::uint64_t end = planner.first_of(s) + planner.taken(s);
    for (std::uint64_t k = end - grants[s]; k < end; ++k)
      cost += static_cast<std::uint64_t>(sources.sizes[k]) + sources.object_bytes;
  }
  return cost;
}

TEST(StepPlanner, TakesEverythingAtOnceWhereItFits) {
  valet::Ledger ledger;
  const Sources sources{{{0, 2}, {3, 1}}, {8, 16, 24}};
  StepPlanner planner = sources.planner(ledger);
  std::vector<std::uint64_t> grants(2);
  const PlannedStep step = planner.plan(72, no_limit, grants);
  EXPECT_EQ(grants, (std::vector<std::uint64_t>{2, 1}));
  EXPECT_EQ(step.bytes, 48U);
  EXPECT_EQ(planner.objects_left(), 0U);
}

TEST(StepPlanner, ServesSourcesInProportion) {
  valet::Ledger ledger;
  Sources sources{{{0, 100}, {1, 300}}, std::vector<int>(400, 8)};
  StepPlanner planner = sources.planner(ledger);
  std::vector<std::uint64_t> grants(2);
  for (int step = 0; step < 10; ++step) {
    planner.plan(40 * 16, no_limit, grants);
    EXPECT_NEAR(static_cast<double>(planner.taken(0)) * 3, static_cast<double>(planner.taken(1)),
                6);
  }
  EXPECT_EQ(planner.objects_left(), 0U);
}

TEST(StepPlanner, TakesAnObjectLargerThanTheLimitAloneAndSaysByHowMuch) {
  valet::Ledger ledger;
  const Sources sources{{{0, 1}, {1, 1}}, {8000, 8000}};
  StepPlanner planner = sources.planner(ledger);
  std::vector<std::uint64_t> grants(2);
  const PlannedStep step = planner.plan(100, no_limit, grants);
  EXPECT_EQ(step.objects, 1U);
  EXPECT_EQ(step.raised, 8008U - 100U);
}

TEST(StepPlanner, ObeysThePackedLimitEvenWhenNothingFits) {
  valet::Ledger ledger;
  const Sources sources{{{0, 2}}, {64, 8}};
  StepPlanner planner = sources.planner(ledger);
  std::vector<std::uint64_t> grants(1);
  EXPECT_EQ(planner.plan(1000, 63, grants).objects, 0U);
  EXPECT_EQ(planner.smallest_next(), 64U);
  EXPECT_EQ(planner.plan(1000, 64, grants).objects, 1U);
}

TEST(StepPlanner, KeepsTheLimitTheCountAndTheOrderOnRandomSources) {
  SCOPED_TRACE(valet::test::seed_note());
  std::mt19937_64 random(valet::test::seed());
  for (int trial = 0; trial < 300; ++trial) {
    Sources sources;
    const int peers = static_cast<int>(random() % 6) + 1;
    for (int p = 0; p < peers; ++p) {
      sources.peers.push_back({p, random() % 40});
      for (std::uint64_t k = 0; k < sources.peers.back().count; ++k)
        sources.sizes.push_back(static_cast<int>(random() % 30) * 8);
    }
    const std::uint64_t limit = 50 + random() % 1000;
    valet::Ledger ledger;
    StepPlanner planner = sources.planner(ledger, random() % sources.peers.size());
    const auto way = random() % 7;  // in proportion, or by a heuristic
    if (way < 6) planner.divide_by(static_cast<valet::Heuristic>(way), trial);
    std::vector<std::uint64_t> grants(sources.peers.size());
    PlannedStep largest;
    const std::uint64_t expected = planner.count_steps(limit, grants, largest);
    std::uint64_t steps = 0;
    std::uint64_t objects = 0;
    while (planner.objects_left() > 0) {
      const PlannedStep step = planner.plan(limit, no_limit, grants);
      ASSERT_GT(step.objects, 0U) << "trial " << trial;
      ASSERT_LE(cost_of(sources, planner, grants), limit + step.raised);
      ASSERT_TRUE(step.raised == 0 || step.objects == 1);
      ASSERT_LE(step.bytes, largest.bytes);
      objects += step.objects;
      ++steps;
    }
    ASSERT_EQ(steps, expected);
    ASSERT_EQ(objects, sources.sizes.size());
  }
}

TEST(StepPlanner, ServesSourcesAsTheHeuristicSays) {
  const Sources sources{{{0, 10}, {1, 30}, {2, 20}}, std::vector<int>(60, 8)};
  const auto first_step = [&](valet::Heuristic heuristic) {
    valet::Ledger ledger;
    StepPlanner planner = sources.planner(ledger);
    planner.divide_by(heuristic, 0);
    std::vector<std::uint64_t> grants(3);
    planner.plan(24 * 16, no_limit, grants);
    return grants;
  };
  using Grants = std::vector<std::uint64_t>;
  EXPECT_EQ(first_step(valet::Heuristic::first_fit), (Grants{10, 14, 0}));
  EXPECT_EQ(first_step(valet::Heuristic::max_first), (Grants{0, 24, 0}));
  EXPECT_EQ(first_step(valet::Heuristic::min_max), (Grants{0, 17, 7}));
  const Grants pieces = first_step(valet::Heuristic::continuous);
  for (std::size_t s = 0; s < pieces.size(); ++s)
    EXPECT_NEAR(static_cast<double>(pieces[s]), 0.4 * static_cast<double>(sources.peers[s].count),
                1)
        << "an equal piece of each, in whole objects";
}

TEST(StepPlanner, SpreadsFewStepsEvenlyOverMany) {
  for (std::uint64_t all = 1; all < 40; ++all) {
    for (std::uint64_t own = 0; own <= all; ++own) {
      std::uint64_t taken = 0;
      for (std::uint64_t step = 0; step < all; ++step) {
        taken += takes_part(step, own, all) ? 1 : 0;
        EXPECT_LE(taken * all, (step + 1) * own);
      }
      EXPECT_EQ(taken, own);
    }
  }
}

}  // namespace
