// SPDX-License-Identifier: BSD-3-Clause

// Executions in parts: blocks travel while the application computes, on a plan that is bound to its
// storage or not. All ends as with execute().

#include "filled_map.hpp"
#include "random_case.hpp"
#include "random_options.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace valet::test {
namespace {

/// Writes the blocks that stay on this rank: into the slots that they had.
void write_staying(FilledMap& filled, int origin) {
  for (std::uint64_t slot = 0; slot < filled.destination().size(); ++slot)
    if (const auto& to = filled.destination()[slot]; to && to->rank == rank())
      filled.blocks().write(slot, {origin, slot});
}

/// DIRECT has all blocks in scratch.
std::size_t budget_of(Method method, bool is_small) {
  return method == Method::direct ? 32 << 20 : is_small ? 20'000 : 1 << 20;
}

struct PartsCase : MapCase {
  bool node = false, bound = false;
  std::uint64_t looks = 0;  ///< of a rank, at most

  explicit PartsCase(std::mt19937_64& random) : MapCase(random_map_case(random)) {
    masked = true;
    options.method = all_methods[pick(random, 0, all_methods.size() - 1)];
    options.budget_bytes = budget_of(options.method, pick(random, 0, 1) == 0);
    node = pick(random, 0, 2) == 0;
    bound = pick(random, 0, 1) == 0;
    if (pick(random, 0, 1) == 0) options.share_memory = false;
    looks = pick(random, 0, 1) * 50;
    if (bound) options.verify = false;
  }
};

/// Slots of all ranks that are wrong after three executions.
long long wrong_in_parts(const PartsCase& c, std::mt19937_64& own) {
  FilledMap filled(c.map, rank(), c.shape, c.dense_bytes, 0, c.node);
  Plan plan = filled.plan(MPI_COMM_WORLD, c.form, c.options);
  const GlobalContent content = filled.content(c.form, c.options.order);
  const BlockStorage storage = filled.storage();
  if (c.bound) plan.bind(storage);
  long long wrong = 0;
  for (int k = 0; k < 3; ++k) {
    filled.fill();
    if (!c.options.verify) write_staying(filled, -1);
    Execution execution = c.bound ? start(plan) : start(plan, storage);
    const auto look = [&] {
      for (std::uint64_t looks = pick(own, 0, c.looks); looks > 0; --looks) execution.progress();
    };
    look();
    write_staying(filled, rank());
    look();
    const Report report = execution.wait();
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << test::describe(c.options);
    wrong += filled.wrong(content);
  }
  return sum_over_ranks(wrong);
}

TEST(Execution, InPartsEndsAsInOne) {
  const std::uint64_t cases = cases_wanted(150);
  std::mt19937_64 own(seed() + static_cast<std::uint64_t>(rank()));
  for (std::uint64_t k = 0; k < cases; ++k) {
    std::mt19937_64 random(seed() + k);
    const PartsCase c(random);
    SCOPED_TRACE(seed_note(seed() + k) + ", " + describe(c.options));
    long long wrong = -1;
    const Outcome outcome = outcome_of([&] { wrong = wrong_in_parts(c, own); });
    ASSERT_EQ(outcome.text, "");
    ASSERT_EQ(wrong, 0) << "form " << static_cast<int>(c.form) << (c.bound ? ", bound" : "")
                        << (c.node ? ", node storage" : "");
  }
}

/// All blocks to the next rank, in slots that are as full as can be.
std::unique_ptr<FilledMap> parts_ring(bool node = false) {
  return std::make_unique<FilledMap>(ring_map(size(), 100, 100, 1), rank(), Shape::dense, 1000, 0,
                                     node);
}

TEST(Execution, ComesToItsEndByProgressAlone) {
  for (const bool node : {false, true})
    for (const Method method : all_methods)
      for (const Order order : all_orders) {
        SCOPED_TRACE(std::string(to_string(method)) + ", " + to_string(order));
        const auto filled = parts_ring(node);
        Plan plan = filled->plan(
            MPI_COMM_WORLD, Form::to_ranks,
            {.budget_bytes = budget_of(method, true), .method = method, .order = order});
        for (int k = 0; k < 2; ++k) {
          filled->fill();
          Execution execution = start(plan, filled->storage());
          while (!execution.progress()) {
          }
          EXPECT_TRUE(execution.progress()) << "it stays done";
          execution.wait();
          EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, order)), 0);
        }
      }
}

