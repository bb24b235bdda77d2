// SPDX-License-Identifier: BSD-3-Clause

// The promise where a flow is many messages: all methods, with every budget from one block to 1 MiB
// in half powers of two, with shared memory and without. Some ranks have many neighbours and others
// one, so that ranks run ahead of others; as full as can be.
//
// VALET_TEST_CASES says how many cases, and with 1 the VALET_TEST_SEED that a failure names runs
// its case again.

#include "delayed_mpi.hpp"
#include "filled_map.hpp"
#include "named_budget.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

using Ranks = std::vector<int>;

/// In a chain a rank has blocks for all ranks behind it.
enum class FlowPattern { scatter, gather, two_stars, all_to_all, ring, swaps, chain };

/// About `blocks` blocks in all.
std::vector<Ranks> flows_of(FlowPattern pattern, int ranks, std::uint64_t blocks, int shift) {
  std::vector<Ranks> to(static_cast<std::size_t>(ranks));
  const auto far = [&](int rank) { return (rank + shift) % ranks; };
  const auto at = [&](int rank) -> Ranks& { return to[static_cast<std::size_t>(far(rank))]; };
  for (std::uint64_t k = 0; k < blocks; ++k) {
    const int step = static_cast<int>(k % to.size());
    const int lap = static_cast<int>(k / to.size() % to.size());
    switch (pattern) {
      case FlowPattern::scatter: at(0).push_back(far(step)); break;
      case FlowPattern::gather: at(step).push_back(far(0)); break;
      case FlowPattern::two_stars: at(k % 2 == 0 ? 0 : ranks / 2).push_back(far(step)); break;
      case FlowPattern::all_to_all: at(step).push_back(lap); break;
      case FlowPattern::ring: at(step).push_back(far(step + 1)); break;
      case FlowPattern::swaps: at(step).push_back(far(ranks - 1 - step)); break;
      case FlowPattern::chain: at(step).push_back(far(step + lap % (ranks - step))); break;
    }
  }
  return to;
}

struct BudgetCase {
  FlowPattern pattern = FlowPattern::scatter;
  int shift = 0;
  Form form = Form::to_ranks;
  std::size_t block_bytes = 8;
  std::uint64_t spare_slots = 0;
  Options options;
};

std::string describe(const BudgetCase& c) {
  return test::describe(c.options) + ", pattern " + std::to_string(static_cast<int>(c.pattern)) +
         ", blocks of " + std::to_string(c.block_bytes) + " bytes";
}

/// Blocks of all ranks: with tiny budgets every block is a message, and with phases a phase.
std::uint64_t blocks_of(const BudgetCase& c) {
  const std::uint64_t budget_blocks = c.options.budget_bytes / c.block_bytes;
  const std::uint64_t most = c.options.method == Method::phased ? 1000 : 4000;
  return std::clamp<std::uint64_t>(budget_blocks * 20, 60, most);
}

/// Plans and executes; where the budget is too small the number in the text has to do.
long long wrong_slots_of(BudgetCase c) {
  const GlobalMap map = map_to(flows_of(c.pattern, size(), blocks_of(c), c.shift), c.spare_slots);
  FilledMap filled(map, rank(), Shape::dense, c.block_bytes);
  std::optional<Plan> plan;
  const auto make = [&] { plan = filled.plan(MPI_COMM_WORLD, c.form, c.options); };
  Outcome outcome = outcome_of(make);
  if (outcome.code == ErrorCode::budget_too_small) {
    c.options.budget_bytes = named_budget(outcome.text);
    outcome = outcome_of(make);
  }
  EXPECT_EQ(outcome.text, "") << describe(c);
  if (!plan) return 1;
  Report report;
  outcome = outcome_of([&] { report = execute(*plan, filled.storage()); });
  EXPECT_EQ(outcome.text, "") << describe(c);
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound) << describe(c);
  const long long wrong = filled.wrong(c.form, c.options.order);
  EXPECT_EQ(wrong, 0) << describe(c);
  return wrong + (outcome.text.empty() ? 0 : 1);
}

/// One block times 2^(k/2), up to 1 MiB.
std::size_t half_powers(std::size_t block_bytes) {
  return static_cast<std::size_t>(
      2 * std::log2(static_cast<double>(1 << 20) / static_cast<double>(block_bytes)) + 1);
}
std::size_t half_power(std::size_t block_bytes, std::size_t k) {
  return static_cast<std::size_t>(static_cast<double>(block_bytes) *
                                  std::exp2(static_cast<double>(k) / 2));
}

BudgetCase random_budget_case(std::mt19937_64& random) {
  BudgetCase c;
  c.pattern = static_cast<FlowPattern>(pick(random, 0, 6));
  c.shift = static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(size()) - 1));
  c.form = pick(random, 0, 3) == 0 ? Form::to_slots : Form::to_ranks;
  c.block_bytes = std::array<std::size_t, 3>{8, 64, 1000}[pick(random, 0, 2)];
  c.spare_slots = pick(random, 0, 2) == 0 ? pick(random, 0, 50) : 0;
  constexpr std::array methods{Method::cyclic, Method::cyclic, Method::stream,
                               Method::phased, Method::direct, Method::automatic};
  Options& options = c.options;
  options.method = methods[pick(random, 0, methods.size() - 1)];
  options.order = all_orders[pick(random, 0, 2)];
  options.budget_bytes = half_power(c.block_bytes, pick(random, 0, half_powers(c.block_bytes) - 1));
  if (options.method == Method::direct) options.budget_bytes = std::size_t{4} << 20;
  options.share_memory = pick(random, 0, 2) != 0;
  options.keep_memory = pick(random, 0, 3) != 0;
  options.verify = pick(random, 0, 7) == 0;
  options.stream.window = static_cast<int>(std::array<int, 4>{1, 3, 32, 64}[pick(random, 0, 3)]);
  options.message_bytes = pick(random, 0, 3) == 0 ? pick(random, 1, 2000) : 0;
  options.cyclic.edge_order = pick(random, 0, 1) == 0 ? EdgeOrder::ascending : EdgeOrder::rotated;
  choose_phases(random, options);
  return c;
}

TEST(RandomBudgets, EveryBlockArrivesWhateverTheBudget) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    working_on(seed() + k);
    std::mt19937_64 random(seed() + k);
    if (sum_over_ranks(wrong_slots_of(random_budget_case(random))) > 0) return;
  }
}

/// Destinations credit in their order, but all at once: those that are ahead must not keep the
/// credit of the first from being taken.
TEST(RandomBudgets, ManyRanksAheadOfOneThatSendsToAll) {
  for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated})
    for (const std::size_t budget : {4096, 8192, 16384, 32768}) {
      BudgetCase c;
      c.options.method = Method::cyclic;
      c.options.cyclic.edge_order = order;
      c.options.budget_bytes = budget;
      c.options.share_memory = true;
      working_on(budget);
      if (sum_over_ranks(wrong_slots_of(c)) > 0) return;
    }
}

}  // namespace
}  // namespace valet::test
