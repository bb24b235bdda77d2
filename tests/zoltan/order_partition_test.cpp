// SPDX-License-Identifier: BSD-3-Clause

// Partitions by the order of the objects, which the Rebalancer makes by arithmetic: the same as
// Zoltan's, in the slots of the layout, and a map as soon as somebody wants to change it.

#include "counted_mpi.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/lists.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <zoltan.h>

namespace {

using namespace valet::test;
using namespace valet::zoltan;

/// Objects whose values are their numbers, by rank and slot; each rank has room for all.
struct Objects {
  std::vector<std::uint64_t> counts;
  std::vector<std::uint64_t> number;
  std::vector<double> weight;
  std::uint64_t count = 0;

  explicit Objects(const std::vector<std::uint64_t>& counts_of_ranks) : counts(counts_of_ranks) {
    const auto self = static_cast<std::size_t>(rank());
    count = counts[self];
    number.resize(std::max<std::uint64_t>(1, all()));
    weight.resize(number.size());
    const auto first = static_cast<std::ptrdiff_t>(self);
    std::iota(number.begin(), number.begin() + static_cast<std::ptrdiff_t>(count),
              std::accumulate(counts.begin(), counts.begin() + first, std::uint64_t{0}));
    for (std::size_t k = 0; k < weight.size(); ++k)
      weight[k] = 1 + static_cast<double>(number[k] % 7);
  }
  [[nodiscard]] std::uint64_t all() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }
  [[nodiscard]] valet::BlockStorage storage() {
    return {valet::field(number), valet::field(weight)};
  }
};

std::vector<std::uint64_t> random_counts(std::mt19937_64& random, std::uint64_t most) {
  std::vector<std::uint64_t> counts;
  for (int r = 0; r < size(); ++r)
    counts.push_back(pick(random, 0, 3) == 0 ? 0 : pick(random, 0, most));
  return counts;
}

int count_objects(void* data, int* error) {
  *error = ZOLTAN_OK;
  return static_cast<int>(static_cast<Objects*>(data)->count);
}
void list_objects(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                  int* error) {
  const Objects& objects = *static_cast<Objects*>(data);
  for (std::uint64_t k = 0; k < objects.count; ++k) {
    gids[k] = static_cast<ZOLTAN_ID_TYPE>(objects.number[k]);
    lids[k] = static_cast<ZOLTAN_ID_TYPE>(k);
  }
  *error = ZOLTAN_OK;
}

/// Where Zoltan wants each object of this rank.
std::vector<int> ranks_of_zoltan(Objects& objects, const std::string& method) {
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "LB_METHOD", method.c_str());
  Zoltan_Set_Param(zoltan, "RETURN_LISTS", "EXPORT");
  Zoltan_Set_Num_Obj_Fn(zoltan, count_objects, &objects);
  Zoltan_Set_Obj_List_Fn(zoltan, list_objects, &objects);
  const std::vector<int> ranks = ZoltanLists(zoltan).ranks(objects.count, rank());
  Zoltan_Destroy(&zoltan);
  return ranks;
}

RebalancerOptions options_of(const std::string& method, std::uint64_t block_size = 1) {
  return {.method = method, .block_size = block_size};
}

TEST(OrderPartition, IsThatOfZoltan) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t test_case = 0; test_case < cases; ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    Objects objects(random_counts(random, test_case % 8 == 7 ? 20'000 : 50));
    if (objects.all() == 0) continue;  // Zoltan prints a warning
    for (const char* const method : {"BLOCK", "cyclic"}) {
      const std::vector<int> expected = ranks_of_zoltan(objects, method);
      Rebalancer rebalancer(MPI_COMM_WORLD, options_of(method));
      Partition partition = rebalancer.partition(objects.count);
      EXPECT_TRUE(all_ranks(std::ranges::equal(std::as_const(partition).ranks(), expected)))
          << method;
      std::vector<std::uint64_t> required(static_cast<std::size_t>(size()), 0);
      for (const int to : expected) ++required[static_cast<std::size_t>(to)];
      MPI_Allreduce(MPI_IN_PLACE, required.data(), size(), MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
      EXPECT_TRUE(all_ranks(rebalancer.required_slots(partition) == required)) << method;
      // Where the application may have told Zoltan more, it is asked; with the same answer here.
      static_cast<void>(rebalancer.handle());
      Partition asked = rebalancer.partition(objects.count);
      EXPECT_TRUE(all_ranks(std::ranges::equal(asked.ranks(), expected))) << method;
      EXPECT_TRUE(all_ranks(asked.after().count == partition.after().count));
    }
  }
}

// Zoltan adds up shares of single precision. With so many objects the sum is off by so much that a
// bound is not the one of the layout.
TEST(OrderPartition, IsNoLayoutWhereZoltanRoundsOtherwise) {
  if (size() != 3 && size() != 5) return;
  const std::uint64_t all = size() == 3 ? 8'388'608 : 4'194'304;
  const auto ranks = static_cast<std::uint64_t>(size());
  const std::uint64_t count = all / ranks + (rank() == 0 ? all % ranks : 0);
  std::vector<std::uint8_t> byte(all / ranks + 8);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of("BLOCK"));
  const RebalanceResult result =
      rebalancer.rebalance(count, valet::BlockStorage{valet::field(byte)});
  EXPECT_FALSE(result.layout.has_value());
}

