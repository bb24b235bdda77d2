// SPDX-License-Identifier: BSD-3-Clause

// What the Rebalancer refuses, on all ranks with the same text. Plain arrays, no Kokkos.

#include "test_comm.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace {

using namespace valet::test;
using namespace valet::zoltan;

/// Code and text of what `action` throws.
template <class Action>
std::string error_of(Action&& action) {
  const Outcome outcome = outcome_of(action);
  return outcome.text.empty() ? "no error" : to_string(outcome.code) + (": " + outcome.text);
}

std::string error_of_options(const RebalancerOptions& options) {
  return error_of([&] { const Rebalancer rebalancer(MPI_COMM_WORLD, options); });
}

/// Eight points with a value each.
struct Points {
  std::vector<double> place = std::vector<double>(24, 0.5);
  std::vector<float> weight = std::vector<float>(8, 1);
  std::vector<int> value = std::vector<int>(8, 42);

  Points() {
    for (std::size_t i = 0; i < place.size(); ++i)
      place[i] = static_cast<double>(i * i % 17) + rank();
  }
  [[nodiscard]] valet::BlockStorage storage() {
    return {valet::field(place.data(), 8, 3), valet::field(weight.data(), 8),
            valet::field(value.data(), 8)};
  }
};

std::string error_of_rebalance(Points& points, bool weighted = true,
                               const RebalancerOptions& options = {}) {
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  rebalancer.coordinates(array_columns(points.place.data(), 8, 3));
  if (weighted) rebalancer.weights(array_columns(points.weight.data(), 8, 1));
  return error_of([&] { rebalancer.rebalance(8, points.storage()); });
}

TEST(RebalancerOptions, RanksMustAgreeOnThem) {
  if (size() == 1) return;
  RebalancerOptions options{.method = rank() == 0 ? "rib" : "RCB"};
  expect_words(error_of_options(options),
               {"invalid_argument", "method differs: RCB on rank", ", RIB on rank 0"});
  options.method = "RCB";
  options.imbalance_tolerance = rank() == 0 ? 1.25 : 1.5;
  expect_words(error_of_options(options),
               {"imbalance_tolerance differs: 1.25 on rank 0, 1.5 on rank"});
  options.imbalance_tolerance = 1.05;
  options.balance_count = rank() == 0;
  expect_words(error_of_options(options), {"balance_count differs: no on rank", ", yes on rank 0"});
}

TEST(RebalancerOptions, UnknownParameterIsNamed) {
  const RebalancerOptions options{.parameters = {{"RCB_REUSE", "1"}, {"RCB_REUSED", "1"}}};
  expect_words(error_of_options(options), {"invalid_argument", "RCB_REUSED", "= 1"});
}

TEST(RebalancerOptions, BadValueIsNamed) {
  const RebalancerOptions options{.parameters = {{"TIMER", "sundial"}}};
  expect_words(error_of_options(options), {"invalid_argument", "TIMER", "sundial"});
}

TEST(RebalancerOptions, ParameterOfOneRankIsAnErrorOnAll) {
  RebalancerOptions options;
  if (rank() == size() - 1) options.parameters = {{"NONSENSE", "1"}};
  expect_words(error_of_options(options),
               {"invalid_argument", "NONSENSE", "rank " + std::to_string(size() - 1)});
}

TEST(RebalancerOptions, ParametersThatTheRebalancerSetsAreRefusedWithTheWayToGo) {
  RebalancerOptions options{.parameters = {{"lb_method", "HYPERGRAPH"}}};
  expect_words(error_of_options(options), {"lb_method", "RebalancerOptions::method"});
  options.parameters = {{"LB_BLOCK_SIZE", "4"}};
  expect_words(error_of_options(options), {"LB_BLOCK_SIZE", "RebalancerOptions::block_size"});
  options.parameters = {{"AUTO_MIGRATE", "1"}};
  expect_words(error_of_options(options), {"AUTO_MIGRATE", "Valet migrates"});
}

TEST(RebalancerOptions, UnknownMethodsAreNamedWithThoseThereAre) {
  const RebalancerOptions options{.method = "GRAPHS"};
  expect_words(error_of_options(options),
               {"invalid_argument", "'GRAPHS'", "RCB, RIB, HSFC, BLOCK", "HYPERGRAPH"});
}

