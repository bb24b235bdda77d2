// SPDX-License-Identifier: BSD-3-Clause

// Rebalancing with partitioners that are functions of the test: who is asked for what, that nothing
// is lost, that cuts between cells are cuts between objects, and that order decides where it can.

#include "line_of_objects.hpp"
#include "partitioners.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using rebalance::Decision;
using rebalance::OrderRule;

/// Above what ranks give object by object, and so many that cells hold several.
constexpr std::uint64_t many = 40000;

/// Objects where only ranks of even number have some.
LineOfObjects uneven_line(std::uint64_t each) {
  const std::uint64_t here = rank() % 2 == 0 ? each : 0;
  return {here, 4 * each};
}

/// Whether no object of a rank is to the left of one of a lower rank. Collective.
bool ranks_follow_the_line(const LineOfObjects& objects) {
  const std::vector<double> mine(
      objects.place.begin(), objects.place.begin() + static_cast<std::ptrdiff_t>(objects.count));
  double end = -1;
  for (const auto& places : gathered(mine)) {
    for (const double place : places)
      if (place < end) return false;
    for (const double place : places) end = std::max(end, place);
  }
  return true;
}

TEST(Balancer, GivesCellsAndDividesThemAtTheCuts) {
  LineOfObjects objects = uneven_line(many);
  LineCuts cuts;
  Rebalancing rebalancing(cuts, verified());
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(cuts.calls, 1);
  EXPECT_LT(cuts.units_seen, rank() % 2 == 0 ? many / 2 : 1);
  EXPECT_EQ(cuts.questions > 0, rank() % 2 == 0);
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_TRUE(ranks_follow_the_line(objects));
  EXPECT_LE(result.after.weight, 1.06);
  EXPECT_GT(result.largest_cell_share, 0);
  EXPECT_EQ(result.warning, "");
  const auto most = static_cast<double>(max_over_ranks(std::llround(objects.weight_here())));
  const auto sum = static_cast<double>(sum_over_ranks(std::llround(objects.weight_here())));
  EXPECT_DOUBLE_EQ(result.after.weight, most * size() / sum);
}

TEST(Balancer, KeepsCellsTogetherWhereNobodyKnowsTheCuts) {
  LineOfObjects objects = uneven_line(many);
  LineCuts cuts;
  cuts.knows_cuts = false;
  Rebalancing rebalancing(cuts, verified());
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(cuts.questions, 0);
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_LE(result.after.weight, 1.06);
}

TEST(Balancer, GivesFewObjectsOneByOne) {
  for (const bool are_few : {true, false}) {
    LineOfObjects objects = uneven_line(are_few ? 100 : many);
    const std::uint64_t here = objects.count;
    LineCuts cuts;
    rebalance::Settings settings = verified();
    if (!are_few) settings.granularity = 1;
    Rebalancing rebalancing(cuts, settings);
    const RebalanceResult result = rebalancing.run(objects);
    EXPECT_EQ(cuts.units_seen, here);
    EXPECT_EQ(cuts.questions, 0);
    EXPECT_EQ(result.largest_cell_share, 0);
    EXPECT_TRUE(objects.all_are_there());
    EXPECT_TRUE(ranks_follow_the_line(objects));
  }
}

TEST(Balancer, MakesPartsThatAreNotRanks) {
  LineOfObjects objects = uneven_line(many);
  LineCuts cuts({true, std::nullopt, 3});
  Rebalancing rebalancing(cuts, verified());
  objects.tell(rebalancing.balancer);
  Decision decision;
  decision.count = objects.count;
  rebalancing.balancer.partition(decision);
  std::vector<double> weights(static_cast<std::size_t>(3 * size()));
  for (std::uint64_t k = 0; k < decision.count; ++k) {
    EXPECT_EQ(decision.parts[k] / 3, decision.ranks[k]);
    weights[static_cast<std::size_t>(decision.parts[k])] += static_cast<double>(objects.work[k]);
  }
  MPI_Allreduce(MPI_IN_PLACE, weights.data(), static_cast<int>(weights.size()), MPI_DOUBLE, MPI_SUM,
                MPI_COMM_WORLD);
  const auto [least, most] = std::ranges::minmax(weights);
  EXPECT_LT(most, 1.1 * least);
  objects.count = rebalancing.balancer.migrate(decision, objects.storage()).count;
  EXPECT_TRUE(objects.all_are_there());
}

