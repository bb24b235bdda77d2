// SPDX-License-Identifier: BSD-3-Clause

// The promise: planning a map to ranks takes two reductions and a count exchange without a wait for
// all ranks in turn, whatever the order and the method, and among few ranks an all-to-all and a
// reduction; each execution takes one reduction, and none where the plan is bound to its storage.

#include "counted_mpi.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

using Calls = std::map<std::string, long long>;

/// Collective calls that `action` makes on this rank, by name.
template <class Action>
Calls collective_calls(Action&& action) {
  communication = {};
  action();
  Calls calls;
  for (const auto& [name, count] : communication.calls)
    if (name != "Isend" && name != "Issend" && name != "Send") calls[name] = count;
  return calls;
}

constexpr std::size_t blocks_each = 60;

/// Every rank's blocks go to the ranks in no order that is a layout.
std::vector<int> scattered_map() {
  std::vector<int> map(blocks_each);
  for (std::size_t k = 0; k < map.size(); ++k)
    map[k] = (rank() + static_cast<int>((k * 2654435769U >> 7U) % 7)) % size();
  return map;
}

struct Numbers {
  std::vector<std::uint64_t> blocks = std::vector<std::uint64_t>(blocks_each * 8);
  BlockStorage storage{field(std::span(blocks))};
};

Plan plan_of(Numbers& numbers, const Options& options) {
  return plan_to_ranks(MPI_COMM_WORLD, numbers.storage, blocks_each, scattered_map(), options);
}

/// @param reductions  After planning.
Calls planning(long long reductions = 0) {
  if (size() <= 4) return {{"Alltoall", 1}, {"Allreduce", 1 + reductions}};
  return {{"Allreduce", 2 + reductions}, {"Ibarrier", 1}};
}

TEST(Reductions, APlanTakesTwoWhateverTheOrder) {
  if (size() == 1) GTEST_SKIP() << "every map is a layout";
  Numbers numbers;
  for (const Method method : {Method::stream, Method::direct, Method::automatic})
    for (const Order order : {Order::any, Order::fill, Order::stable}) {
      const Options options{.method = method, .order = order};
      static_cast<void>(plan_of(numbers, options));  // fills the pool
      const Calls calls = collective_calls([&] { static_cast<void>(plan_of(numbers, options)); });
      EXPECT_EQ(calls, planning()) << to_string(method) << ", " << to_string(order);
    }
}

TEST(Reductions, AMigrationTakesOneMore) {
  if (size() == 1) GTEST_SKIP() << "every map is a layout";
  Numbers numbers;
  const Options options;
  Calls calls;
  for (int k = 0; k < 2; ++k)
    calls = collective_calls(
        [&] { migrate(MPI_COMM_WORLD, numbers.storage, blocks_each, scattered_map(), options); });
  EXPECT_EQ(calls, planning(1));
}

TEST(Reductions, AnExecutionOfABoundPlanTakesNone) {
  Numbers numbers;
  for (const Order order : {Order::any, Order::fill, Order::stable}) {
    Plan plan = plan_of(numbers, {.method = Method::stream, .order = order});
    EXPECT_EQ(collective_calls([&] { plan.bind(numbers.storage); }), (Calls{{"Allreduce", 1}}));
    EXPECT_EQ(collective_calls([&] { execute(plan); }), Calls{});
    EXPECT_EQ(collective_calls([&] { start(plan).wait(); }), Calls{});
    EXPECT_EQ(collective_calls([&] { start(plan, numbers.storage).wait(); }),
              (Calls{{"Allreduce", 1}}));
  }
}

// Each rank gives back another one of its plans: what is free is then not the same everywhere, and
// a reduction more finds what is.
TEST(Reductions, PlansThatRanksGiveBackInDifferentOrdersCostOneMore) {
  if (size() == 1) GTEST_SKIP() << "nothing differs";
  Numbers numbers;
  const Options options;
  std::array<std::optional<Plan>, 2> plans;
  for (auto& plan : plans) plan.emplace(plan_of(numbers, options));
  plans[static_cast<std::size_t>(rank() % 2)].reset();
  std::optional<Plan> next;
  const Calls calls = collective_calls([&] { next.emplace(plan_of(numbers, options)); });
  EXPECT_GT(calls.at("Allreduce"), planning().at("Allreduce"));
  plans[static_cast<std::size_t>((rank() + 1) % 2)].reset();
  // It has a communicator of its own: another plan made meanwhile does not see its messages.
  Numbers others = numbers;
  others.storage = BlockStorage{field(std::span(others.blocks))};
  Plan other = plan_of(others, options);
  std::iota(numbers.blocks.begin(), numbers.blocks.end(), 0);
  std::iota(others.blocks.begin(), others.blocks.end(), 0);
  execute(*next, numbers.storage);
  execute(other, others.storage);
  EXPECT_TRUE(all_ranks(numbers.blocks == others.blocks));
}

}  // namespace
}  // namespace valet::test
