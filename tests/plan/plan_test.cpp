// SPDX-License-Identifier: BSD-3-Clause

// What a plan says about itself, and what may happen between making it and carrying it out.

#include "filled_map.hpp"
#include "guarded_bytes.hpp"

namespace valet::test {
namespace {

Options options_of(const Kind& kind, std::size_t budget_bytes = 4096) {
  return {.budget_bytes = budget_bytes, .order = kind.order};
}

GlobalMap a_map(std::uint64_t number, int ranks = size(), std::uint64_t slot_limit = 40) {
  std::mt19937_64 random(seed() + number);
  return random_map(random, ranks, slot_limit, Tightness::one_free, false);
}

std::uint64_t blocks_on(const GlobalContent& content, int owner) {
  std::uint64_t count = 0;
  for (const auto& slot : content[static_cast<std::size_t>(owner)])
    if (slot) ++count;
  return count;
}

TEST(Plan, KnowsBlocksBeforeAndAfterAndNeighbours) {
  for (std::uint64_t number = 0; number < 50; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    const GlobalMap map = a_map(number);
    FilledMap filled(map, rank(), Shape::dense);
    std::vector<bool> peers(static_cast<std::size_t>(size()), false);
    std::uint64_t before = 0;
    for (std::size_t from = 0; from < map.slots.size(); ++from)
      for (const auto& to : map.destination[from]) {
        if (!to) continue;
        const auto target = static_cast<std::size_t>(to->rank);
        if (static_cast<int>(from) == rank()) ++before;
        if (static_cast<int>(from) == rank() && from != target) peers[target] = true;
        if (to->rank == rank() && from != target) peers[from] = true;
      }
    const Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
    EXPECT_EQ(plan.blocks_before(), before);
    EXPECT_EQ(plan.blocks_after(), blocks_on(content_by_slots(map), rank()));
    EXPECT_EQ(plan.required_slots(), plan.blocks_after());
    EXPECT_EQ(plan.neighbours(),
              static_cast<std::uint64_t>(std::count(peers.begin(), peers.end(), true)));
  }
}

TEST(Plan, MapToSlotsNeedsTheSlotsItWasPlannedFor) {
  const GlobalMap map = a_map(3);
  FilledMap filled(map, rank(), Shape::dense);
  const Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, {});
  EXPECT_EQ(plan.required_slots(), filled.slots());
}

TEST(Plan, StorageMayGrowBetweenPlanAndExecute) {
  for (const Shape shape : all_shapes) {
    for (const Order order : all_orders) {
      // Everything goes to the last rank, whose storage is too small for it.
      constexpr std::uint64_t per_rank = 30;
      const int target = size() - 1;
      GlobalMap map = empty_map(size(), per_rank);
      for (auto& row : map.destination)
        for (std::uint64_t slot = 0; slot < per_rank; slot += 1 + slot % 2)
          row[slot] = Address{target, 0};
      FilledMap planned(map, rank(), shape);
      const Options options{.budget_bytes = 100, .order = order};
      Plan plan = planned.plan(MPI_COMM_WORLD, Form::to_ranks, options);
      const std::uint64_t required = plan.required_slots();
      GlobalMap enlarged = map;
      enlarged.slots.back() = std::max(per_rank, per_rank * static_cast<std::uint64_t>(size()));
      enlarged.destination.back().resize(enlarged.slots.back());
      FilledMap grown(map, rank(), shape, 40, std::max(per_rank, required));
      const Outcome outcome = outcome_of([&] { execute(plan, grown.storage()); });
      const bool good = all_ranks(
          outcome.text.empty() &&
          grown.wrong(content_by_ranks(enlarged, order, grown.storage().block_bytes())) == 0);
      EXPECT_TRUE(good) << outcome.text;
      const auto total =
          static_cast<std::uint64_t>(sum_over_ranks(static_cast<long long>(plan.blocks_before())));
      EXPECT_EQ(required, rank() == target ? total : 0);
    }
  }
}

TEST(Plan, IsCarriedOutAgainAndAgain) {
  for (const Kind& kind : all_kinds) {
    const GlobalMap map = a_map(5);
    FilledMap filled(map, rank(), Shape::structure);
    Plan plan = filled.plan(MPI_COMM_WORLD, kind.form, options_of(kind));
    const std::uint64_t extra_bytes_at_first = [&] {
      execute(plan, filled.storage());
      return plan.extra_bytes();
    }();
    for (int repetition = 0; repetition < 3; ++repetition) {
      filled.fill();
      execute(plan, filled.storage());
      EXPECT_EQ(sum_over_ranks(filled.wrong(kind.form, kind.order)), 0);
      EXPECT_EQ(plan.extra_bytes(), extra_bytes_at_first);
    }
  }
}

TEST(Plan, WorksInAWorkspaceOfExactlyTheBytesItAsksFor) {
  for (const Method method : {Method::stream, Method::direct})
    for (const Kind& kind : all_kinds)
      for (std::uint64_t number = 10; number < 20; ++number) {
        SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
        const GlobalMap map = a_map(number);
        FilledMap filled(map, rank(), all_shapes[number % std::size(all_shapes)]);
        Options options = options_of(kind, method == Method::direct ? 100'000 : 400);
        options.method = method;
        options.verify = number % 2 == 0;
        Plan plan = filled.plan(MPI_COMM_WORLD, kind.form, options);
        GuardedBytes workspace(plan.workspace_bytes());
        execute(plan, filled.storage(), workspace.bytes());
        EXPECT_EQ(sum_over_ranks(filled.wrong(kind.form, kind.order)), 0);
        EXPECT_TRUE(workspace.is_intact());
        // Then without it, and with another one.
        filled.fill();
        execute(plan, filled.storage());
        EXPECT_EQ(sum_over_ranks(filled.wrong(kind.form, kind.order)), 0);
        GuardedBytes other(plan.workspace_bytes());
        filled.fill();
        execute(plan, filled.storage(), other.bytes());
        EXPECT_EQ(sum_over_ranks(filled.wrong(kind.form, kind.order)), 0);
        EXPECT_TRUE(other.is_intact());
      }
}

TEST(Plan, WorkspaceOfTheCallerIsNotCountedAsExtra) {
  const GlobalMap map = a_map(20);
  FilledMap filled(map, rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  GuardedBytes workspace(plan.workspace_bytes());
  const std::uint64_t before = plan.extra_bytes();
  execute(plan, filled.storage(), workspace.bytes());
  EXPECT_EQ(plan.extra_bytes(), before);
}

TEST(Plan, CanBeMoved) {
  const GlobalMap map = a_map(6);
  FilledMap filled(map, rank(), Shape::dense);
  Plan first = filled.plan(MPI_COMM_WORLD, Form::to_slots, {});
  execute(first, filled.storage());
  Plan second = std::move(first);
  filled.fill();
  execute(second, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, Order::any)), 0);
  Plan third = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  third = std::move(second);
  filled.fill();
  execute(third, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, Order::any)), 0);
}