TEST(RebalancerOptions, HierHasAPartForEachRank) {
  const RebalancerOptions options{.method = "HIER",
                                  .parameters = {{"NUM_GLOBAL_PARTS", std::to_string(size() + 1)}}};
  expect_words(error_of_options(options),
               {"invalid_argument", "HIER makes one part for each rank", "leave out"});
}

TEST(RebalancerOptions, PartsAreForAllRanksOrForNone) {
  if (size() == 1) return;
  RebalancerOptions options;
  if (rank() == 0) options.parameters = {{"NUM_GLOBAL_PARTS", "7"}};
  expect_words(error_of_options(options), {"invalid_argument", "NUM_GLOBAL_PARTS"});
}

TEST(RebalancerOptions, NumbersOfPartsMustBeNumbers) {
  RebalancerOptions options;
  for (const char* const value : {"0", "-1", "many", "99999999999"}) {
    options.parameters = {{"Num_Global_Parts", value}};
    expect_words(error_of_options(options),
                 {"invalid_argument", std::string("Num_Global_Parts = ") + value,
                  "give a whole number, at least 1"});
  }
  options.parameters = {{"NUM_LOCAL_PARTS", "-2"}};
  expect_words(error_of_options(options), {"invalid_argument", "NUM_LOCAL_PARTS = -2"});
}

/// Zoltan would wait for ever where all of them get to one rank.
TEST(Rebalancer, PlanesAreNotKeptTogetherWhereARankHasSeveralParts) {
  Points points;
  RebalancerOptions options;
  options.parameters = {{"RCB_RECTILINEAR_BLOCKS", "1"},
                        {"NUM_GLOBAL_PARTS", std::to_string(size() + 1)}};
  expect_words(error_of_rebalance(points, true, options),
               {"invalid_argument", "RCB_RECTILINEAR_BLOCKS with several parts on a rank",
                "make a part for each rank, or leave it out"});
  options.parameters.pop_back();
  const std::string message = error_of_rebalance(points, true, options);
  EXPECT_TRUE(all_ranks(message == "no error" || message.find("infeasible") == 0)) << message;
}

/// Otherwise one rank would call MPI where the others do not: for the tree of the cuts, statistics.
TEST(RebalancerOptions, ParametersMustBeTheSameOnAllRanks) {
  if (size() == 1) return;
  for (const char* const name : {"KEEP_CUTS", "RCB_OUTPUT_LEVEL", "NUM_GLOBAL_PARTS"}) {
    RebalancerOptions options{.parameters = {{name, rank() == 0 ? "1" : "2"}}};
    expect_words(error_of_options(options),
                 {"invalid_argument", "RebalancerOptions::parameters differs", "on rank 0",
                  "only NUM_LOCAL_PARTS may differ"});
  }
  RebalancerOptions options{.parameters = {{"NUM_LOCAL_PARTS", rank() == 0 ? "1" : "2"}}};
  EXPECT_TRUE(all_ranks(error_of_options(options) == "no error"));
  options.parameters.clear();
  if (rank() == 0) options.parameters = {{"KEEP_CUTS", "1"}};
  expect_words(error_of_options(options), {"RebalancerOptions::parameters differs"});
}

TEST(RebalancerOptions, ToleranceMustBeAboveOne) {
  RebalancerOptions options;
  for (const double tolerance : {1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.imbalance_tolerance = tolerance;
    expect_words(error_of_options(options), {"invalid_argument", "tolerance"});
  }
}

TEST(Rebalancer, NullCommunicatorIsRefused) {
  expect_words(error_of([] { const Rebalancer rebalancer(MPI_COMM_NULL); }),
               {"invalid_communicator"});
}

TEST(Rebalancer, NeedsCoordinates) {
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
               {"invalid_argument", "coordinates()"});
}

TEST(Rebalancer, CountIsASecondWeightForRcbOnly) {
  Points points;
  const RebalancerOptions options{.method = "hsfc", .balance_count = true};
  expect_words(error_of_rebalance(points, true, options),
               {"invalid_argument", "balance_count", "RCB", "HSFC"});
}