TEST(OrderPartition, DealsBlocksOfAnySizeInTheSlotsOfTheLayout) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t test_case = 0; test_case < cases; ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    Objects objects(random_counts(random, 60));
    const std::uint64_t block = pick(random, 0, 3) == 0 ? objects.all() + 5 : pick(random, 1, 9);
    const bool weighted = test_case % 2 == 0 && objects.all() > 0;
    Rebalancer rebalancer(MPI_COMM_WORLD,
                          options_of(test_case % 3 == 0 ? "CYCLIC" : "block_cyclic", block));
    if (weighted)
      rebalancer.weights(array_columns(objects.weight.data(), objects.weight.size(), 1));
    const RebalanceResult result = rebalancer.rebalance(objects.count, objects.storage());
    const Numbers numbers = numbers_of(valet::ObjectLayout::cyclic(block), objects.all(), size());
    objects.number.resize(result.count);
    EXPECT_TRUE(all_ranks(objects.number == row_of(numbers, rank())));
    double weight = 0;
    for (std::uint64_t slot = 0; slot < result.count; ++slot) weight += objects.weight[slot];
    EXPECT_TRUE(all_ranks(result.report.plan_from_layout || objects.all() == 0));
    EXPECT_TRUE(all_ranks(result.required_slots == result.count));
    // Without a map: 12 bytes a slot are all of it.
    expect_within_bound(result.report);
    if (!weighted) continue;
    std::array<double, 2> sum_and_largest{weight, weight};
    MPI_Allreduce(MPI_IN_PLACE, sum_and_largest.data(), 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &sum_and_largest[1], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_NEAR(result.after.weight, sum_and_largest[1] * size() / sum_and_largest[0], 1e-12);
  }
}

/// Parameters and the handle make the Rebalancer ask Zoltan, and whoever looks at the ranks may
/// change them; where the ranks are the same, the slots are too.
TEST(OrderPartition, HasTheSameSlotsWhereZoltanIsAskedAndSaysTheSame) {
  using Parameters = std::vector<std::pair<std::string, std::string>>;
  const std::vector<Parameters> all{
      {{"DEBUG_LEVEL", "0"}},
      {{"DEBUG_PROCESSOR", "0"}, {"TIMER", "WALL"}},
      {{"CHECK_GEOM", "1"}, {"DETERMINISTIC", "1"}, {"SEED", "77"}, {"LB_APPROACH", "PARTITION"}}};
  for (std::uint64_t test_case = 0; test_case < cases_wanted(12); ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    const std::vector<std::uint64_t> counts = random_counts(random, 90);
    for (const char* const method : {"BLOCK", "CYCLIC"}) {
      std::vector<std::uint64_t> expected;
      for (std::size_t how = 0; how < all.size() + 3; ++how) {
        Objects objects(counts);
        if (objects.all() == 0) continue;
        RebalancerOptions options = options_of(method);
        if (how > 0 && how <= all.size()) options.parameters = all[how - 1];
        Rebalancer rebalancer(MPI_COMM_WORLD, options);
        // On one rank only: Zoltan is asked on all.
        if (how == all.size() + 1 && rank() == size() - 1) static_cast<void>(rebalancer.handle());
        Partition partition = rebalancer.partition(objects.count);
        // Looked at, and not changed.
        if (how == all.size() + 2 && rank() == 0) static_cast<void>(partition.ranks());
        const RebalanceResult result = rebalancer.migrate(std::move(partition), objects.storage());
        objects.number.resize(result.count);
        if (how == 0) expected = objects.number;
        EXPECT_TRUE(all_ranks(objects.number == expected)) << method << " " << how;
        EXPECT_TRUE(all_ranks(result.report.plan_from_layout));
      }
    }
  }
}

