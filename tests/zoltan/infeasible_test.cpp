// SPDX-License-Identifier: BSD-3-Clause

// A partition by work that gives some ranks more objects than they have slots: refused, repaired,
// or carried out in storages that the application enlarges. Objects stand on a line; those of the
// upper half are nine times the work, so that the lowest rank gets too many.

#include "gathered.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

constexpr std::uint64_t each = 100;

struct CrowdedObjects {
  std::vector<double> place;
  std::vector<float> work;
  std::vector<int> number;
  std::uint64_t count = each;

  explicit CrowdedObjects(std::uint64_t slots) : place(slots), work(slots), number(slots) {
    const int all = static_cast<int>(each) * size();
    for (std::uint64_t k = 0; k < each; ++k) {
      // Dealt to the ranks in turn, so that most of them move.
      number[k] = static_cast<int>(k) * size() + rank();
      place[k] = number[k];
      work[k] = number[k] < all / 2 ? 1 : 9;
    }
  }
  void tell(Rebalancer& rebalancer) const {
    rebalancer.coordinates(array_columns(place.data(), place.size(), 1));
    rebalancer.weights(array_columns(work.data(), work.size(), 1));
  }
  [[nodiscard]] BlockStorage storage() { return {field(place), field(work), field(number)}; }
  [[nodiscard]] BlockStorage grown_to(std::uint64_t slots) {
    place.resize(slots);
    work.resize(slots);
    number.resize(slots);
    return storage();
  }
  /// Whether every object is there once, with what belongs to it. Collective.
  [[nodiscard]] bool all_are_there() const {
    const int all = static_cast<int>(each) * size();
    bool whole = true;
    for (std::uint64_t k = 0; k < count; ++k)
      whole = whole && place[k] == number[k] && work[k] == (number[k] < all / 2 ? 1 : 9);
    return all_ranks(whole) && lost_or_doubled(number, count, static_cast<std::uint64_t>(all)) == 0;
  }
};

constexpr std::uint64_t few_slots = each + 10;

RebalancerOptions options_of(WhenInfeasible when) {
  return {.when_infeasible = when, .migration = {.verify = true}};
}

Outcome outcome_of_rebalance(CrowdedObjects& objects, const RebalancerOptions& options) {
  return outcome_of([&] {
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    objects.tell(rebalancer);
    objects.count = rebalancer.rebalance(objects.count, objects.storage()).count;
  });
}

TEST(WhenInfeasible, IsRefusedByDefault) {
  CrowdedObjects objects(few_slots);
  const Outcome outcome = outcome_of_rebalance(objects, {});
  EXPECT_EQ(outcome.code, size() == 1 ? ErrorCode::success : ErrorCode::infeasible);
  EXPECT_TRUE(objects.all_are_there());
}

TEST(WhenInfeasible, RepairsThePartitionToWhatFits) {
  CrowdedObjects objects(few_slots);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of(WhenInfeasible::repair));
  objects.tell(rebalancer);
  const RebalanceResult result = rebalancer.rebalance(objects.count, objects.storage());
  objects.count = result.count;
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_LE(result.count, few_slots);
  EXPECT_EQ(result.required_slots, result.count);
  double work = 0;
  for (std::uint64_t k = 0; k < objects.count; ++k) work += objects.work[k];
  const long long most = max_over_ranks(static_cast<long long>(work));
  const long long sum = sum_over_ranks(static_cast<long long>(work));
  EXPECT_DOUBLE_EQ(result.after.weight,
                   static_cast<double>(most * size()) / static_cast<double>(sum));
  EXPECT_LE(result.after.count, static_cast<double>(few_slots) / each);
}

/// A storage of references, made while they did not fit together.
TEST(WhenInfeasible, LooksAgainAtArraysThatWereResized) {
  CrowdedObjects objects(few_slots);
  objects.work.resize(each);
  const BlockStorage storage{field(valet::ref(objects.place)), field(valet::ref(objects.work)),
                             field(valet::ref(objects.number))};
  objects.work.resize(few_slots);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of(WhenInfeasible::repair));
  objects.tell(rebalancer);
  objects.count = rebalancer.rebalance(objects.count, storage).count;
  EXPECT_TRUE(objects.all_are_there());
}

TEST(WhenInfeasible, CannotRepairWhatFitsNowhere) {
  CrowdedObjects objects(each);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of(WhenInfeasible::repair));
  objects.tell(rebalancer);
  // One object is behind the slots that the storage admits to.
  const std::uint64_t slots = rank() == 0 ? each - 1 : each;
  const BlockStorage storage{field(objects.number.data(), slots)};
  expect_error(outcome_of([&] { rebalancer.rebalance(each, storage); }), ErrorCode::infeasible,
               {std::to_string(each * static_cast<std::uint64_t>(size())), "1 too few"});
}