TEST(Execution, IsEndedByItsDestructor) {
  const auto filled = parts_ring();
  Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  { const Execution execution = start(plan, filled->storage()); }
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
  filled->fill();
  Execution first = start(plan, filled->storage());
  Execution second = std::move(first);
  second.wait();
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
}

TEST(Execution, OfOnePlanGoesOnBesideThatOfAnother) {
  const auto one = parts_ring(), other = parts_ring();
  Plan first = one->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  Plan second = other->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  Execution execution = start(first, one->storage());
  execute(second, other->storage());
  execution.wait();
  for (FilledMap* const each : {one.get(), other.get()})
    EXPECT_EQ(sum_over_ranks(each->wrong(Form::to_ranks, Order::any)), 0);
}

/// One of several plans that live side by side. What was started is waited for at the next step.
class LivePlan {
 public:
  explicit LivePlan(std::mt19937_64& random)
      : case_(random),
        filled_(case_.map, rank(), case_.shape, case_.dense_bytes, 0, case_.node),
        content_(filled_.content(case_.form, case_.options.order)),
        plan_(filled_.plan(MPI_COMM_WORLD, case_.form, case_.options)) {}

  void step(std::mt19937_64& random) {
    if (running_) {
      running_->wait();
      running_.reset();
      EXPECT_EQ(filled_.wrong(content_), 0) << "started";
      return;
    }
    filled_.fill();
    const bool binds = case_.bound && pick(random, 0, 3) == 0;
    if (binds) plan_.bind(filled_.storage());
    is_bound_ = binds || (is_bound_ && pick(random, 0, 3) > 0);
    if (pick(random, 0, 3) == 0) plan_ = Plan(std::move(plan_));
    if (pick(random, 0, 1) == 0) {
      running_.emplace(is_bound_ ? start(plan_) : start(plan_, filled_.storage()));
      return;
    }
    is_bound_ ? execute(plan_) : execute(plan_, filled_.storage());
    EXPECT_EQ(filled_.wrong(content_), 0) << (is_bound_ ? "bound" : "not bound");
  }

 private:
  PartsCase case_;
  FilledMap filled_;
  GlobalContent content_;
  Plan plan_;
  bool is_bound_ = false;
  std::optional<Execution> running_;  ///< the last to be made, so that it ends before the plan does
};

