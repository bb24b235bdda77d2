// SPDX-License-Identifier: BSD-3-Clause

// Every feasible redistribution finishes: classical patterns without a single free slot at the end,
// or now, and a budget of exactly one block.

#include "filled_map.hpp"

namespace valet::test {
namespace {

/// A map in which `to_rank(rank, slot)` says the rank of each block; every rank has as many slots
/// as it needs before and after.
template <class ToRank>
GlobalMap tight_map(const std::vector<std::uint64_t>& blocks, ToRank&& to_rank) {
  std::vector<std::vector<int>> ranks(blocks.size());
  for (std::size_t rank = 0; rank < blocks.size(); ++rank)
    for (std::uint64_t slot = 0; slot < blocks[rank]; ++slot)
      ranks[rank].push_back(to_rank(static_cast<int>(rank), slot));
  return map_to(ranks);
}

struct Pattern {
  std::string name;
  GlobalMap map;
};

std::vector<Pattern> patterns(std::uint64_t per_rank) {
  const int ranks = size();
  const std::vector<std::uint64_t> equal(static_cast<std::size_t>(ranks), per_rank);
  std::vector<std::uint64_t> last_empty = equal;
  last_empty.back() = 0;
  std::mt19937_64 random(seed());
  const auto anywhere = [&](int, std::uint64_t) {
    return static_cast<int>(pick(random, 0, static_cast<std::uint64_t>(ranks - 1)));
  };
  const auto transposed = [&](int, std::uint64_t slot) {
    return static_cast<int>(slot % static_cast<std::uint64_t>(ranks));
  };
  return {
      {"ring", tight_map(equal, [&](int rank, std::uint64_t) { return (rank + 1) % ranks; })},
      {"ring backwards",
       tight_map(equal, [&](int rank, std::uint64_t) { return (rank + ranks - 1) % ranks; })},
      {"transpose", tight_map(equal, transposed)},
      {"random", tight_map(equal, anywhere)},
      {"all to one", tight_map(equal, [&](int, std::uint64_t) { return ranks - 1; })},
      {"one to all", tight_map(
                         [&] {
                           std::vector<std::uint64_t> one(equal.size(), 0);
                           one.front() = per_rank * static_cast<std::uint64_t>(ranks);
                           return one;
                         }(),
                         transposed)},
      {"one rank empty",
       tight_map(last_empty,
                 [&](int rank, std::uint64_t) { return (rank + 1) % std::max(1, ranks - 1); })},
      {"one rank fills up", tight_map(last_empty, anywhere)},
  };
}

TEST(Completeness, EveryPatternFinishesWithABudgetOfOneBlock) {
  for (const std::uint64_t per_rank : {1, 7, 48})
    for (const Pattern& pattern : patterns(per_rank))
      for (const Form form : {Form::to_ranks, Form::to_slots})
        for (const Order order : all_orders)
          for (const Shape shape : all_shapes) {
            if (form == Form::to_slots && order == Order::stable) continue;
            FilledMap filled(pattern.map, rank(), shape);
            const Options options{.budget_bytes = filled.storage().block_bytes(),
                                  .method = Method::stream,
                                  .order = order};
            Plan plan = filled.plan(MPI_COMM_WORLD, form, options);
            execute(plan, filled.storage());
            ASSERT_EQ(sum_over_ranks(filled.wrong(form, order)), 0)
                << pattern.name << ", " << per_rank << " blocks a rank";
          }
}

TEST(Completeness, PhasesFinishEveryPatternWithABudgetOfOneBlock) {
  for (const std::uint64_t per_rank : {1, 12})
    for (const Pattern& pattern : patterns(per_rank))
      for (const Heuristic heuristic : all_heuristics())
        for (const int parking : {0, 2}) {
          FilledMap filled(pattern.map, rank(), Shape::structure);
          const Options options{.budget_bytes = filled.storage().block_bytes(),
                                .method = Method::phased,
                                .phased = {.heuristic = heuristic, .parking = parking}};
          Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, options);
          execute(plan, filled.storage());
          ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, Order::any)), 0)
              << pattern.name << ", " << per_rank << " blocks a rank, " << to_string(heuristic)
              << ", parking " << parking;
        }
}

TEST(Completeness, LargeBlocksWithABudgetOfOneBlock) {
  // Blocks that MPI does not send eagerly: a sender has to wait for its receiver.
  for (const Pattern& pattern : patterns(6)) {
    FilledMap filled(pattern.map, rank(), Shape::dense, 200'000);
    const Options options{.budget_bytes = 200'000, .method = Method::stream};
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    execute(plan, filled.storage());
    ASSERT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0) << pattern.name;
  }
}

TEST(Completeness, NoBlockCrossesTheNetworkTwice) {
  for (const Pattern& pattern : patterns(20)) {
    FilledMap filled(pattern.map, rank(), Shape::dense);
    const Options options{.budget_bytes = 40, .method = Method::stream};
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    const Report report = execute(plan, filled.storage());
    std::uint64_t leaving = 0;
    for (const auto& to : pattern.map.destination[static_cast<std::size_t>(rank())])
      if (to && to->rank != rank()) ++leaving;
    EXPECT_EQ(report.blocks_sent, leaving) << pattern.name;
    EXPECT_EQ(report.bytes_sent, leaving * 40) << pattern.name;
  }
}

}  // namespace
}  // namespace valet::test
