// SPDX-License-Identifier: BSD-3-Clause

// Views under PHASED and CYCLIC: rows that are apart in memory, the least budget there can be, and
// the staged path, on which blocks also wait on ranks where they do not belong.

#include "kokkos_environment.hpp"
#include "views.hpp"
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>

namespace {

using namespace valet::test;

using RightView = HostView<double**, Kokkos::LayoutRight>;
using LeftView = HostView<float***, Kokkos::LayoutLeft>;
using StrideView = HostView<char**, Kokkos::LayoutStride>;

/// The blocks of one rank: a row of every View.
struct ThreeViews {
  explicit ThreeViews(std::uint64_t slots)
      : right(make_view<RightView>("valet_test::right", slots)),
        left(make_view<LeftView>("valet_test::left", slots)),
        stride(make_view<StrideView>("valet_test::stride", slots)) {}

  [[nodiscard]] valet::BlockStorage storage(bool staged) const {
    return staged ? valet::kokkos::staged_blocks(right, left, stride)
                  : valet::kokkos::blocks(right, left, stride);
  }
  [[nodiscard]] auto all() const { return std::tie(right, left, stride); }

  RightView right;
  LeftView left;
  StrideView stride;
};

/// Every heuristic without parking and with, one centralized, and both orders of edges.
std::vector<valet::Options> all_ways() {
  std::vector<valet::Options> ways;
  valet::Options options{.method = valet::Method::phased};
  for (const valet::Heuristic heuristic : valet::all_heuristics())
    for (const int parking : {0, 1}) {
      options.phased.heuristic = heuristic;
      options.phased.parking = parking;
      ways.push_back(options);
    }
  options.phased.scheduler = valet::Scheduler::centralized;
  ways.push_back(options);
  options = {};
  options.method = valet::Method::cyclic;
  for (const valet::EdgeOrder order : {valet::EdgeOrder::ascending, valet::EdgeOrder::rotated}) {
    options.cyclic.edge_order = order;
    ways.push_back(options);
  }
  return ways;
}

/// Executes twice: a plan is made to be used again.
void check(MapPart map, const Kind& kind, bool staged, valet::Options options,
           std::size_t budget_blocks) {
  const ThreeViews views(map.slots());
  const valet::BlockStorage storage = views.storage(staged);
  options.order = kind.order;
  options.verify = true;
  options.budget_bytes = budget_blocks * storage.block_bytes();
  // The matrix of a centralized scheduler must fit the budget of rank 0.
  if (rank() == 0 && options.phased.scheduler == valet::Scheduler::centralized)
    options.budget_bytes += 16 << 10;
  valet::Plan plan = map.plan(MPI_COMM_WORLD, storage, kind.form, options);
  for (int repetition = 0; repetition < 2; ++repetition) {
    write_blocks(views.all(), map);
    const valet::Report report = execute(plan, storage);
    EXPECT_EQ(sum_over_ranks(wrong_elements(views.all(), map, kind, storage.block_bytes())), 0);
    expect_within_bound(report);
    EXPECT_TRUE(all_ranks(report.verified));
  }
}

void check_all_ways(bool staged, std::size_t budget_blocks) {
  std::mt19937_64 random(seed());
  int c = 0;
  for (const valet::Options& options : all_ways())
    for (int k = 0; k < 2; ++k, ++c) {
      SCOPED_TRACE(seed_note(seed(), c));
      check(MapPart(random_map_of_views(random), rank()), all_kinds[random() % all_kinds.size()],
            staged, options, budget_blocks);
    }
}

TEST(MethodsOnViews, WithABudgetOfOneBlock) { check_all_ways(false, 1); }

TEST(MethodsOnViews, StagedWithTheLeastBudget) { check_all_ways(true, 2); }

TEST(MethodsOnViews, WithABudgetOfManyBlocks) {
  check_all_ways(false, 50);
  check_all_ways(true, 50);
}

TEST(MethodsOnViews, StagedRefusesABudgetOfOneBlock) {
  for (const valet::Method method : {valet::Method::phased, valet::Method::cyclic}) {
    const ThreeViews views(4);
    const valet::BlockStorage storage = views.storage(true);
    const valet::Options options{.budget_bytes = storage.block_bytes(), .method = method};
    const std::vector<int> ranks(2, 0);
    expect_thrown(valet::ErrorCode::budget_too_small, {"is below the"}, [&] {
      static_cast<void>(valet::plan_to_ranks(MPI_COMM_WORLD, storage, 2, ranks, options));
    });
  }
}

}  // namespace
