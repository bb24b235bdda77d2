// SPDX-License-Identifier: BSD-3-Clause

// The Rebalancer with blocks of different sizes: every block is where the partition puts it, bit
// for bit, with what belongs to it, in memory that has no free byte; several partitions one after
// the other while objects move and change their sizes; bytes as weights.

#include "counted_reductions.hpp"
#include "ragged_objects.hpp"

namespace valet::test {
namespace {

using namespace zoltan;

RebalancerOptions options_of(const std::string& method, Order order) {
  RebalancerOptions options{.method = method, .migration = {.order = order, .verify = true}};
  options.migration.budget_bytes =
      24 * 1024;  // two of the smallest pages for each of 5 ranks, and two; plans of 7 arenas
  return options;
}

class RaggedRebalance : public ::testing::TestWithParam<const char*> {};

/// Partition, room, growth to exactly that, migration.
void rebalance_in_steps(const RaggedCase& start, const RebalancerOptions& options) {
  RaggedCase c = start;
  const RaggedRoom held = RaggedObjects::room_for(mine(c), c.alignment);
  RaggedObjects objects(mine(c), c.alignment, held);
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  objects.tell(rebalancer);
  Partition partition = rebalancer.partition(objects.blocks.size());
  share_destinations(c, std::as_const(partition).ranks());
  RaggedBlocks expected = c.after(rank());
  const RaggedRoom needed = RaggedObjects::room_for(expected, c.alignment);
  const RaggedRoom room = rebalancer.required_room(partition, objects.storage());
  EXPECT_TRUE(all_ranks(room.blocks == needed.blocks && room.bytes == needed.bytes));
  EXPECT_TRUE(all_ranks(partition.required_slots() == needed.blocks));
  const RaggedStorage storage = objects.grow_to(room);
  objects.tell(rebalancer);
  const RebalanceResult result = rebalancer.migrate(std::move(partition), storage);
  EXPECT_TRUE(all_ranks(result.count == needed.blocks && result.required_slots == needed.blocks));
  EXPECT_TRUE(all_ranks(result.report.verified));
  EXPECT_TRUE(all_ranks(options.migration.order == Order::stable
                            ? objects.has(expected)
                            : objects.has_in_any_order(expected)));
}

TEST_P(RaggedRebalance, MovesBlocksWhereThePartitionPutsThem) {
  std::mt19937_64 random(seed());
  for (std::uint64_t k = 0; k < cases_wanted(9) && !HasFailure(); ++k) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(k)));
    const RaggedCase c = some_case(random, static_cast<int>(k % 3) - 1);
    rebalance_in_steps(c, options_of(GetParam(), k % 2 == 0 ? Order::stable : Order::any));
  }
}
INSTANTIATE_TEST_SUITE_P(, RaggedRebalance,
                         ::testing::Values("RCB", "RIB", "HSFC", "BLOCK", "CYCLIC", "RANDOM"),
                         ParameterName());

/// Half of the objects change their lengths.
void change(RaggedCase& c, std::mt19937_64& random) {
  for (RaggedBlocks& blocks : c.before)
    for (RaggedBlock& block : blocks)
      if (random() % 2 == 0) block.length = random_length(random, 3);
}

/// What the application does between two partitions. Its room stays exactly full if it can.
void advance(RaggedObjects& objects, const RaggedCase& c, int step) {
  objects.blocks = mine(c);
  const RaggedRoom needed = RaggedObjects::room_for(objects.blocks, c.alignment);
  static_cast<void>(objects.grow_to(needed));
  objects.write(step);
}