/// Whether every rank has the objects that `ranks` sends there, which each rank gives for its own.
bool went_to(const std::vector<int>& ranks, const Objects& before,
             std::span<const std::uint64_t> numbers) {
  std::vector<int> to(before.all(), 0);
  std::copy(ranks.begin(), ranks.end(),
            to.begin() + static_cast<std::ptrdiff_t>(ranks.empty() ? 0 : before.number[0]));
  MPI_Allreduce(MPI_IN_PLACE, to.data(), static_cast<int>(to.size()), MPI_INT, MPI_SUM,
                MPI_COMM_WORLD);
  return std::ranges::count(to, rank()) == static_cast<std::ptrdiff_t>(numbers.size()) &&
         std::ranges::all_of(numbers, [&](std::uint64_t number) { return to[number] == rank(); });
}

TEST(OrderPartition, IntoSeveralPartsOfARankIsALayout) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t test_case = 0; test_case < cases; ++test_case) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(test_case)));
    std::mt19937_64 random(seed() + test_case);
    const Objects before(random_counts(random, 300));
    if (before.all() == 0) continue;  // Zoltan prints a warning
    const std::string parts = std::to_string(pick(random, 2, 4) * static_cast<unsigned>(size()));
    RebalancerOptions options = options_of(test_case % 2 == 0 ? "CYCLIC" : "BLOCK");
    options.parameters = {{"NUM_GLOBAL_PARTS", parts}};
    SCOPED_TRACE(options.method + " into " + parts);
    Objects objects = before;
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    Partition partition = rebalancer.partition(objects.count);
    const std::vector<int> ranks(partition.ranks().begin(), partition.ranks().end());
    const RebalanceResult result = rebalancer.migrate(std::move(partition), objects.storage());
    EXPECT_TRUE(all_ranks(result.report.plan_from_layout));
    EXPECT_TRUE(all_ranks(went_to(ranks, before, std::span(objects.number).first(result.count))));

    // The same by lists.
    objects = before;
    ZoltanHandle zoltan;
    zoltan.set("LB_METHOD", options.method);
    zoltan.set("NUM_GLOBAL_PARTS", parts);
    Zoltan_Set_Num_Obj_Fn(zoltan.get(), count_objects, &objects);
    Zoltan_Set_Obj_List_Fn(zoltan.get(), list_objects, &objects);
    const ZoltanLists lists(zoltan.get());
    const auto as_list = [](const ZoltanLists::Arrays& arrays) {
      return PartitionList{arrays.count, arrays.gids, arrays.lids, arrays.procs, arrays.parts};
    };
    const std::vector<int> listed = lists.ranks(objects.count, rank());
    const ListMigration moved =
        migrate(MPI_COMM_WORLD, {1, 1, as_list(lists.imports()), as_list(lists.exports())},
                objects.count, objects.storage());
    EXPECT_TRUE(all_ranks(moved.report.plan_from_layout));
    EXPECT_TRUE(all_ranks(went_to(listed, before, std::span(objects.number).first(moved.count))));
  }
}

TEST(OrderPartition, IsThatOfZoltanWhereItSaysAnother) {
  Objects objects(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 30));
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of("BLOCK"));
  // All to rank 0.
  std::vector<float> sizes(static_cast<std::size_t>(size()), 0);
  sizes[0] = 1;
  std::vector<int> parts(sizes.size()), weights(sizes.size(), 0);
  std::iota(parts.begin(), parts.end(), 0);
  Zoltan_LB_Set_Part_Sizes(rebalancer.handle(), 1, size(), parts.data(), weights.data(),
                           sizes.data());
  const RebalanceResult result = rebalancer.rebalance(objects.count, objects.storage());
  EXPECT_TRUE(all_ranks(result.count == (rank() == 0 ? objects.all() : 0)));
}

