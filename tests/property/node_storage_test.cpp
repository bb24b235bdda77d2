// SPDX-License-Identifier: BSD-3-Clause

// The promise for blocks in memory that ranks of a node share: every slot has what it has with
// ordinary memory, whichever ranks have which, and wherever a rank is stopped between what it
// reads, writes, and tells the others.
//
// VALET_TEST_CASES says how many maps, and with 1 the VALET_TEST_SEED that a failure names runs its
// map again.

#include "delayed_mpi.hpp"
#include "random_case.hpp"
#include "random_stops.hpp"

namespace valet::test {
namespace {

/// Whether ranks have their blocks in memory of the node.
enum class NodeRanks { all, some, none };

/// Runs of slots that go to one rank each: short blocks are taken straight from slots only there,
/// and of much the first imports wait for the last holes.
GlobalMap map_of_runs(std::mt19937_64& random, std::size_t block_bytes) {
  constexpr std::size_t most_blocks = 2000;
  const std::size_t most_bytes = pick(random, 0, 3) == 0 ? 1'500'000 : 150'000;
  std::vector<std::vector<int>> to(static_cast<std::size_t>(size()));
  const std::uint64_t blocks = pick(random, 1, std::min(most_blocks, most_bytes / block_bytes));
  const std::uint64_t runs = pick(random, 1, 2 * to.size()), shift = pick(random, 0, to.size() - 1);
  for (std::size_t r = 0; r < to.size(); ++r)
    for (std::uint64_t k = 0; k < blocks; ++k)
      to[r].push_back(static_cast<int>((r + shift + k * runs / blocks) % to.size()));
  return map_to(to, pick(random, 0, 2) == 0 ? pick(random, 0, blocks) : 0);
}

MapCase random_node_case(std::mt19937_64& random) {
  MapCase c = random_map_case(random);
  c.masked = true;
  if (pick(random, 0, 1) == 0) {
    c.map = map_of_runs(random, c.shape == Shape::dense ? c.dense_bytes : 48);
    c.form = Form::to_ranks;
  }
  if (pick(random, 0, 1) == 0) c.options.order = Order::any;
  c.options.method = Method::stream;
  return c;
}

bool is_in_node(NodeRanks ranks, std::mt19937_64& own) {
  return ranks == NodeRanks::all || (ranks == NodeRanks::some && pick(own, 0, 1) == 0);
}

/// Plans for one storage, executes on it and on another one, and again; returns the slots of all
/// ranks that are wrong.
/// @param pulled  Blocks that were taken straight from slots are added here.
long long run_again(const MapCase& c, std::mt19937_64& random, std::uint64_t& pulled) {
  const auto ranks = static_cast<NodeRanks>(pick(random, 0, 2) / 2);
  const auto others = static_cast<NodeRanks>(pick(random, 0, 2));
  std::mt19937_64 own(random() + static_cast<std::uint64_t>(rank()));
  const auto filled = [&](NodeRanks which) {
    return std::make_unique<FilledMap>(c.map, rank(), c.shape, c.dense_bytes, 0,
                                       is_in_node(which, own));
  };
  const auto first = filled(ranks), second = filled(others);
  Options options = c.options;
  options.budget_bytes = random_budget_blocks(random, rank()) * first->storage().block_bytes();
  const GlobalContent content = first->content(c.form, options.order);
  Plan plan = first->plan(MPI_COMM_WORLD, c.form, options);
  long long wrong = 0;
  for (const auto& each : {first.get(), second.get(), first.get(), second.get()}) {
    each->fill();
    const Report report = execute(plan, each->storage());
    const long long slots = each->wrong(content);
    EXPECT_EQ(slots, 0) << test::describe(options) << ", shape " << static_cast<int>(c.shape);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << test::describe(options);
    wrong += slots;
    pulled += report.blocks_pulled;
  }
  return sum_over_ranks(wrong);
}

TEST(NodeStorage, RandomMapsEndAsWithOrdinaryMemory) {
  const std::uint64_t maps = cases_wanted(170);
  const RandomStops stops(seed() * 100 + static_cast<std::uint64_t>(rank()));
  std::uint64_t pulled = 0;
  for (std::uint64_t k = 0; k < maps; ++k) {
    SCOPED_TRACE(seed_note(seed() + k) + ", map " + std::to_string(k));
    working_on(seed() + k);
    std::mt19937_64 random(seed() + k);
    long long wrong = 0;
    const Outcome outcome =
        outcome_of([&] { wrong = run_again(random_node_case(random), random, pulled); });
    ASSERT_EQ(outcome.text, "");
    if (wrong > 0) return;
  }
  EXPECT_TRUE(pulled > 0 || size() == 1 || maps < 10) << "everything went as messages";
}

}  // namespace
}  // namespace valet::test
