// SPDX-License-Identifier: BSD-3-Clause

// The ledger against the process: what a replaced operator new sees while a plan is made and
// carried out is what the ledger says, and both keep the promise.

#include "counted_new.hpp"
#include "filled_map.hpp"
#include "process_memory.hpp"

namespace valet::test {
namespace {

/// What the ledger does not count: the objects behind a plan (its state, the method and its parts,
/// a channel, a shared pointer to scratch), up to 128 bytes by which scratch is shifted, and the
/// strings of a report. None of it depends on the problem. Measured below 3 KiB.
constexpr std::ptrdiff_t uncounted_bytes = 8 << 10;

struct Measured {
  std::ptrdiff_t process_peak = 0;  ///< above what was live before planning
  Report report;
  std::size_t wrong = 0;
};

Measured measure(FilledMap& filled, Form form, Options options) {
  const BlockStorage storage = filled.storage();
  options.keep_memory = false;  // all goes with the plan
  restart_peak();
  const std::ptrdiff_t before = new_counters().live_bytes;
  Measured measured;
  {
    Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
    measured.report = execute(plan, storage);
  }
  const NewCounters after = new_counters();
  measured.process_peak = after.peak_bytes - before;
  EXPECT_LE(after.live_bytes - before, 64) << "leaked";  // the report's own string
  measured.wrong = static_cast<std::size_t>(filled.wrong(form, options.order));
  return measured;
}

void expect_ledger_is_right(FilledMap& filled, Form form, const Options& options) {
  const Measured measured = measure(filled, form, options);
  const auto ledger_peak = static_cast<std::ptrdiff_t>(measured.report.peak_extra_bytes);
  // What is shared inside the node does not come from operator new, see the last test. It is there
  // in a part of the time only, so the peaks with it and without it bound what operator new saw.
  const auto shared = static_cast<std::ptrdiff_t>(measured.report.shared_bytes);
  const long long most_uncounted = max_over_ranks(measured.process_peak - ledger_peak);
  const long long most_overcounted = max_over_ranks(ledger_peak - shared - measured.process_peak);
  const long long over_bound =
      max_over_ranks(ledger_peak - static_cast<std::ptrdiff_t>(measured.report.extra_bytes_bound));
  const long long wrong = sum_over_ranks(static_cast<long long>(measured.wrong));
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(most_uncounted, uncounted_bytes);
  EXPECT_LE(most_overcounted, 0) << "counted, but not allocated";
  EXPECT_LE(over_bound, 0) << "more than was promised";
}

Options options_of(Order order, std::size_t budget_bytes, Method method = Method::stream) {
  return {.budget_bytes = budget_bytes, .method = method, .order = order};
}

class LedgerAgainstProcess : public testing::Test {
 protected:
  // The channel of the communicator is made once and belongs to the communicator.
  void SetUp() override {
    const GlobalMap map = ring_map(size(), 1, 1, 0);
    FilledMap filled(map, rank(), Shape::dense);
    static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, {}));
  }
};

TEST_F(LedgerAgainstProcess, ForRandomMapsOfAllShapes) {
  const std::uint64_t maps = cases_wanted(200);
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed() + k, 0));
    std::mt19937_64 random(seed() + k);
    const GlobalMap map =
        random_map(random, size(), pick(random, 1, 400), static_cast<Tightness>(k % 3), false);
    const Form form = pick(random, 0, 1) == 0 ? Form::to_ranks : Form::to_slots;
    Options options = options_of(all_orders[pick(random, 0, 2)],
                                 std::array<std::size_t, 4>{48, 500, 20'000, 4 << 20}[k % 4]);
    options.verify = pick(random, 0, 3) == 0;
    options.share_memory = pick(random, 0, 1) == 0;
    options.stream.window = static_cast<int>(pick(random, 1, 64));
    FilledMap filled(map, rank(), all_shapes[pick(random, 0, last_shape)]);
    if (k % 5 == 0) options.trace = "/dev/null";
    expect_ledger_is_right(filled, form, options);
  }
}

TEST_F(LedgerAgainstProcess, ForManySlots) {
  constexpr std::uint64_t slots = 100'000;
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), slots, Tightness::full, false);
  for (const Form form : {Form::to_ranks, Form::to_slots})
    for (const Order order : all_orders) {
      FilledMap filled(map, rank(), Shape::dense, 8);
      expect_ledger_is_right(filled, form, options_of(order, 64 << 10));
    }
}

TEST_F(LedgerAgainstProcess, ForDirectWithinItsBudget) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 2000, Tightness::loose, false);
  FilledMap filled(map, rank(), Shape::structure);
  expect_ledger_is_right(filled, Form::to_slots, options_of(Order::any, 1 << 20, Method::direct));
}