/// As all ranks would that made the mistake.
TEST(Plan, ThatWasMovedFromThrowsAndCanBeAssignedTo) {
  const GlobalMap map = ring_map(size(), 10, 7, 1);
  FilledMap filled(map, rank(), Shape::dense);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  Plan other = std::move(plan);
  const std::vector<std::function<void()>> uses{[&] { static_cast<void>(plan.blocks_before()); },
                                                [&] { static_cast<void>(plan.blocks_after()); },
                                                [&] { static_cast<void>(plan.required_slots()); },
                                                [&] { static_cast<void>(plan.neighbours()); },
                                                [&] { static_cast<void>(plan.extra_bytes()); },
                                                [&] { static_cast<void>(plan.workspace_bytes()); },
                                                [&] { execute(plan, filled.storage()); }};
  for (const auto& use : uses) {
    const Outcome outcome = outcome_of(use);
    EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
    expect_words(outcome.text, {"was moved from was used; use the one that it was moved to"});
  }
  plan = std::move(other);
  execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
}

TEST(Plan, OutlivesStorageMapAndCommunicator) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const GlobalMap map = a_map(7);
  auto planned_for = std::make_unique<FilledMap>(map, rank(), Shape::structure);
  Plan plan = planned_for->plan(comm, Form::to_ranks, {});
  MPI_Comm_free(&comm);
  planned_for.reset();
  FilledMap filled(map, rank(), Shape::structure);
  execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
}

TEST(Plan, TwoOnOneCommunicatorTakeTurns) {
  FilledMap a(a_map(8), rank(), Shape::dense);
  FilledMap b(a_map(9), rank(), Shape::strided);
  Plan plan_a = a.plan(MPI_COMM_WORLD, Form::to_ranks, {});
  Plan plan_b = b.plan(MPI_COMM_WORLD, Form::to_slots, {});
  for (int turn = 0; turn < 3; ++turn) {
    a.fill();
    b.fill();
    execute(plan_a, a.storage());
    execute(plan_b, b.storage());
    EXPECT_EQ(sum_over_ranks(a.wrong(Form::to_ranks, Order::any)), 0);
    EXPECT_EQ(sum_over_ranks(b.wrong(Form::to_slots, Order::any)), 0);
  }
}