// A partition after the other, each in one call and in memory that is enlarged to what is required,
// on the ranks that need it.
TEST(RaggedRebalancer, FollowsObjectsThatMoveAndChange) {
  std::mt19937_64 random(seed());
  RaggedCase c;
  c.alignment = 16;
  c.before.resize(static_cast<std::size_t>(size()));
  for (std::uint64_t k = 0; k < 300; ++k)  // all on the first rank
    c.before[0].push_back({random_length(random, 3), 0, k, 0});
  RaggedObjects objects(mine(c), c.alignment, RaggedObjects::room_for(mine(c), c.alignment));
  RebalancerOptions options = options_of("RCB", Order::stable);
  options.when_infeasible = WhenInfeasible::grow;
  std::optional<RaggedRoom> asked;
  options.grow_ragged = [&](const RaggedRoom& required) {
    EXPECT_FALSE(asked);
    asked = required;
    return objects.grow_to(required);
  };
  Rebalancer rebalancer(MPI_COMM_WORLD, options);
  long long grown = 0;
  for (int step = 0; step < 8; ++step) {
    SCOPED_TRACE(step);
    objects.tell(rebalancer);
    rebalancer.weights(block_bytes(objects.fields().front()));
    asked.reset();
    const RaggedRoom held = objects.room();
    const std::size_t count = mine(c).size();
    const RebalanceResult result = rebalancer.rebalance(count, objects.storage());
    ASSERT_TRUE(find_destinations(c, std::span(objects.names).first(result.count)));
    c = moved(c);
    EXPECT_TRUE(all_ranks(objects.has(mine(c))));
    const RaggedRoom needed = RaggedObjects::room_for(mine(c), c.alignment);
    const bool lacked = needed.blocks > held.blocks || needed.bytes[0] > held.bytes[0] ||
                        needed.bytes[1] > held.bytes[1];
    EXPECT_TRUE(all_ranks(lacked == asked.has_value()));
    EXPECT_TRUE(!asked || (asked->blocks == needed.blocks && asked->bytes == needed.bytes));
    grown += asked ? 1 : 0;
    EXPECT_LT(result.after.weight, 1.6);  // one object in ten is most of the bytes
    change(c, random);
    advance(objects, c, step + 1);
  }
  EXPECT_EQ(sum_over_ranks(grown) > 0, size() > 1);
}

/// The largest over the mean of the ranks.
double imbalance(std::uint64_t own) {
  const auto most = max_over_ranks(static_cast<long long>(own));
  const auto sum = sum_over_ranks(static_cast<long long>(own));
  return static_cast<double>(most * size()) / static_cast<double>(sum);
}

/// 400 objects a rank, of which those at the left have most of the bytes.
RaggedCase lopsided_case() {
  RaggedCase c;
  c.before.resize(static_cast<std::size_t>(size()));
  for (int from = 0; from < size(); ++from)
    for (std::uint64_t k = 0; k < 400; ++k) {
      RaggedBlock block{0, from, k, from};
      block.length = place_of(block, 0, 0) < 0.2 ? 1000 + k : k % 20;
      c.before[static_cast<std::size_t>(from)].push_back(block);
    }
  return c;
}

TEST(RaggedRebalancer, BalancesTheBytesOfBlocks) {
  const RaggedCase c = lopsided_case();
  const RaggedRoom all{400 * static_cast<std::uint64_t>(size()), {800'000, 40'000}};
  for (const bool with_count : {false, true}) {
    RaggedObjects objects(mine(c), c.alignment, all);
    RebalancerOptions options = options_of("RCB", Order::any);
    options.balance_count = with_count;
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    objects.tell(rebalancer);
    rebalancer.weights(block_bytes(objects.fields()[0]));
    const RebalanceResult result = rebalancer.rebalance(400, objects.storage());
    std::uint64_t bytes = 0;
    for (std::uint64_t k = 0; k < result.count; ++k) bytes += objects.lengths[k];
    EXPECT_DOUBLE_EQ(result.after.weight, imbalance(bytes));
    EXPECT_DOUBLE_EQ(result.after.count, imbalance(result.count));
    EXPECT_LT(result.after.weight, with_count ? 1.5 : 1.1);
  }
}

TEST(RaggedRebalancer, BalancesTheBytesBetweenOffsets) {
  const RaggedCase c = lopsided_case();
  const RaggedRoom all{400 * static_cast<std::uint64_t>(size()), {800'000, 40'000}};
  RaggedObjects objects(mine(c), c.alignment, all);
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of("RCB", Order::any));
  objects.tell(rebalancer);
  rebalancer.weights(block_bytes(objects.fields()[1]));
  const RebalanceResult result = rebalancer.rebalance(400, objects.storage());
  EXPECT_DOUBLE_EQ(result.after.weight, imbalance(objects.offsets[result.count]));
  EXPECT_LT(result.after.weight, 1.1);
}