TEST(WhenInfeasible, GrowsTheStoragesOfRanksThatNeedMore) {
  CrowdedObjects objects(few_slots);
  std::uint64_t asked = 0;
  RebalancerOptions options = options_of(WhenInfeasible::grow);
  options.grow = [&](std::uint64_t slots) {
    EXPECT_EQ(asked, 0U);
    asked = slots;
    return objects.grown_to(slots);
  };
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  objects.tell(rebalancer);
  const RebalanceResult result = rebalancer.rebalance(objects.count, objects.storage());
  objects.count = result.count;
  EXPECT_TRUE(objects.all_are_there());
  EXPECT_EQ(asked, result.count > few_slots ? result.count : 0);
  EXPECT_EQ(sum_over_ranks(asked > 0 ? 1 : 0) > 0, size() > 1);
  EXPECT_LT(result.after.weight, 1.15);
  // What it was given is used in the next one.
  objects.tell(rebalancer);
  asked = 0;
  objects.count = rebalancer.rebalance(objects.count, objects.storage()).count;
  EXPECT_EQ(asked, 0U);
  EXPECT_TRUE(objects.all_are_there());
}

/// By itself, whether it is asked to or nothing is said.
TEST(WhenInfeasible, LetsAStorageGrow) {
  for (const WhenInfeasible when : {WhenInfeasible::refuse, WhenInfeasible::grow}) {
    CrowdedObjects objects(each);
    Rebalancer rebalancer(MPI_COMM_WORLD, options_of(when));
    const auto now = [](const auto& values) {
      return [&values] { return array_columns(values.data(), values.size(), 1)(); };
    };
    rebalancer.coordinates(now(objects.place));
    rebalancer.weights(now(objects.work));
    const BlockStorage storage{growing(objects.place, 1), growing(objects.work, 1),
                               growing(objects.number, 1)};
    for (int step = 0; step < 2; ++step) {
      objects.count = rebalancer.rebalance(objects.count, storage).count;
      EXPECT_TRUE(objects.all_are_there());
      EXPECT_EQ(objects.number.size(), std::max(objects.count, each));
    }
  }
}

TEST(WhenInfeasible, ReportsGrowthThatThrowsOnAllRanks) {
  CrowdedObjects objects(few_slots);
  RebalancerOptions options = options_of(WhenInfeasible::grow);
  options.grow = [](std::uint64_t slots) -> BlockStorage {
    throw std::runtime_error("no room for " + std::to_string(slots));
  };
  const Outcome outcome = outcome_of_rebalance(objects, options);
  if (size() > 1)
    expect_error(outcome, ErrorCode::callback_failed,
                 {": enlarging the storage (grow) failed: no room for ", "nothing has moved"});
  EXPECT_TRUE(objects.all_are_there());
}

TEST(WhenInfeasible, ReportsStoragesThatAreStillTooSmall) {
  CrowdedObjects objects(few_slots);
  RebalancerOptions options = options_of(WhenInfeasible::grow);
  options.grow = [&](std::uint64_t slots) { return objects.grown_to(slots - 1); };
  const Outcome outcome = outcome_of_rebalance(objects, options);
  if (size() > 1)
    expect_error(outcome, ErrorCode::infeasible, {": grow returned a storage of ", "are required"});
  EXPECT_TRUE(objects.all_are_there());
}

TEST(WhenInfeasible, NeitherGrowsNorTakesWhatIsWrong) {
  CrowdedObjects objects(few_slots);
  int asked = 0;
  const auto unequal = [&](std::uint64_t slots) -> BlockStorage {
    return {field(objects.place), field(objects.number.data(), slots - 1)};
  };
  RebalancerOptions options = options_of(WhenInfeasible::grow);
  options.grow = [&](std::uint64_t slots) {
    ++asked;
    static_cast<void>(objects.grown_to(slots));
    return unequal(slots);
  };
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  objects.tell(rebalancer);
  const std::string who = "rank " + std::to_string(size() - 1) + ": ";
  const bool is_last = rank() == size() - 1;
  const BlockStorage good{field(objects.place), field(objects.number)};
  expect_error(outcome_of([&] { rebalancer.rebalance(each, is_last ? unequal(few_slots) : good); }),
               ErrorCode::field_mismatch, {who});
  EXPECT_EQ(asked, 0);
  if (size() == 1) return;
  expect_error(outcome_of_rebalance(objects, options), ErrorCode::field_mismatch,
               {"field 1 has ", "the first field has "});
  EXPECT_GT(sum_over_ranks(asked), 0);
  EXPECT_TRUE(objects.all_are_there());
}

TEST(WhenInfeasible, NeedsAFunctionThatGrows) {
  RebalancerOptions options = options_of(WhenInfeasible::grow);
  if (rank() < size() - 1) options.grow = [](std::uint64_t) { return BlockStorage{}; };
  CrowdedObjects objects(few_slots);
  expect_error(outcome_of_rebalance(objects, options), ErrorCode::invalid_argument,
               {"rank " + std::to_string(size() - 1), "there is no grow"});
}

TEST(WhenInfeasible, IsTheSameOnAllRanks) {
  if (size() == 1) return;
  CrowdedObjects objects(few_slots);
  expect_error(outcome_of_rebalance(objects, options_of(rank() == 0 ? WhenInfeasible::refuse
                                                                    : WhenInfeasible::repair)),
               ErrorCode::invalid_argument, {"when_infeasible", "refuse", "repair"});
}

}  // namespace
}  // namespace valet::test