TEST(Rebalancer, NumbersThatAreNoneAreFoundBeforeZoltanSeesThem) {
  Points points;
  if (rank() == size() - 1) points.place[3 * 5 + 1] = std::nan("");
  expect_words(error_of_rebalance(points), {"invalid_argument", "coordinate 1", "slot 5", "nan",
                                            "rank " + std::to_string(size() - 1)});
}

TEST(Rebalancer, GlobalIdsMustBeIdsOfZoltan) {
  Points points;
  std::vector<double> ids{0, 1, 2, 3, 4, 5, 6, 7};
  for (const double bad : {-1.0, 0.5, 0x1p32, std::nan("")}) {
    ids[3] = rank() == size() - 1 ? bad : 3.0;
    Rebalancer rebalancer(MPI_COMM_WORLD);
    rebalancer.coordinates(array_columns(points.place.data(), 8, 3));
    rebalancer.global_ids(array_columns(ids.data(), 8, 1));
    expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
                 {"invalid_argument", "global id", "slot 3", "4294967295",
                  "rank " + std::to_string(size() - 1)});
  }
}

TEST(Partition, RanksThatDoNotExistAreFoundBeforeAnythingMoves) {
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(array_columns(points.place.data(), 8, 3));
  for (const int bad : {-1, size()}) {
    valet::zoltan::Partition partition = rebalancer.partition(8);
    if (rank() == 0) partition.ranks()[6] = bad;
    expect_words(error_of([&] { rebalancer.evaluate(partition); }),
                 {"rank_out_of_range", "slot 6", "rank " + std::to_string(bad)});
    expect_words(error_of([&] { rebalancer.migrate(std::move(partition), points.storage()); }),
                 {"rank_out_of_range", "slot 6", "rank " + std::to_string(bad)});
  }
}

TEST(Rebalancer, NegativeAndZeroWeights) {
  Points points;
  points.weight[2] = -1;
  expect_words(error_of_rebalance(points), {"invalid_argument", "slot 2", "-1"});
  points.weight.assign(8, 0);
  expect_words(error_of_rebalance(points), {"invalid_argument", "all weights are zero"});
}

TEST(Rebalancer, ZeroWeightsOnSomeRanksAreFine) {
  Points points;
  if (rank() != 0) points.weight.assign(8, 0);
  // All of the work is on rank 0's points, so what fits where is Zoltan's decision; nothing hangs.
  const std::string message = error_of_rebalance(points);
  EXPECT_TRUE(all_ranks(message == "no error" || message.find("infeasible") == 0)) << message;
}

TEST(Rebalancer, RanksMustAgreeOnTheDimensions) {
  if (size() == 1) return;
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(array_columns(points.place.data(), 8, rank() == 0 ? 3 : 2));
  expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
               {"invalid_argument", "the number of coordinates of an object differs: 2 on rank",
                "3 on rank 0"});
}

TEST(Rebalancer, CoordinatesMustCoverTheObjects) {
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(array_columns(points.place.data(), 7, 3));
  expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
               {"invalid_argument", "8 objects", "only 7 coordinates"});
}

TEST(Rebalancer, NullArraysAndOddComponents) {
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(array_columns<double>(nullptr, 8, 3));
  expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
               {"inaccessible_memory", "null"});
  rebalancer.coordinates(array_columns(points.place.data(), 6, 4));
  expect_words(error_of([&] { rebalancer.rebalance(6, points.storage()); }),
               {"invalid_argument", "4 values per slot"});
}

TEST(Rebalancer, SourcesThatThrowAreReportedOnAllRanks) {
  Points points;
  Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates([&]() -> valet::zoltan::Columns {
    if (rank() == size() - 1) throw std::runtime_error("no mirror");
    return array_columns(points.place.data(), 8, 3)();
  });
  expect_words(error_of([&] { rebalancer.rebalance(8, points.storage()); }),
               {"callback_failed", "rank " + std::to_string(size() - 1),
                "reading coordinates failed: no mirror; nothing has moved"});
}

TEST(Rebalancer, ErrorsOfTheMigrationComeThrough) {
  Points points;
  const RebalancerOptions options{.migration = {.budget_bytes = 8}};
  expect_words(error_of_rebalance(points, true, options), {"budget_too_small", "32"});
}

}  // namespace
