// SPDX-License-Identifier: BSD-3-Clause

// A partition that gives some ranks more blocks, or more bytes, than they have room for: refused,
// or carried out in storages that the application enlarges. What goes wrong is one error on all
// ranks, and nothing has moved. All objects start on the first rank, and no other has any room.

#include "ragged_objects.hpp"

namespace valet::test {
namespace {

using namespace zoltan;

/// Sixty blocks of 100 bytes.
RaggedCase crowded_case() {
  RaggedCase c;
  c.alignment = 8;
  c.before.resize(static_cast<std::size_t>(size()));
  for (std::uint64_t k = 0; k < 60; ++k) c.before[0].push_back({100, 0, k, 0});
  return c;
}

struct Crowded : RaggedObjects {
  Crowded() : Crowded(crowded_case()) {}
  explicit Crowded(const RaggedCase& c)
      : RaggedObjects(mine(c), c.alignment, room_for(mine(c), c.alignment)) {}

  Outcome outcome_with(const RebalancerOptions& options) {
    return outcome_of([&] {
      Rebalancer rebalancer(MPI_COMM_WORLD, options);
      tell(rebalancer);
      rebalancer.rebalance(blocks.size(), storage());
    });
  }
};

using Grow = std::function<RaggedStorage(const RaggedRoom&)>;

RebalancerOptions growing_by(Grow grow) {
  return {.when_infeasible = WhenInfeasible::grow, .grow_ragged = std::move(grow)};
}

void expect_error(Crowded& objects, const Outcome& outcome, ErrorCode code,
                  const std::vector<std::string>& parts) {
  expect_error(outcome, code, parts);
  EXPECT_TRUE(all_ranks(objects.has(objects.blocks))) << outcome.text;
}

TEST(RaggedInfeasible, IsRefusedByDefault) {
  Crowded objects;
  const Outcome outcome = objects.outcome_with({});
  if (size() == 1) {
    EXPECT_EQ(outcome.code, ErrorCode::success) << outcome.text;
    return;
  }
  expect_error(objects, outcome, ErrorCode::infeasible,
               {"rank 1: it would hold ", "in ragged field 'records', which has 0 bytes",
                "(required_bytes = ", "required blocks = "});
}

// The bytes fit, but there are too few lengths.
TEST(RaggedInfeasible, CountsBlocksToo) {
  if (size() == 1) return;
  Crowded objects;
  static_cast<void>(objects.grow_to({0, {10'000, 10'000}}));
  expect_error(objects, objects.outcome_with({}), ErrorCode::infeasible,
               {"rank 1: ", "room for 0 blocks"});
}

TEST(RaggedInfeasible, IsRefusedByAMigrationInSteps) {
  if (size() == 1) return;
  Crowded objects;
  const Outcome outcome = outcome_of([&] {
    Rebalancer rebalancer(MPI_COMM_WORLD, {.when_infeasible = WhenInfeasible::repair});
    objects.tell(rebalancer);
    static_cast<void>(
        rebalancer.migrate(rebalancer.partition(objects.blocks.size()), objects.storage()));
  });
  expect_error(objects, outcome, ErrorCode::infeasible, {"rank 1: it would hold "});
}

TEST(RaggedInfeasible, IsNotRepaired) {
  Crowded objects;
  expect_error(objects, objects.outcome_with({.when_infeasible = WhenInfeasible::repair}),
               ErrorCode::invalid_argument, {"when_infeasible is repair", "take refuse or grow"});
}

TEST(RaggedInfeasible, ReportsGrowthThatThrowsOnAllRanks) {
  if (size() == 1) return;
  Crowded objects;
  const Outcome outcome =
      objects.outcome_with(growing_by([](const RaggedRoom& required) -> RaggedStorage {
        throw std::runtime_error("no room for " + std::to_string(required.blocks) + " blocks");
      }));
  expect_error(
      objects, outcome, ErrorCode::callback_failed,
      {"rank 1: enlarging the storage (grow_ragged) failed: no room for ", "nothing has moved"});
}

/// The error where the application grows to what `change` makes of what is required.
void expect_too_small(const std::function<void(RaggedRoom&)>& change, const std::string& text) {
  Crowded objects;
  const Outcome outcome = objects.outcome_with(growing_by([&](RaggedRoom required) {
    change(required);
    return objects.grow_to(required);
  }));
  expect_error(objects, outcome, ErrorCode::infeasible,
               {"rank 1: grow_ragged returned a storage of ", text,
                " are required; return one that has them, nothing has moved"});
}

TEST(RaggedInfeasible, ReportsStoragesThatAreStillTooSmall) {
  if (size() == 1) return;
  expect_too_small([](RaggedRoom& room) { room.bytes[0] -= 8; },
                   " bytes in ragged field 'records', ");
  expect_too_small([](RaggedRoom& room) { room.bytes[1] -= 4; }, " bytes in ragged field 1, ");
  expect_too_small([](RaggedRoom& room) { room.blocks -= 1; },
                   " lengths of ragged field 'records', ");
}

TEST(RaggedInfeasible, ReportsColumnsThatAreStillTooSmall) {
  if (size() == 1) return;
  Crowded objects;
  const Outcome outcome = objects.outcome_with(growing_by([&](const RaggedRoom& required) {
    const RaggedStorage grown = objects.grow_to(required);
    std::vector<Field> columns = grown.columns();
    columns[1].slots -= 1;
    return RaggedStorage(grown.fields(), columns);
  }));
  expect_error(objects, outcome, ErrorCode::infeasible,
               {"rank 1: grow_ragged returned a storage of ", " rows in column 1, "});
}

TEST(RaggedInfeasible, ReportsAnotherStorageThanWasGiven) {
  if (size() == 1) return;
  Crowded objects;
  const Outcome outcome = objects.outcome_with(growing_by([&](const RaggedRoom& required) {
    const RaggedStorage grown = objects.grow_to(required);
    return RaggedStorage(std::span(grown.fields()).first(1), grown.columns());
  }));
  expect_error(objects, outcome, ErrorCode::field_mismatch,
               {"rank 1: ", "grow_ragged returned other arrays"});
}

// On all ranks, whether they need more or not.
TEST(RaggedInfeasible, NeedsAFunctionThatGrows) {
  Crowded objects;
  RebalancerOptions options = growing_by({});
  expect_error(objects, objects.outcome_with(options), ErrorCode::invalid_argument,
               {"rank 0: ", "there is no grow;"});
  options.grow = [](std::uint64_t) { return BlockStorage{}; };
  if (rank() < size() - 1)
    options.grow_ragged = [&](const RaggedRoom& required) { return objects.grow_to(required); };
  expect_error(objects, objects.outcome_with(options), ErrorCode::invalid_argument,
               {"rank " + std::to_string(size() - 1) + ": ", "there is no grow_ragged;"});
}

TEST(RaggedInfeasible, NeedsAFunctionThatGrowsSlotsForBlocksOfOneSize) {
  if (size() == 1) return;
  Crowded objects;
  const Outcome outcome = outcome_of([&] {
    Rebalancer rebalancer(MPI_COMM_WORLD,
                          growing_by([&](const RaggedRoom&) { return objects.storage(); }));
    objects.tell(rebalancer);
    rebalancer.rebalance(objects.blocks.size(), {field(objects.names), field(objects.places, 2)});
  });
  expect_error(objects, outcome, ErrorCode::invalid_argument, {"rank 0: ", "there is no grow;"});
}

TEST(RaggedErrors, OfPlanningAreThoseOfTheRebalancer) {
  Crowded objects;
  expect_error(objects, objects.outcome_with({.migration = {.order = Order::fill}}),
               ErrorCode::invalid_argument, {"order fill"});
  expect_error(objects, objects.outcome_with({.migration = {.budget_bytes = 600}}),
               ErrorCode::budget_too_small, {"rank 0: the budget of 600 bytes is below the "});
  if (rank() == 0) objects.lengths[59] = 4000;
  const Outcome outcome = objects.outcome_with({});
  if (rank() == 0) objects.lengths[59] = 100;
  expect_error(objects, outcome, ErrorCode::invalid_argument,
               {"rank 0: ", "block 59 of 4000 bytes would start at byte 6136"});
}

TEST(RaggedErrors, NameRanksThatThereAreNot) {
  Crowded objects;
  const Outcome outcome = outcome_of([&] {
    Rebalancer rebalancer(MPI_COMM_WORLD);
    objects.tell(rebalancer);
    Partition partition = rebalancer.partition(objects.blocks.size());
    if (rank() == 0) partition.ranks()[7] = size();
    static_cast<void>(rebalancer.required_room(partition, objects.storage()));
  });
  expect_error(objects, outcome, ErrorCode::rank_out_of_range, {"rank 0: "});
}

TEST(RaggedErrors, NameBytesThatCannotBeWeights) {
  Crowded objects;
  const auto expect_refused = [&](RaggedField field, ErrorCode code, const std::string& text) {
    const Outcome outcome = outcome_of([&] {
      Rebalancer rebalancer(MPI_COMM_WORLD);
      objects.tell(rebalancer);
      rebalancer.weights(zoltan::block_bytes(field));
      rebalancer.rebalance(objects.blocks.size(), objects.storage());
    });
    expect_error(objects, outcome, code, {text});
  };
  RaggedField field = objects.fields()[0];
  field.block_capacity = rank() == 0 ? 59 : 0;
  expect_refused(field, ErrorCode::invalid_argument, "60 objects, but only 59 weights");
  field.lengths = nullptr;
  expect_refused(field, ErrorCode::inaccessible_memory, "weights is null");
  std::vector<std::uint64_t> zero(60, 0);
  field = objects.fields()[0];
  field.lengths = zero.data();
  expect_refused(field, ErrorCode::invalid_argument, "all weights are zero");
}

}  // namespace
}  // namespace valet::test
