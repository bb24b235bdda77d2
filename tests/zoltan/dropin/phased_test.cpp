// SPDX-License-Identifier: BSD-3-Clause

// MIGRATE_METHOD PHASED with every heuristic, parking interval and scheduler, in HOLD and in STEPS:
// it ends as stock Zoltan does, within the bound, and HOLD in the order of stock's callbacks.

#include "phased_client.hpp"

namespace {

using namespace valet::test;

constexpr std::array heuristics{"FIRST_FIT",     "MAX_FIRST", "RANDOM",
                                "FORTUNE_WHEEL", "MIN_MAX",   "CONTINUOUS"};

class Phased : public ::testing::TestWithParam<const char*> {};

TEST_P(Phased, EndsAsStockDoesWithEveryHeuristicParkingAndScheduler) {
  for (std::uint64_t h = 0; h < heuristics.size(); ++h) {
    const Scenario scenario = random_scenario(h);
    const bool multi = h % 2 == 1;
    Client stock({.method = "ZOLTAN", .multi = multi}, scenario);
    ASSERT_TRUE(all_ranks(stock.migrate() == ZOLTAN_OK));
    for (const int parking : {0, 1, 2}) {
      std::vector<std::vector<std::uint64_t>> orders;
      std::vector<std::uint64_t> steps;
      for (const char* scheduler : {"DISTRIBUTED", "CENTRALIZED"}) {
        const Settings settings{.callbacks = GetParam(),
                                .heuristic = heuristics[h],
                                .parking = parking,
                                .scheduler = scheduler,
                                .memory = h % 2 == 0 ? "1K" : "20K",
                                .answer = h % 3 == 0 ? no_limit : 3200 + 100 * h,
                                .multi = multi};
        SCOPED_TRACE(seed_note() + ", " + settings.text());
        Client client(settings, scenario);
        ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
        expect_promises(client, stock);
        EXPECT_TRUE(parking > 0 || client.report.objects_parked == 0);
        orders.push_back(client.order);
        steps.push_back(client.report.steps);
      }
      // With the larger budget the matrix comes off the scratch of the root.
      if (parking == 0 && h % 2 == 0) {
        EXPECT_EQ(steps[0], steps[1]) << "a root decides what the ranks would decide";
        EXPECT_TRUE(all_ranks(orders[0] == orders[1]));
      }
    }
  }
}

TEST_P(Phased, EndsAsStockDoesInCyclesAndShifts) {
  for (std::uint64_t number = 0; number < 4; ++number) {
    const Scenario scenario = random_scenario(20 + number);
    const bool multi = number % 2 == 1;
    Client stock({.method = "ZOLTAN", .multi = multi}, scenario);
    stock.migrate();
    std::vector<std::uint64_t> first;
    for (int run = 0; run < 2; ++run) {
      SCOPED_TRACE(seed_note() + ", " + std::to_string(number));
      Client client({.callbacks = GetParam(),
                     .memory = number < 2 ? "1K" : "20K",
                     .answer = number == 1 ? 3300 : no_limit,
                     .method = "CYCLIC",
                     .multi = multi},
                    scenario);
      ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
      expect_promises(client, stock);
      if (run == 0) first = client.order;
      EXPECT_TRUE(all_ranks(client.order == first)) << "the same again";
    }
  }
}

TEST_P(Phased, DependsOnTheInputAlone) {
  const Scenario scenario = random_scenario(7);
  std::vector<std::uint64_t> first, steps;
  for (int run = 0; run < 3; ++run) {
    Client client({.callbacks = GetParam(),
                   .heuristic = "FORTUNE_WHEEL",
                   .parking = 1,
                   .scheduler = run == 2 ? "DISTRIBUTED" : "CENTRALIZED"},
                  scenario);
    ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK));
    if (run == 0) first = client.order;
    if (run < 2) {
      EXPECT_TRUE(all_ranks(client.order == first));
    }
  }
}

TEST_P(Phased, MovesNothingOfEmptyLists) {
  for (const char* scheduler : {"DISTRIBUTED", "CENTRALIZED"}) {
    Client client({.callbacks = GetParam(), .parking = 1, .scheduler = scheduler}, {});
    EXPECT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK));
    EXPECT_EQ(client.report.steps, 1U);
    EXPECT_EQ(client.order, (std::vector<std::uint64_t>{2000000})) << "mid, once";
  }
}

