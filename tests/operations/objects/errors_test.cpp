// SPDX-License-Identifier: BSD-3-Clause

// A wrong call is refused on all ranks before anything moves, and a function that throws, at
// whatever call, ends the migration on all ranks without losing another object. What changes on its
// way is found.

#include "named_budget.hpp"
#include "object_cells.hpp"
#include "spoilt_sends.hpp"

#include <stdexcept>

namespace valet::test {
namespace {

Outcome migrated(ObjectCells& cells, const Options& options = {}) {
  return outcome_of([&] {
    static_cast<void>(
        migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options));
  });
}

TEST(ObjectErrors, OfTheCallAreFoundBeforeAnythingMoves) {
  ObjectCells cells(dealt_cells(6, 100));
  const auto refused = [&](const std::function<void(ObjectFunctions&, std::uint64_t&)>& spoil,
                           const Options& options, ErrorCode code,
                           const std::vector<std::string>& words) {
    ObjectFunctions functions = cells.functions();
    std::uint64_t count = cells.count();
    if (is_odd()) spoil(functions, count);
    expect_error(outcome_of([&] {
                   static_cast<void>(
                       migrate_objects(MPI_COMM_WORLD, count, cells.ranks, functions, options));
                 }),
                 code, words);
    EXPECT_EQ(cells.wrong(false), 0U);
  };
  refused([](auto& functions, auto&) { functions.pack = {}; }, {}, ErrorCode::invalid_argument,
          {odd_name(), "the functions size, pack and unpack"});
  refused([](auto&, auto& count) { ++count; }, {}, ErrorCode::invalid_argument,
          {odd_name(), "6 ranks for 7 objects"});
  refused([&](auto&, auto&) { cells.ranks[2] = size(); }, {}, ErrorCode::rank_out_of_range,
          {odd_name(), "object 2 goes to rank " + std::to_string(size())});
  refused([&](auto&, auto&) { cells.ranks[2] = -1; }, {}, ErrorCode::rank_out_of_range,
          {odd_name(), "object 2 goes to rank -1", "ranks count from 0: fix the map"});
  cells.fill();
  refused([](auto&, auto&) {}, {.phased = {.parking = -1}}, ErrorCode::invalid_argument,
          {"a parking interval of -1"});
  if (size() == 1) return;
  refused([](auto& functions, auto&) { functions.size = [](std::uint64_t) { return ~0ULL; }; }, {},
          ErrorCode::invalid_argument,
          {odd_name(), "object 0 has 18446744073709551615 (negative: -1) bytes"});
  Options direct;
  direct.method = Method::direct;
  direct.budget_bytes = 100;
  refused([](auto&, auto&) {}, direct, ErrorCode::budget_too_small,
          {"method direct needs", "the budget is 100"});
  Options cyclic;
  cyclic.method = Method::cyclic;
  cyclic.budget_bytes = 30;
  refused([](auto&, auto&) {}, cyclic, ErrorCode::budget_too_small,
          {"rank 0:", "budget of 30 bytes", "pairs of ranks", "set budget_bytes to at least"});
  Options differ;
  differ.method = is_odd() ? Method::phased : Method::stream;
  refused([](auto&, auto&) {}, differ, ErrorCode::invalid_argument, {"option method"});
  Options stuck;
  stuck.method = Method::phased;
  stuck.phased.available_bytes = [] { return std::size_t{1}; };
  refused([](auto&, auto&) {}, stuck, ErrorCode::out_of_memory,
          {"no rank can take another object", "callback available_bytes answers 1"});
}

/// Each rank has a larger object than the one before.
TEST(ObjectErrors, NameABudgetThatIsEnoughForAllRanks) {
  if (size() == 1) GTEST_SKIP() << "nothing moves";
  std::vector<CellMove> moves;
  for (int r = 0; r < size(); ++r) {
    const auto number = static_cast<std::uint64_t>(r);
    moves.push_back({number, 100 * (number + 1), r, (r + 1) % size()});
  }
  ObjectCells cells(moves);
  Options options{.budget_bytes = 100, .method = Method::direct};
  const Outcome refused = migrated(cells, options);
  expect_error(refused, ErrorCode::budget_too_small, {"set budget_bytes to that on all ranks"});
  options.budget_bytes = named_budget(refused.text);
  EXPECT_EQ(migrated(cells, options).text, "");
}

TEST(ObjectErrors, SayThatObjectsHaveChangedOnTheirWay) {
  if (size() == 1) GTEST_SKIP() << "nothing moves";
  std::vector<CellMove> moves;
  for (std::uint64_t k = 0; k < 20; ++k) moves.push_back({k, 2000, odd_rank(), 0});
  ObjectCells cells(moves);
  const Options options{.method = Method::stream, .verify = true, .share_memory = false};
  EXPECT_EQ(migrated(cells, options).text, "");
  cells.fill();
  if (is_odd()) spoil_next(1025);
  expect_error(migrated(cells, options), ErrorCode::corrupted,
               {"rank 0: the 20 packed objects of rank " + std::to_string(odd_rank()) +
                " are not what that rank packed"});
  EXPECT_FALSE(spoil);
}

class ThrowingFunction
    : public ::testing::TestWithParam<std::tuple<const char*, Method, std::size_t>> {};

TEST_P(ThrowingFunction, EndsTheCallOnAllRanksWithoutLosingAnother) {
  const auto [function, method, budget] = GetParam();
  const std::string name = function;
  ObjectCells cells(dealt_cells(40, 900));
  Options options;
  options.method = method;
  options.budget_bytes = budget;
  options.phased.parking = 2;
  const auto all = static_cast<long long>(cells.moves().size());
  for (int n = 0;; n += 1 + n / 8) {  // all of the first ones, then fewer
    cells.fill();
    int left = n;
    cells.on_call = [&](const char* called) {
      if (is_odd() && name == called && left-- == 0) throw std::runtime_error("no luck");
    };
    const Outcome outcome = migrated(cells, options);
    if (all_ranks(left >= 0 || !is_odd())) {  // fewer calls than that
      EXPECT_EQ(outcome.text, "");
      EXPECT_EQ(cells.wrong(), 0U);
      EXPECT_TRUE(n > 0 || size() == 1);
      break;
    }
    expect_error(outcome, ErrorCode::callback_failed, {odd_name(), name + " of ", "no luck"});
    const long long intact = cells.intact_everywhere();
    EXPECT_EQ(intact, name == "unpack" ? all - 1 : all) << "call " << n;
    if (name == "size") {
      EXPECT_EQ(cells.wrong(false), 0U);
    }
    if (::testing::Test::HasFailure()) break;
  }
  cells.on_call = {};
  cells.fill();
  EXPECT_EQ(migrated(cells, options).text, "") << "and the next call is as any other";
  EXPECT_EQ(cells.wrong(), 0U);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, ThrowingFunction,
    ::testing::Combine(::testing::Values("size", "pack", "unpack", "left"),
                       ::testing::Values(Method::stream, Method::phased, Method::cyclic),
                       ::testing::Values(std::size_t{20'000}, std::size_t{4} << 20)),
    [](const auto& one) {
      return std::string(std::get<0>(one.param)) + "_" + to_string(std::get<1>(one.param)) + "_" +
             std::to_string(std::get<2>(one.param));
    });

}  // namespace
}  // namespace valet::test
