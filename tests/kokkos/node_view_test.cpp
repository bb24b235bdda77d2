// SPDX-License-Identifier: BSD-3-Clause

// Views in memory that the ranks of a node share: they are Views, keep their memory, grow in place
// and move as other Views do.

#include "kokkos_environment.hpp"
#include "views.hpp"
#include <valet/kokkos/blocks.hpp>
#include <valet/kokkos/node_view.hpp>
#include <valet/kokkos/ragged.hpp>

#include <Kokkos_Core.hpp>

namespace valet::test {
namespace {

using NodePositions = kokkos::NodeView<double* [3]>;
static_assert(
    std::is_convertible_v<NodePositions, NodePositions::View> &&
    std::is_assignable_v<Kokkos::View<const double* [3], Kokkos::HostSpace>&, NodePositions>);

NodePositions make_positions(std::size_t n) {
  return kokkos::node_view<double* [3]>("x", n, MPI_COMM_WORLD);
}

TEST(NodeView, IsAViewThatKernelsUseAndCopiesKeep) {
  std::function<double()> sum;
  {
    const NodePositions x = make_positions(100);
    EXPECT_EQ(x.label(), "x");
    EXPECT_EQ(x.extent(0), 100U);
    EXPECT_EQ(x.extent(1), 3U);
    EXPECT_EQ(x(99, 2), 0.0);
    using Host = Kokkos::DefaultHostExecutionSpace;
    Kokkos::parallel_for(
        "fill", Kokkos::RangePolicy<Host>(0, 100), KOKKOS_LAMBDA(const int k) { x(k, 1) = k; });
    Host().fence();
    sum = [x] {
      double all = 0;
      for (std::size_t k = 0; k < 100; ++k) all += x(k, 1);
      return all;
    };
  }
  EXPECT_EQ(sum(), 4950.0);
}

TEST(NodeView, GrowsWhereItIs) {
  NodePositions x = make_positions(2);
  x(1, 2) = 7;
  const double* const data = x.data();
  x.resize(10'000);
  EXPECT_EQ(x.data(), data);
  EXPECT_EQ(x.extent(0), 10'000U);
  EXPECT_EQ(x(1, 2), 7.0);
  EXPECT_EQ(x(9'999, 2), 0.0);
  x.resize(1);
  EXPECT_EQ(x.extent(0), 1U);
  NodePositions none;
  EXPECT_EQ(none.extent(0), 0U);
  const Outcome outcome = outcome_of([&] { none.resize(3); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
}

TEST(NodeView, IsRefusedOnAllRanksWithTheSameError) {
  const std::size_t n = is_odd() ? std::numeric_limits<std::size_t>::max() / 2 : 5;
  const Outcome outcome = outcome_of([n] { static_cast<void>(make_positions(n)); });
  expect_error(outcome, ErrorCode::out_of_memory,
               {odd_name(), "a node array of 9223372036854775807 entries of 24 bytes"});
}

TEST(NodeView, MovesAsOtherViewsDo) {
  std::mt19937_64 random(seed());
  NodePositions x;
  auto id = kokkos::node_view<std::int64_t*>("id", 0, MPI_COMM_WORLD);
  const BlockStorage direct = kokkos::blocks(valet::ref(x), valet::ref(id));
  const BlockStorage staged = kokkos::staged_blocks(valet::ref(x), valet::ref(id));
  x = make_positions(0);
  for (int round = 0; round < 10; ++round)
    for (const Kind& kind : all_kinds)
      for (const BlockStorage* storage : {&direct, &staged}) {
        MapPart map(random_map_of_views(random), rank());
        x.resize(map.slots());
        id.resize(map.slots());
        write_blocks(std::tie(x, id), map);
        const Options options{.order = kind.order, .verify = true};
        Plan plan = map.plan(MPI_COMM_WORLD, *storage, kind.form, options);
        execute(plan, *storage);
        EXPECT_EQ(sum_over_ranks(wrong_elements(std::tie(x, id), map, kind, 32)), 0);
      }
}

TEST(NodeView, IsNamedInErrorsAndRefusedWhereItHasFewerRows) {
  NodePositions x = make_positions(4);
  auto id = kokkos::node_view<std::int64_t*>("id", is_odd() ? 5 : 4, MPI_COMM_WORLD);
  const auto error_of = [](const BlockStorage& storage) {
    return outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 0, std::span<const int>()); });
  };
  expect_error(error_of(kokkos::blocks(x, valet::ref(id))), ErrorCode::field_mismatch,
               {odd_name(), "'id' has 5 slots, but the first field has 4"});
  const BlockStorage kept = kokkos::blocks(x), followed = kokkos::blocks(valet::ref(x));
  EXPECT_EQ(error_of(kept).code, ErrorCode::success);
  if (is_odd()) x.resize(2);
  expect_error(error_of(kept), ErrorCode::invalid_argument,
               {odd_name(), "View 'x' does not have the rows", "valet::ref(view)"});
  EXPECT_EQ(error_of(followed).code, ErrorCode::success);
}

TEST(NodeView, HoldsArenasAndColumns) {
  auto values = kokkos::node_view<double*>("values", 20, MPI_COMM_WORLD);
  auto lengths = kokkos::node_view<std::uint64_t*>("lengths", 4, MPI_COMM_WORLD);
  const RaggedStorage storage{kokkos::ragged_field(valet::ref(values), valet::ref(lengths))};
  EXPECT_EQ(storage.fields()[0].label, "values");
  lengths.resize(8);
  storage.refresh();
  EXPECT_EQ(storage.fields()[0].block_capacity, 8U);
  EXPECT_EQ(storage.fields()[0].capacity_bytes, 160U);
}

}  // namespace
}  // namespace valet::test