// Their communicators, scratch and receives pass from one to another.
TEST(Execution, OfPlansThatComeAndGoAreNotMixedUp) {
  std::mt19937_64 own(seed() + static_cast<std::uint64_t>(rank()));
  for (std::uint64_t k = 0; k < cases_wanted(20); ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    std::array<std::optional<LivePlan>, 3> plans;
    for (int step = 0; step < 30; ++step) {
      std::optional<LivePlan>& plan = plans[pick(random, 0, plans.size() - 1)];
      if (pick(own, 0, 9) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (!plan || pick(random, 0, 7) == 0)
        plan.emplace(random);
      else
        plan->step(random);
      ASSERT_TRUE(all_ranks(!::testing::Test::HasFailure()));
    }
  }
}

TEST(Execution, OfAPlanIsOneAtATime) {
  const auto filled = parts_ring();
  Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  std::vector<std::byte> workspace(plan.workspace_bytes());
  Execution execution = start(plan, filled->storage());
  for (const Outcome& outcome :
       {outcome_of([&] { execute(plan, filled->storage()); }), outcome_of([&] { execute(plan); }),
        outcome_of([&] { execute(plan, filled->storage(), workspace); }),
        outcome_of([&] { plan.bind(filled->storage()); })}) {
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
    expect_words(outcome.text, {"is under way", "wait for it first"});
  }
  execution.wait();
  const Outcome outcome = outcome_of([&] { execution.wait(); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  expect_words(outcome.text, {"waited for already"});
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
}

TEST(Execution, TellsWhatIsWrongBeforeItBeginsAndCanBeTriedAgain) {
  const auto filled = parts_ring();
  Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  std::vector<std::array<double, 4>> few(200);
  const BlockStorage wrong{field(few.data()->data(), few.size(), 4)};
  const Outcome refused =
      outcome_of([&] { static_cast<void>(start(plan, is_odd() ? wrong : filled->storage())); });
  expect_error(refused, ErrorCode::block_size_mismatch, {odd_name(), "blocks of 32 bytes"});
  start(plan, filled->storage()).wait();
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
}

TEST(Bound, PlanIsOneForTheStorageUntilAnotherIsGiven) {
  const auto filled = parts_ring(), other = parts_ring();
  Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, {});
  const auto expect_unbound = [&] {
    const Outcome outcome = outcome_of([&] { execute(plan); });
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
    expect_words(outcome.text, {"is not bound", "bind it, after"});
  };
  expect_unbound();
  plan.bind(filled->storage());
  execute(plan);
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
  execute(plan, other->storage());
  EXPECT_EQ(sum_over_ranks(other->wrong(Form::to_ranks, Order::any)), 0);
  expect_unbound();
}

TEST(Bound, PlanIsRefusedOnAllRanksWhereItWouldHaveToAgreeEachTime) {
  const auto filled = parts_ring();
  for (const bool traces : {false, true}) {
    Options options;
    options.verify = !traces;
    if (traces) options.trace = "bound_trace.json";
    Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, options);
    const Outcome outcome = outcome_of([&] { plan.bind(filled->storage()); });
    expect_error(outcome, ErrorCode::invalid_argument,
                 {"verify, trace, transfers or callbacks", "plan without them"});
  }
  Options options;
  if (is_odd()) options.progress = [](const Progress&) {};
  Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const Outcome outcome = outcome_of([&] { plan.bind(filled->storage()); });
  expect_error(outcome, ErrorCode::invalid_argument, {odd_name(), "callbacks"});
  execute(plan, filled->storage());
  EXPECT_EQ(sum_over_ranks(filled->wrong(Form::to_ranks, Order::any)), 0);
}

/// Ranks run ahead of each other as far as the blocks allow.
TEST(Bound, ExecutionsOfRanksThatAreAheadAreNotMixedUp) {
  for (const bool node : {false, true})
    for (const Order order : all_orders) {
      const auto filled = parts_ring(node);
      Plan plan =
          filled->plan(MPI_COMM_WORLD, Form::to_ranks, {.budget_bytes = 20'000, .order = order});
      plan.bind(filled->storage());
      std::mt19937_64 own(seed() + static_cast<std::uint64_t>(rank()));
      for (int k = 0; k < 50; ++k) {
        filled->fill();
        if (pick(own, 0, 4) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        execute(plan);
        ASSERT_EQ(filled->wrong(Form::to_ranks, order), 0);
      }
    }
}

/// Few blocks that leave this node, or nothing: all of them at once, without credits.
Options little(Order order) { return {.order = order, .share_memory = false}; }

/// Blocks to the next rank; all to all; to rank 0 from all; from rank 0 to all.
std::vector<GlobalMap> few_blocks() {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<std::vector<int>> all(ranks), to_one(ranks), from_one(ranks);
  for (std::size_t r = 0; r < ranks; ++r)
    for (int k = 0; k < size(); ++k) {
      all[r].push_back((static_cast<int>(r) + k) % size());
      to_one[r].push_back(0);
      if (r == 0) from_one[r].push_back(k);
    }
  return {ring_map(size(), 20, 18, 1), map_to(all), map_to(to_one), map_to(from_one)};
}

/// One block from each rank to the next odd one, and many blocks that change places inside: more
/// cycles than blocks that leave.
GlobalMap cycles_inside() {
  constexpr std::uint64_t pairs = 30;
  GlobalMap map = empty_map(size(), 2 * pairs + 2);
  for (int r = 0; r < size(); ++r) {
    auto& to = row_of(map.destination, r);
    for (std::uint64_t k = 0; k < 2 * pairs; ++k) to[k] = Address{r, k ^ 1U};
    const auto slot = 2 * pairs + static_cast<std::uint64_t>(r % 2);
    if (r % 2 == 0 && r + 1 < size()) to[2 * pairs] = Address{r + 1, slot + 1};
    if (r % 2 == 0 && r > 0) to[2 * pairs + 1] = Address{r - 1, slot};
  }
  return map;
}

// The next blocks arrive while those of this execution still change places.
TEST(Bound, NextBlocksOfLittleArriveBesideWhatIsMovedInside) {
  std::mt19937_64 own(seed() + static_cast<std::uint64_t>(rank()));
  const GlobalMap map = cycles_inside();
  FilledMap filled(map, rank(), Shape::dense, 4096);  // few of them find room to wait
  const GlobalContent content = filled.content(Form::to_slots, Order::any);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, little(Order::any));
  plan.bind(filled.storage());
  for (int k = 0; k < 60; ++k) {
    filled.fill();
    // Some rank is late in each of them.
    if (rank() == static_cast<int>(pick(own, 0, 2)))
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    Execution execution = start(plan);
    while (pick(own, 0, 3) > 0) execution.progress();
    EXPECT_EQ(execution.wait().credits, 0U);
    ASSERT_EQ(filled.wrong(content), 0);
  }
}

// What each rank may have at once depends on its own options: one that may not decides for all.
TEST(Bound, LittleIsAgreedUpon) {
  if (size() == 1) GTEST_SKIP() << "nothing to agree upon";
  for (const bool odd_budget : {false, true})
    for (const bool odd_message : {false, true}) {
      const auto ring = ring_map(size(), 20, 18, 1);
      FilledMap filled(ring, rank(), Shape::dense, 1000);
      Options options = little(Order::any);
      if (is_odd() && odd_budget) options.budget_bytes = 5000;
      if (is_odd() && odd_message) options.message_bytes = 3000;
      Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
      const bool gives_credits = (odd_budget || odd_message);
      for (int k = 0; k < 4; ++k) {
        // Bound again and again, refused in between where one storage is too small.
        if (k == 2) {
          std::vector<std::array<double, 125>> few(1);
          const BlockStorage small{field(few.data()->data(), few.size(), 125)};
          const Outcome refused =
              outcome_of([&] { plan.bind(is_odd() ? small : filled.storage()); });
          expect_error(refused, ErrorCode::infeasible, {odd_name(), "1 slots"});
        }
        plan.bind(filled.storage());
        plan.bind(filled.storage());
        filled.fill();
        const Report report = execute(plan);
        EXPECT_EQ(report.credits > 0, gives_credits);
        ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
        std::vector<std::byte> workspace(plan.workspace_bytes());
        filled.fill();
        execute(plan, filled.storage(), workspace);
        ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
      }
    }
}

TEST(Bound, ExecutionsOfLittleGiveNoCreditsAndAreNotMixedUp) {
  std::mt19937_64 own(seed() + static_cast<std::uint64_t>(rank()));
  for (const GlobalMap& map : few_blocks())
    for (const Order order : all_orders) {
      FilledMap filled(map, rank(), Shape::dense, 1000);
      Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, little(order));
      for (int bound = 0; bound < 2; ++bound) {
        plan.bind(filled.storage());
        for (int k = 0; k < 30; ++k) {
          filled.fill();
          if (pick(own, 0, 4) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
          const Report report = k % 3 == 0 ? start(plan).wait() : execute(plan);
          ASSERT_EQ(filled.wrong(Form::to_ranks, order), 0);
          EXPECT_EQ(report.credits, 0U);
          EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
        }
        // And back to executions that agree, with another storage.
        FilledMap other(map, rank(), Shape::dense, 1000);
        execute(plan, other.storage());
        ASSERT_EQ(other.wrong(Form::to_ranks, order), 0);
      }
    }
}

// What stands for the next execution is gone with the plan: its communicator is another plan's.
TEST(Bound, NothingIsLeftOfAPlanForTheNextOne) {
  for (int k = 0; k < 10; ++k)
    for (const GlobalMap& map : few_blocks()) {
      FilledMap filled(map, rank(), Shape::dense, 1000);
      std::optional<Plan> bound(filled.plan(MPI_COMM_WORLD, Form::to_ranks, little(Order::any)));
      bound->bind(filled.storage());
      for (int executed = 0; executed < k % 3; ++executed) {
        filled.fill();
        execute(*bound);
      }
      bound.reset();
      filled.fill();
      Options options = little(Order::any);
      if (k % 2 == 0) options.budget_bytes = 3000;  // credits
      Plan next = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
      execute(next, filled.storage());
      ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
    }
}

}  // namespace
}  // namespace valet::test