TEST_P(Phased, RaisesTheBudgetForAnObjectThatIsLarger) {
  Scenario scenario;
  for (int k = 0; k < size(); ++k)
    scenario.add(static_cast<ZOLTAN_ID_TYPE>(1000 * rank() + k), k == 0 ? 100000 : 50,
                 (rank() + k) % size());
  if (size() > 1 && rank() == 1) scenario.add(1900, 300000, 0);
  Client stock({.method = "ZOLTAN"}, scenario);
  stock.migrate();
  for (const int parking : {0, 1}) {
    Client client({.callbacks = GetParam(), .parking = parking, .memory = "32K"}, scenario);
    ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
    expect_promises(client, stock);
    const bool raised = client.report.budget_raised_bytes >= 300000 - 32768;
    EXPECT_TRUE(size() == 1 || rank() != 1 || raised) << client.report.budget_raised_bytes;
  }
}

TEST_P(Phased, RefusesAMatrixThatDoesNotFitTheRootBeforeAnythingMoves) {
  if (size() == 1) GTEST_SKIP() << "nothing moves, nothing is gathered";
  const Scenario scenario = random_scenario(0);
  for (const bool cyclic : {false, true}) {
    Client client({.callbacks = GetParam(),
                   .scheduler = "CENTRALIZED",
                   .memory = rank() == 0 ? "8" : "1M",
                   .method = cyclic ? "CYCLIC" : "PHASED"},
                  scenario);
    EXPECT_TRUE(all_ranks(client.migrate() == ZOLTAN_FATAL));
    const std::string message = client.report.message;
    const std::string what = cyclic ? "METHOD CYCLIC" : "SCHEDULER CENTRALIZED";
    const std::string remedy = cyclic ? "PHASED" : "DISTRIBUTED";
    expect_words(message, {"rank 0: MIGRATE_" + what + " needs ",
                           "MIGRATE_MEMORY is 8; raise it or use " + remedy});
    EXPECT_TRUE(all_ranks(client.order.empty() && client.objects == scenario.objects));
  }
}

TEST_P(Phased, RefusesParametersThatDifferBetweenRanks) {
  if (size() == 1) GTEST_SKIP() << "there is one rank";
  const bool other = rank() == size() - 1;
  for (const bool parking : {true, false}) {
    Client client({.callbacks = GetParam(),
                   .parking = parking && other ? 1 : 0,
                   .scheduler = !parking && other ? "CENTRALIZED" : "DISTRIBUTED"},
                  random_scenario(0));
    EXPECT_TRUE(all_ranks(client.migrate() == ZOLTAN_FATAL));
    const std::string message = client.report.message;
    const std::string differs = parking ? "MIGRATE_PARKING differs: 0 on rank"
                                        : "MIGRATE_SCHEDULER differs: DISTRIBUTED on rank";
    expect_words(message, {differs});
  }
}

