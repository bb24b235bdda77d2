// SPDX-License-Identifier: BSD-3-Clause

// A plan is carried out as often as wanted without allocating again.

#include "counted_new.hpp"
#include "filled_map.hpp"

namespace valet::test {
namespace {

/// Allocations on all ranks in the third execution of a plan.
/// @param bound  To its storage, as far as the storage allows.
long long allocations_in_third_execution(Form form, const Options& options, Shape shape,
                                         bool bound = false) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 200, Tightness::full, false);
  FilledMap filled(map, rank(), shape);
  const BlockStorage storage = filled.storage();
  Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
  if (bound) plan.bind(storage);
  const auto move = [&] { bound ? execute(plan) : execute(plan, storage); };
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    filled.fill();
    move();
  }
  filled.fill();
  const long long before = new_counters().allocations;
  move();
  const long long made = new_counters().allocations - before;
  EXPECT_EQ(sum_over_ranks(filled.wrong(form, options.order)), 0);
  return sum_over_ranks(made);
}

TEST(PlanAllocations, AreCounted) {
  const long long before = new_counters().allocations;
  const BlockStorage storage{field(static_cast<double*>(nullptr), 0)};  // made in the library
  EXPECT_GT(new_counters().allocations, before);
}

TEST(PlanAllocations, ExecutingAgainMakesNone) {
  for (const Shape shape : all_shapes)
    for (const std::size_t budget : {100, 1000, 4 << 20}) {
      SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)) + ", budget " +
                   std::to_string(budget));
      Options options{.budget_bytes = budget};
      EXPECT_EQ(allocations_in_third_execution(Form::to_ranks, options, shape), 0) << "fill";
      EXPECT_EQ(allocations_in_third_execution(Form::to_slots, options, shape), 0) << "slots";
      EXPECT_EQ(allocations_in_third_execution(Form::to_ranks, options, shape, true), 0) << "bound";
      options.order = Order::stable;
      EXPECT_EQ(allocations_in_third_execution(Form::to_ranks, options, shape), 0) << "stable";
    }
}

TEST(PlanAllocations, ExecutingAgainWithABudgetOfOneBlockMakesNone) {
  for (const Shape shape : all_shapes) {
    SCOPED_TRACE("shape " + std::to_string(static_cast<int>(shape)));
    const Options options{.budget_bytes = 48};
    EXPECT_EQ(allocations_in_third_execution(Form::to_ranks, options, shape), 0);
  }
}

TEST(PlanAllocations, ExecutingAgainWithVerificationMakesNone) {
  const Options options{.verify = true};
  EXPECT_EQ(allocations_in_third_execution(Form::to_ranks, options, Shape::structure), 0);
}

TEST(PlanAllocations, ExecutingDirectAgainMakesNone) {
  const Options options{.method = Method::direct};
  EXPECT_EQ(allocations_in_third_execution(Form::to_slots, options, Shape::structure), 0);
}

}  // namespace
}  // namespace valet::test