TEST(Plan, MayBeDestroyedInAnotherOrderOnEveryRank) {
  constexpr std::size_t plans = 6;
  for (std::uint64_t round = 0; round < 4; ++round) {
    std::vector<std::unique_ptr<FilledMap>> filled;
    std::vector<std::unique_ptr<Plan>> made;
    for (std::size_t k = 0; k < plans; ++k) {
      filled.push_back(std::make_unique<FilledMap>(a_map(30 + k), rank(), Shape::dense));
      made.push_back(std::make_unique<Plan>(filled[k]->plan(MPI_COMM_WORLD, Form::to_ranks, {})));
    }
    std::vector<std::size_t> order(plans);
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed() + 100 * round + static_cast<std::uint64_t>(rank()));
    std::shuffle(order.begin(), order.end(), random);
    // Half of them go, so that every rank has other plans left when new ones are made.
    for (std::size_t k = 0; k < plans / 2; ++k) made[order[k]].reset();
    FilledMap next(a_map(40), rank(), Shape::dense);
    Plan first = next.plan(MPI_COMM_WORLD, Form::to_ranks, {});
    Plan second = next.plan(MPI_COMM_WORLD, Form::to_ranks, {});
    for (Plan* plan : {&second, &first}) {
      next.fill();
      execute(*plan, next.storage());
      EXPECT_EQ(sum_over_ranks(next.wrong(Form::to_ranks, Order::any)), 0);
    }
  }
}

TEST(Plan, MoreThanThePoolOfCommunicatorsHolds) {
  // 64 channels are pooled; further plans get one of their own, and all of them work.
  const GlobalMap map = a_map(50, size(), 4);
  FilledMap filled(map, rank(), Shape::dense);
  for (int round = 0; round < 2; ++round) {
    std::vector<Plan> plans;
    for (int k = 0; k < 70; ++k) plans.push_back(filled.plan(MPI_COMM_WORLD, Form::to_ranks, {}));
    for (const std::size_t k : {0, 63, 64, 69}) {
      filled.fill();
      execute(plans[k], filled.storage());
      EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
    }
  }
}

TEST(Plan, OnSubCommunicatorsOfEveryShape) {
  // Two groups at a time, ranks in reversed order, then everybody alone.
  for (const int groups : {2, size()}) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % groups, -rank(), &comm);
    int self = 0;
    int ranks = 0;
    MPI_Comm_rank(comm, &self);
    MPI_Comm_size(comm, &ranks);
    long long wrong = 0;
    for (const Kind& kind : all_kinds) {
      FilledMap filled(a_map(60 + static_cast<std::uint64_t>(ranks), ranks), self, Shape::dense);
      Plan plan = filled.plan(comm, kind.form, options_of(kind, 200));
      execute(plan, filled.storage());
      wrong += filled.wrong(kind.form, kind.order);
    }
    MPI_Comm_free(&comm);
    EXPECT_EQ(sum_over_ranks(wrong), 0);
  }
}

TEST(Plan, NoRankHasSlots) {
  const GlobalMap map = empty_map(size(), 0);
  for (const Kind& kind : all_kinds) {
    FilledMap filled(map, rank(), Shape::structure);
    Plan plan = filled.plan(MPI_COMM_WORLD, kind.form, options_of(kind));
    const Report report = execute(plan, filled.storage());
    EXPECT_EQ(report.blocks_after, 0U);
    EXPECT_EQ(report.messages, 0U);
    EXPECT_EQ(plan.required_slots(), 0U);
  }
}

TEST(Plan, SomeRanksHaveNoSlotsAndNoMemory) {
  // Ranks but 0 hold nothing, before and after, and say so with null pointers.
  const std::uint64_t slots = rank() == 0 ? 10 : 0;
  std::vector<double> values(slots, 1.5);
  const BlockStorage storage{field(rank() == 0 ? values.data() : nullptr, slots)};
  const std::vector<int> ranks(slots, 0);
  const Outcome outcome =
      outcome_of([&] { migrate(MPI_COMM_WORLD, storage, Occupied(slots), ranks); });
  EXPECT_EQ(outcome.text, "");
  EXPECT_EQ(values, std::vector<double>(slots, 1.5));
}

}  // namespace
}  // namespace valet::test