TEST_F(LedgerAgainstProcess, ForPhasesOfAllKinds) {
  const std::uint64_t maps = cases_wanted(24);
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    SCOPED_TRACE(seed_note(seed() + k, 0));
    std::mt19937_64 random(seed() + k);
    const GlobalMap map =
        random_map(random, size(), pick(random, 1, 60), static_cast<Tightness>(k % 3), false);
    const Form form = pick(random, 0, 1) == 0 ? Form::to_ranks : Form::to_slots;
    Options options = options_of(
        Order::any, std::array<std::size_t, 4>{48, 500, 20'000, 4 << 20}[k % 4], Method::phased);
    options.phased.heuristic = all_heuristics()[pick(random, 0, 5)];
    options.phased.parking = static_cast<int>(pick(random, 0, 2));
    if (k % 4 > 1 && pick(random, 0, 1) == 0) options.phased.scheduler = Scheduler::centralized;
    FilledMap filled(map, rank(), all_shapes[pick(random, 0, last_shape)]);
    expect_ledger_is_right(filled, form, options);
  }
}

TEST_F(LedgerAgainstProcess, ForPhasesWithManySlotsAndBlocksThatWait) {
  constexpr std::uint64_t slots = 20'000;
  std::mt19937_64 random(seed());
  for (const Tightness tightness : {Tightness::full, Tightness::loose}) {
    const GlobalMap map = random_map(random, size(), slots, tightness, false);
    for (const Heuristic heuristic : {Heuristic::random, Heuristic::continuous}) {
      Options options = options_of(Order::any, 4000, Method::phased);
      options.phased.heuristic = heuristic;
      options.phased.parking = 1;
      FilledMap filled(map, rank(), Shape::dense, 8);
      expect_ledger_is_right(filled, Form::to_slots, options);
    }
  }
}

TEST_F(LedgerAgainstProcess, NothingGrowsWhenAPlanIsCarriedOutAHundredTimes) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 200, Tightness::full, false);
  FilledMap filled(map, rank(), Shape::dense);
  const BlockStorage storage = filled.storage();
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options_of(Order::any, 2000));
  execute(plan, storage);
  const std::ptrdiff_t before = new_counters().live_bytes;
  for (int repetition = 0; repetition < 100; ++repetition) execute(plan, storage);
  EXPECT_EQ(max_over_ranks(new_counters().live_bytes - before), 0);
}

TEST_F(LedgerAgainstProcess, WhatIsMappedOfAllRanksFitsHalfTheBudget) {
  const GlobalMap map = ring_map(size(), 1000, 1000, 0);
  std::mt19937_64 random(seed());
  const GlobalMap dense = random_map(random, size(), 1000, Tightness::full, false);
  for (const GlobalMap* each : {&map, &dense})
    for (const std::size_t budget : {10'000, 100'000, 4 << 20}) {
      bool shares = false;  // where the system lets processes share memory
      for (const Method method : {Method::stream, Method::phased, Method::cyclic}) {
        FilledMap filled(*each, rank(), Shape::dense);
        {
          Options options = options_of(Order::any, budget);
          options.method = method;
          options.keep_memory = false;
          Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
          const Report report = execute(plan, filled.storage());
          const std::size_t mapped = mapped_shared_bytes();
          constexpr std::size_t page = 4096;
          const std::size_t rounding = page * static_cast<std::size_t>(size());
          EXPECT_TRUE(all_ranks(mapped <= budget / 2 + rounding)) << mapped << " of " << budget;
          EXPECT_TRUE(all_ranks(report.shared_bytes <= mapped)) << report.shared_bytes;
          EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << to_string(method);
          if (method == Method::stream) shares = report.shared_bytes > 0;
          const bool is_worth_it = method != Method::phased || budget >= 65536;
          EXPECT_EQ(report.shared_bytes > 0, shares && is_worth_it) << to_string(method);
        }
        EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0) << to_string(method);
        EXPECT_TRUE(all_ranks(mapped_shared_bytes() == 0)) << "all goes with the plan";
      }
    }
}