TEST(Balancer, MovesObjectsAsAFunctionSays) {
  LineOfObjects objects = uneven_line(100);
  ByFunction hashed([](std::uint64_t slot) {
    return static_cast<int>((slot * 40503U + static_cast<unsigned>(rank())) % 65521U) % size();
  });
  Rebalancing rebalancing(hashed, verified());
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(hashed.calls, 1);
  EXPECT_EQ(hashed.coordinates_seen, 1U);  // they are there, although it does without
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_EQ(result.required_slots, objects.count);
  rebalancing.balancer.sources.coordinates = nullptr;
  objects.count = rebalancing.rebalance(objects.count, objects.storage()).count;
  EXPECT_EQ(hashed.coordinates_seen, 0U);
  EXPECT_TRUE(objects.all_are_there());
}

TEST(Balancer, AsksNobodyAboutNothing) {
  LineOfObjects objects(0, 10);
  LineCuts cuts;
  Rebalancing rebalancing(cuts, verified());
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(cuts.calls, 0);
  EXPECT_EQ(result.count, 0U);
  EXPECT_EQ(result.after.weight, 1);
}

TEST(Balancer, EvaluatesRanksThatWereChanged) {
  LineOfObjects objects = uneven_line(100);
  ByFunction stays([](std::uint64_t) { return rank(); });
  Rebalancing rebalancing(stays, verified());
  objects.tell(rebalancing.balancer);
  Decision decision;
  decision.count = objects.count;
  rebalancing.balancer.partition(decision);
  EXPECT_EQ(decision.required_slots, objects.count);
  std::ranges::fill(decision.ranks, 0);
  decision.may_be_changed = true;
  rebalancing.balancer.evaluate(decision);
  const std::vector<std::uint64_t> required = rebalancing.balancer.required_slots(decision);
  for (int r = 0; r < size(); ++r)
    EXPECT_EQ(required[static_cast<std::size_t>(r)], r == 0 ? objects.all : 0);
  EXPECT_DOUBLE_EQ(decision.after.count, size());
  if (objects.count > 0) decision.ranks[0] = size();
  expect_error(outcome_of([&] { rebalancing.balancer.evaluate(decision); }),
               ErrorCode::rank_out_of_range,
               {"there are ranks 0 to " + std::to_string(size() - 1)});
}

/// What the partitioner answers where blocks of four are dealt.
int dealt_rank(const LineOfObjects& objects, std::uint64_t slot) {
  return static_cast<int>(objects.number[slot] / 4 % static_cast<std::uint64_t>(size()));
}

TEST(Balancer, LetsTheOrderDecideUnlessMoreIsKnown) {
  using Asked = OrderRule::Asked;
  for (const Asked asked : {Asked::never, Asked::if_it_may_know_more, Asked::always})
    for (const bool may_know_more : {false, true}) {
      LineOfObjects objects = uneven_line(100);
      ByFunction dealer([&](std::uint64_t slot) { return dealt_rank(objects, slot); });
      dealer.traits().basis = rebalance::Basis::order;
      dealer.traits().may_know_more = may_know_more && rank() == size() - 1;
      rebalance::Settings settings = verified();
      settings.order_rule = {asked, true, 4};
      Rebalancing rebalancing(dealer, settings);
      const RebalanceResult result = rebalancing.run(objects);
      const bool expected = asked == Asked::always || (asked != Asked::never && may_know_more);
      EXPECT_EQ(dealer.calls, expected ? 1 : 0);
      EXPECT_EQ(dealer.coordinates_seen, 0U);
      EXPECT_TRUE(result.report.plan_from_layout);  // the answer is recognised where it was asked
      EXPECT_TRUE(objects.all_are_there());
      const auto ranks = static_cast<std::uint64_t>(size());
      for (std::uint64_t k = 0; k < objects.count; ++k)
        EXPECT_EQ(objects.number[k], (k / 4 * ranks + static_cast<unsigned>(rank())) * 4 + k % 4);
    }
}