TEST_P(Phased, ParksNoMoreThanTheScratchOfTheRankThatHasRoom) {
  if (size() < 3) GTEST_SKIP() << "there is no third rank";
  // 200 KB each way past ranks with some KiB of scratch.
  const bool steps = std::string(GetParam()) == "STEPS";
  Scenario scenario;
  if (rank() < 2) {
    for (ZOLTAN_ID_TYPE k = 0; k < 100; ++k)
      scenario.add(static_cast<ZOLTAN_ID_TYPE>(1000 * rank()) + k, 2000, 1 - rank());
    if (steps) scenario.capacity = 200000;
  }
  Client stock({.method = "ZOLTAN"}, scenario);
  stock.migrate();
  for (const char* heuristic : heuristics)
    for (const char* scheduler : {"DISTRIBUTED", "CENTRALIZED"}) {
      Client client({.callbacks = GetParam(),
                     .heuristic = heuristic,
                     .parking = 1,
                     .scheduler = scheduler,
                     .memory = "24K",
                     .answer = steps ? no_limit : 2500},
                    scenario);
      SCOPED_TRACE(client.settings.text());
      ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
      expect_promises(client, stock);
      EXPECT_GT(client.report.steps, 10U) << "little can wait at a time";
      EXPECT_GT(sum_over_ranks(static_cast<long long>(client.report.objects_parked)),
                steps ? 10 : 1);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, Phased, ::testing::Values("HOLD", "STEPS"), ParameterName());

/// Ranks 0 and 1 are full and want to exchange what they have; the others have nothing to do with
/// it (Pinar and Hendrickson, Figure 5 without any free memory).
Scenario exchange_of_full_ranks() {
  Scenario scenario;
  if (rank() < 2) {
    for (ZOLTAN_ID_TYPE k = 0; k < 20; ++k)
      scenario.add(static_cast<ZOLTAN_ID_TYPE>(1000 * rank()) + k, 80 + 8 * (k % 5), 1 - rank());
    scenario.capacity = 0;
    for (const auto& [id, payload] : scenario.objects) scenario.capacity += payload.size();
  }
  return scenario;
}

/// Every rank has as much for each other one: an even transpose.
TEST(Cyclic, TakesFromOneRankAndSendsToOneRankInEachStep) {
  Scenario scenario;
  for (int to = 0; to < size(); ++to)
    for (int k = 0; k < 12; ++k)
      scenario.add(static_cast<ZOLTAN_ID_TYPE>(1000 * rank() + 20 * to + k), 400, to);
  Client client({.callbacks = "STEPS", .memory = "14K", .method = "CYCLIC"}, scenario);
  client.keeps_steps = true;
  ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
  Client stock({.method = "ZOLTAN"}, scenario);
  stock.migrate();
  expect_promises(client, stock);
  for (const Client::Step& step : client.steps) {
    EXPECT_LE(step.sources.size(), 1U);
    EXPECT_LE(step.destinations.size(), 1U);
  }
  // Two-cycles in dictionary order: MADRE's 2N-3, for each piece that memory holds of a pair.
  const auto ranks = static_cast<std::uint64_t>(size());
  EXPECT_GE(client.report.steps, ranks < 2 ? 1 : 2 * ranks - 3);
  EXPECT_LE(client.report.steps, ranks < 2 ? 1 : 2 * (2 * ranks - 3));
}

TEST(Cyclic, GoesOnWhereTheRanksOfAllCyclesCanTakeNothing) {
  if (size() < 3) GTEST_SKIP() << "two ranks are in every cycle";
  // Ranks 0 and 1 exchange and are full; what the others send to rank 1 fits behind what that has
  // for rank 2, which the search finds when the cycle is done.
  Scenario scenario;
  for (ZOLTAN_ID_TYPE k = 0; k < 6; ++k) {
    if (rank() == 0) scenario.add(k, 400, 1);
    if (rank() == 1) scenario.add(1000 + k, 400, k % 2 == 0 ? 0 : 2);
  }
  if (rank() == 0) scenario.capacity = 6 * 400;
  if (rank() == 1) scenario.capacity = 6 * 400 + 40;
  Client stock({.method = "ZOLTAN"}, scenario);
  stock.migrate();
  Client client({.callbacks = "STEPS", .method = "CYCLIC"}, scenario);
  ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
  expect_promises(client, stock);
}

TEST(Parking, LetsFullRanksExchangeThroughAThird) {
  if (size() < 3) GTEST_SKIP() << "there is no third rank";
  const Scenario scenario = exchange_of_full_ranks();
  Client stock({.method = "ZOLTAN"}, scenario);
  stock.migrate();
  for (const char* scheduler : {"DISTRIBUTED", "CENTRALIZED"}) {
    Client stuck({.callbacks = "STEPS", .scheduler = scheduler}, scenario);
    EXPECT_TRUE(all_ranks(stuck.migrate() == ZOLTAN_MEMERR));
    expect_words(stuck.report.message, {"no rank can take another object"});
    EXPECT_TRUE(all_ranks(stuck.objects == scenario.objects));
    for (const int parking : {1, 2, 3}) {
      SCOPED_TRACE(std::string(scheduler) + ", parking " + std::to_string(parking));
      Client client({.callbacks = "STEPS", .parking = parking, .scheduler = scheduler}, scenario);
      ASSERT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK)) << client.printed;
      expect_promises(client, stock);
      EXPECT_GT(sum_over_ranks(static_cast<long long>(client.report.objects_parked)), 0);
      EXPECT_TRUE(all_ranks(rank() < 2 || client.report.objects_unpacked == 0));
    }
  }
}

}  // namespace