// More objects than a rank gives to Zoltan one by one, and as many as said in a cell.
TEST(RaggedRebalancer, PartitionsInCells) {
  for (const std::optional<std::uint64_t> granularity : {std::optional<std::uint64_t>(), {50U}}) {
    RaggedCase c;
    c.alignment = 8;
    c.before.resize(static_cast<std::size_t>(size()));
    for (std::uint64_t k = 0; k < 6000; ++k) c.before[0].push_back({k % 40, 0, k, 0});
    RaggedObjects objects(mine(c), c.alignment, {6000, {300'000, 60'000}});
    RebalancerOptions options = options_of("RCB", Order::stable);
    options.granularity = granularity;
    Rebalancer rebalancer(MPI_COMM_WORLD, options);
    objects.tell(rebalancer);
    rebalancer.weights(block_bytes(objects.fields()[0]));
    const RebalanceResult result = rebalancer.rebalance(mine(c).size(), objects.storage());
    EXPECT_GT(result.largest_cell_share, 0);
    EXPECT_LT(result.after.weight, 1.15);
    ASSERT_TRUE(find_destinations(c, std::span(objects.names).first(result.count)));
    EXPECT_TRUE(all_ranks(objects.has(c.after(rank()))));
  }
}

TEST(RaggedRebalancer, MovesByRanksThatTheApplicationHasChanged) {
  std::mt19937_64 random(seed());
  RaggedCase c = some_case(random, 0);
  RaggedObjects objects(mine(c), c.alignment, RaggedObjects::room_for(mine(c), c.alignment));
  for (const char* const method : {"RCB", "CYCLIC"}) {
    Rebalancer rebalancer(MPI_COMM_WORLD, options_of(method, Order::stable));
    objects.tell(rebalancer);
    Partition partition = rebalancer.partition(mine(c).size());
    if (rank() == 0) std::ranges::fill(partition.ranks(), 0);  // the first rank changes its own
    if (rank() > 0) std::ranges::fill(partition.ranks(), size() - 1);
    share_destinations(c, std::as_const(partition).ranks());
    c = moved(c);
    const RaggedStorage storage =
        objects.grow_to(rebalancer.required_room(partition, objects.storage()));
    objects.tell(rebalancer);
    const RebalanceResult result = rebalancer.migrate(std::move(partition), storage);
    EXPECT_TRUE(all_ranks(result.count == mine(c).size() && objects.has(mine(c))));
  }
}

// Beyond partitioning and moving the ranks agree on nothing.
TEST(RaggedRebalancer, TakesNoReductionsOfItsOwn) {
  std::mt19937_64 random(seed());
  const RaggedCase c = some_case(random, -1);
  const RaggedRoom all{2000, {8 << 20, 80'000}};
  // The second call counts: the first one measures and fills caches.
  const auto reductions_of = [&](auto&& call) {
    Rebalancer rebalancer(MPI_COMM_WORLD, options_of("RCB", Order::stable));
    int before = 0;
    for (int k = 0; k < 2; ++k) {
      RaggedObjects objects(mine(c), c.alignment, all);
      objects.tell(rebalancer);
      before = reductions;
      call(rebalancer, objects);
    }
    return reductions - before;
  };
  std::vector<int> ranks;
  const int partitioning = reductions_of([&](Rebalancer& rebalancer, RaggedObjects& objects) {
    const Partition partition = rebalancer.partition(objects.blocks.size());
    ranks.assign(partition.ranks().begin(), partition.ranks().end());
  });
  const int moving = reductions_of([&](Rebalancer&, RaggedObjects& objects) {
    RaggedPlan plan = plan_to_ranks(MPI_COMM_WORLD, objects.storage(), ranks.size(), ranks,
                                    options_of("RCB", Order::stable).migration);
    execute(plan, objects.storage(), ranks);
  });
  const int both = reductions_of([&](Rebalancer& rebalancer, RaggedObjects& objects) {
    rebalancer.rebalance(objects.blocks.size(), objects.storage());
  });
  EXPECT_EQ(both, partitioning + moving);
}

}  // namespace
}  // namespace valet::test