TEST_F(LedgerAgainstProcess, WhatIsKeptIsCountedByEveryPlanAndGoesWithTheCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const GlobalMap map = ring_map(size(), 1000, 1000, 0);
  std::uint64_t shared = 0;  // where the system lets processes share memory
  const auto mapped_after = [&](const Options& options) {
    FilledMap filled(map, rank(), Shape::dense);
    {
      Plan plan = filled.plan(comm, Form::to_ranks, options);
      const Report report = execute(plan, filled.storage());
      EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
      shared = report.shared_bytes;
      EXPECT_LE(shared, mapped_shared_bytes());
      EXPECT_LE(mapped_shared_bytes(),
                options.budget_bytes / 2 + std::size_t{4096} * static_cast<std::size_t>(size()));
    }
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
    return mapped_shared_bytes();
  };
  const Options keeps = options_of(Order::any, 1 << 20);
  const std::size_t kept = mapped_after(keeps);
  const std::uint64_t first = shared;
  EXPECT_EQ(kept > 0, first > 0);
  EXPECT_EQ(mapped_after(keeps), kept) << "used again";
  EXPECT_EQ(shared, first);
  Options direct = keeps;
  direct.method = Method::direct;
  EXPECT_EQ(mapped_after(direct), kept) << "a plan that shares nothing leaves it";
  direct.budget_bytes = 120'000;
  EXPECT_EQ(mapped_after(direct), 0U) << "but where its budget has no room for both";
  EXPECT_EQ(mapped_after(keeps), kept);
  EXPECT_LT(mapped_after(options_of(Order::any, 60'000)), std::max<std::size_t>(kept, 1))
      << "a plan with less of a budget does not keep what was larger";
  Options gives_back = keeps;
  gives_back.keep_memory = false;
  EXPECT_EQ(mapped_after(gives_back), 0U);
  EXPECT_EQ(mapped_after(keeps), kept);
  MPI_Comm_free(&comm);
  EXPECT_EQ(mapped_shared_bytes(), 0U);
}

/// However many plans a communicator had at a time, and in whatever order each rank destroys them.
TEST_F(LedgerAgainstProcess, WhatManyPlansSharedGoesWithThemButForOne) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const GlobalMap map = ring_map(size(), 1000, 1000, 0);
  const Options options = options_of(Order::any, 1 << 20);
  for (int round = 0; round < 3; ++round) {
    FilledMap filled(map, rank(), Shape::dense);
    std::vector<Plan> plans;
    std::uint64_t shared = 0, one = 0;
    for (int p = 0; p < 6; ++p) {
      plans.push_back(filled.plan(comm, Form::to_ranks, options));
      if (p == 0) one = mapped_shared_bytes();
    }
    for (Plan& plan : plans) shared += execute(plan, filled.storage()).shared_bytes;
    EXPECT_LE(shared, mapped_shared_bytes());
    EXPECT_EQ(mapped_shared_bytes(), 6 * one);
    std::mt19937 random(static_cast<unsigned>(rank()));
    std::ranges::shuffle(plans, random);
    while (!plans.empty()) plans.pop_back();
    EXPECT_EQ(mapped_shared_bytes(), one);
  }
  MPI_Comm_free(&comm);
  EXPECT_EQ(mapped_shared_bytes(), 0U);
}

TEST_F(LedgerAgainstProcess, ScratchIsKeptForTheNextPlanAndGoesWithTheCommunicator) {
  const OwnComm comm;
  const GlobalMap map = ring_map(size(), 1000, 1000, 0);
  std::uint64_t peak = 0;
  /// What a plan adds to what operator new has given.
  const auto added_by = [&](std::size_t budget, bool keeps, std::size_t block_bytes = 40) {
    FilledMap filled(map, rank(), Shape::dense, block_bytes);
    Options options = options_of(Order::any, budget);
    options.method = budget > (1 << 19) ? Method::direct : Method::stream;
    options.share_memory = false;
    options.keep_memory = keeps;
    const std::ptrdiff_t before = new_counters().live_bytes;
    {
      Plan plan = filled.plan(comm, Form::to_ranks, options);
      const Report report = execute(plan, filled.storage());
      expect_within_bound(report);
      peak = report.peak_extra_bytes;
    }
    const std::ptrdiff_t added = new_counters().live_bytes - before;
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
    return added;
  };
  constexpr std::size_t enough = std::size_t{1} << 20, little = 20'000;
  added_by(enough, false);  // the communicator gets what every plan needs
  EXPECT_EQ(added_by(enough, false), 0);
  const std::ptrdiff_t kept = added_by(enough, true);
  const std::uint64_t first_peak = peak;
  EXPECT_GT(kept, 0);
  EXPECT_EQ(added_by(enough, true), 0) << "used again";
  EXPECT_GE(peak, first_peak) << "and counted, also while the map is planned";
  EXPECT_LE(peak, first_peak + static_cast<std::uint64_t>(kept));
  if (size() > 1) {
    EXPECT_LT(added_by(little, true), 0) << "a budget that does not hold it gives it back";
    added_by(enough, false);
    EXPECT_EQ(added_by(std::size_t{64} << 20, true, 10'000), 0) << "10 MB are not kept";
    EXPECT_GT(added_by(std::size_t{64} << 20, true, 2000), 1'900'000) << "2 MB are";
  }
  added_by(enough, false);
  const std::ptrdiff_t again = added_by(enough, true);
  EXPECT_EQ(again, kept) << "a plan that is not to keep anything had given all back";
  added_by(enough, false);
}

}  // namespace
}  // namespace valet::test