TEST(Balancer, AsksWhereWeightsMatterForTheOrder) {
  LineOfObjects objects = uneven_line(100);
  ByFunction stays([](std::uint64_t) { return rank(); });
  rebalance::Settings settings = verified();
  settings.order_rule = {OrderRule::Asked::if_it_may_know_more, false, 1};
  Rebalancing rebalancing(stays, settings);
  const RebalanceResult result = rebalancing.run(objects);
  EXPECT_EQ(stays.calls, 1);
  EXPECT_EQ(objects.count, rank() % 2 == 0 ? 100U : 0U);
  EXPECT_TRUE(size() == 1 || result.after.count > 1);
  rebalancing.balancer.sources.weights = nullptr;
  objects.count = rebalancing.rebalance(objects.count, objects.storage()).count;
  EXPECT_EQ(stays.calls, 1);
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_LE(max_over_ranks(static_cast<long long>(objects.count)) * size(),
            static_cast<long long>(objects.all) + size());
}

TEST(Balancer, SaysOnAllRanksWhatIsWrong) {
  LineOfObjects objects = uneven_line(100);
  LineCuts cuts;
  Rebalancing rebalancing(cuts, verified());
  rebalance::Balancer& balancer = rebalancing.balancer;
  const auto outcome = [&] {
    return outcome_of([&] { rebalancing.rebalance(objects.count, objects.storage()); });
  };
  expect_error(outcome(), ErrorCode::invalid_argument, {"there are no coordinates"});
  objects.tell(balancer);
  balancer.settings.balance_count = true;
  expect_error(outcome(), ErrorCode::invalid_argument, {"LineCuts balances one weight only"});
  balancer.settings.balance_count = false;
  const double place = objects.place[7];
  if (rank() == 0) objects.place[7] = std::numeric_limits<double>::quiet_NaN();
  expect_error(outcome(), ErrorCode::invalid_argument, {"slot 7 is nan", "must be finite"});
  objects.place[7] = place;
  const std::vector<float> nothing(objects.work.size());
  balancer.sources.weights = array_columns(nothing.data(), nothing.size(), 1);
  expect_error(outcome(), ErrorCode::invalid_argument, {"all weights are zero"});
  balancer.sources.weights = [&]() -> Columns {
    if (rank() == size() - 1) throw std::runtime_error("no weights today");
    return array_columns(objects.work.data(), objects.work.size(), 1)();
  };
  expect_error(outcome(), ErrorCode::callback_failed, {"reading weights", "no weights today"});
  EXPECT_EQ(cuts.calls, 0);
  EXPECT_TRUE(objects.all_are_there());
}

TEST(Balancer, SaysWhereSlotsAreTooFewForWhatTheOrderMoves) {
  LineOfObjects objects(100, 400);
  ByFunction stays([](std::uint64_t) { return rank(); });
  rebalance::Settings settings = verified();
  settings.order_rule = {OrderRule::Asked::never, false, 1};
  Rebalancing rebalancing(stays, settings);
  const int last = size() - 1;
  const BlockStorage storage = objects.grown_to(rank() == last ? 99 : 400);
  // The others must not take what they cannot know, its number of objects, for what is wrong.
  expect_error(outcome_of([&] { rebalancing.rebalance(100, storage); }),
               ErrorCode::invalid_argument,
               {"rank " + std::to_string(last) + ": 100 blocks do not fit the 99 slots"});
}

TEST(Balancer, PassesOnWhatThePartitionerFinds) {
  LineOfObjects objects = uneven_line(100);
  ByFunction refuses([](std::uint64_t) { return 0; });
  refuses.traits().largest_id = 99;
  if (rank() == size() - 1) refuses.finding = Diagnostic{ErrorCode::invalid_argument, "not today"};
  Rebalancing rebalancing(refuses, verified());
  expect_error(outcome_of([&] { rebalancing.run(objects); }), ErrorCode::invalid_argument,
               {"rank " + std::to_string(size() - 1) + ": not today"});
  const std::vector<int> ids(objects.place.size(), 100);
  rebalancing.balancer.sources.ids = array_columns(ids.data(), ids.size(), 1);
  expect_error(outcome_of([&] { rebalancing.run(objects); }), ErrorCode::invalid_argument,
               {"is 100; ByFunction's ids are integers from 0 to 99"});
  EXPECT_EQ(refuses.calls, 1);
  EXPECT_TRUE(objects.all_are_there());
}

}  // namespace
}  // namespace valet::test