TEST(OrderPartition, IsAMapOnceSomeRankMayHaveChangedIt) {
  const std::vector<std::uint64_t> counts(static_cast<std::size_t>(size()), 20);
  Objects objects(counts);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of("BLOCK_CYCLIC", 3));
  Partition partition = rebalancer.partition(objects.count);
  if (rank() == size() - 1) std::ranges::fill(partition.ranks(), 0);
  const RebalanceResult result = rebalancer.migrate(std::move(partition), objects.storage());
  std::vector<long long> there(objects.all(), 0);
  for (std::uint64_t slot = 0; slot < result.count; ++slot) ++there[objects.number[slot]];
  for (std::uint64_t number = 0; number < objects.all(); ++number) {
    const bool is_changed = number / 20 == static_cast<std::uint64_t>(size()) - 1;
    const std::uint64_t to = is_changed ? 0 : number / 3 % static_cast<std::uint64_t>(size());
    EXPECT_TRUE(all_ranks(there[number] == (to == static_cast<std::uint64_t>(rank()) ? 1 : 0)))
        << number;
  }
}

TEST(OrderPartition, IsRepairedWhereItDoesNotFit) {
  Objects objects(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 20));
  RebalancerOptions options = options_of("BLOCK_CYCLIC", 20 * static_cast<std::uint64_t>(size()));
  options.when_infeasible = valet::zoltan::WhenInfeasible::repair;
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  // All to rank 0, which has room for what it has.
  const valet::BlockStorage storage{valet::field(objects.number.data(), 20)};
  const RebalanceResult result = rebalancer.rebalance(objects.count, storage);
  EXPECT_TRUE(all_ranks(result.count == 20));
}

TEST(OrderPartition, KeepsTheOrderThatTheOptionsAskFor) {
  // Order::stable: what stays in front, then what comes.
  Objects objects(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), 12));
  RebalancerOptions options = options_of("CYCLIC");
  options.migration.order = valet::Order::stable;
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  const RebalanceResult result = rebalancer.rebalance(objects.count, objects.storage());
  const auto is_own = [](std::uint64_t number) {
    return number / 12 == static_cast<std::uint64_t>(rank());
  };
  const auto begin = objects.number.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(result.count);
  EXPECT_TRUE(all_ranks(std::is_partitioned(begin, end, is_own)));
  EXPECT_TRUE(all_ranks(std::is_sorted(std::partition_point(begin, end, is_own), end)));
}

TEST(OrderPartition, CommunicatesNothingThatGrowsWithTheObjects) {
  const auto cost = [](const char* method, std::uint64_t each) {
    Objects objects(std::vector<std::uint64_t>(static_cast<std::size_t>(size()), each));
    Rebalancer rebalancer(MPI_COMM_WORLD, options_of(method, 1));
    static_cast<void>(rebalancer.partition(objects.count));
    communication = {};
    static_cast<void>(rebalancer.partition(objects.count));
    return communication;
  };
  for (const char* const method : {"CYCLIC", "BLOCK_CYCLIC", "BLOCK"}) {
    const Communication few = cost(method, 10), many = cost(method, 10'000);
    EXPECT_TRUE(all_ranks(few.calls == many.calls && few.bytes == many.bytes)) << method;
    EXPECT_TRUE(all_ranks(few.all_calls() == few.collective_calls())) << method;
  }
}

TEST(OrderPartition, RefusesWhatIsNoBlockSize) {
  const auto expect = [](const RebalancerOptions& options, const std::string& text) {
    expect_error(outcome_of([&] { const Rebalancer rebalancer(MPI_COMM_WORLD, options); }),
                 valet::ErrorCode::invalid_argument, {text});
  };
  expect(options_of("BLOCK_CYCLIC", 0), "blocks of 0 objects");
  expect(options_of("RCB", 4), "a block_size of 4 with method 'RCB'");
  RebalancerOptions parts = options_of("BLOCK_CYCLIC");
  parts.parameters = {{"NUM_GLOBAL_PARTS", "4"}};
  expect(parts, "blocks of objects go to ranks, not to parts");
  if (size() == 1) return;
  expect(options_of("CYCLIC", rank() == 0 ? 1 : 2), "RebalancerOptions::block_size");
}

}  // namespace
