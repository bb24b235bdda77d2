// SPDX-License-Identifier: BSD-3-Clause

// The promise of redistribute(): for any two layouts on any ranks every element arrives once, in
// its place, nothing else is written, and the extra memory stays within the budget.

#include "moved_arrays.hpp"

namespace valet::test {
namespace {

/// One redistribution, checked on all ranks.
void expect_moved(const GridLayout& from, const GridLayout& to, std::size_t element_bytes,
                  Part& source, Part& target, const LayoutOptions& options = {}) {
  source.fill();
  const Report report = redistribute(MPI_COMM_WORLD, from, to, element_bytes, source.source(),
                                     target.target(), options);
  EXPECT_EQ(sum_over_ranks(target.wrong_bytes()), 0);
  EXPECT_EQ(sum_over_ranks(source.wrong_bytes()), 0) << "the source has changed";
  EXPECT_TRUE(all_ranks(report.verified == options.verify));
  const std::uint64_t neighbours = neighbours_of_rank(from, to);
  EXPECT_TRUE(all_ranks(report.neighbours == neighbours));
  const std::uint64_t promised =
      promised_bytes(options.budget_bytes, neighbours, static_cast<std::uint64_t>(size()));
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised));
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
      << report.peak_extra_bytes << " of " << promised;
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_received)),
            sum_over_ranks(static_cast<long long>(report.blocks_sent)));
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_after)), from.layout.elements());
}

TEST(Redistribute, DeliversEveryElementBetweenRandomLayouts) {
  const std::uint64_t cases = cases_wanted(40);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE(seed_note(seed() + k));
    std::mt19937_64 random(seed() + k);
    RandomGrids grids(random);
    const auto [from, to] = grids.pair();
    constexpr std::array<std::size_t, 12> sizes{1, 2, 3, 4, 7, 8, 12, 16, 24, 32, 56, 64};
    const std::size_t element_bytes = sizes[static_cast<std::size_t>(grids.pick(0, 11))];
    const IndexOrder source_order = grids.order();
    const IndexOrder target_order = grids.pick(0, 2) > 0 ? source_order : grids.order();
    const std::int64_t source_padding = grids.pick(0, 2), target_padding = grids.pick(0, 2);
    LayoutOptions options;
    options.share_memory = grids.pick(0, 1) == 0;
    options.verify = grids.pick(0, 1) == 0;
    const bool tight = grids.pick(0, 1) == 0;
    options.budget_bytes = tight ? std::size_t{48} << 10 : std::size_t{4} << 20;
    Part source(from, element_bytes, source_order, source_padding);
    Part target(to, element_bytes, target_order, target_padding);
    expect_moved(from, to, element_bytes, source, target, options);
    if (::testing::Test::HasFailure()) return;
  }
}

// Enough that all slots and buffers are used again and again.
TEST(Redistribute, MovesAMatrixInManyChunks) {
  const int ranks = size();
  for (const bool share_memory : {true, false}) {
    const GridLayout from{BlockCyclic({350, 250}, {32, 32}, {ranks, 1})};
    const GridLayout to{BlockCyclic({350, 250}, {15, 25}, {1, ranks})};
    for (const std::size_t budget : {std::size_t{20} << 10, std::size_t{256} << 10}) {
      Part source(from, 8, IndexOrder::column_major), target(to, 8, IndexOrder::column_major, 3);
      expect_moved(from, to, 8, source, target,
                   {.budget_bytes = budget, .share_memory = share_memory});
    }
  }
}

TEST(Redistribute, MovesBetweenDisjointGridsWithIdleRanks) {
  if (size() < 3) return;
  const int last = size() - 1;
  const GridLayout from{BlockCyclic({31, 17, 9}, {4, 3, 2}, {2, 1, 1}), {last, 0}};
  const GridLayout to{BlockCyclic({31, 17, 9}, {5, 17, 1}, {1, 1, 1}), {1}};
  Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
  expect_moved(from, to, 8, source, target);
}

TEST(Redistribute, MovesAnArrayOfFourDimensions) {
  const GridLayout from{BlockCyclic::block({12, 10, 8, 6}, {size(), 1, 1, 1})};
  const GridLayout to{BlockCyclic::cyclic({12, 10, 8, 6}, {1, 1, 1, size()})};
  Part source(from, 16, IndexOrder::row_major), target(to, 16, IndexOrder::column_major);
  expect_moved(from, to, 16, source, target);
}

// Ranks without elements on either side, and an array without elements.
TEST(Redistribute, AcceptsEmptyRanksAndEmptyArrays) {
  const GridLayout from{BlockCyclic({3, 5}, {3, 5}, {1, size()})};
  const GridLayout to{BlockCyclic({3, 5}, {1, 5}, {size(), 1})};
  Part source(from, 4, IndexOrder::row_major), target(to, 4, IndexOrder::row_major);
  expect_moved(from, to, 4, source, target);
  const GridLayout none{BlockCyclic({0, 5}, {2, 2}, {1, size()})};
  Part empty(none, 4, IndexOrder::row_major), still_empty(none, 4, IndexOrder::row_major);
  expect_moved(none, none, 4, empty, still_empty);
}

// A byte that changes when all has arrived, on one rank, is an error of all.
TEST(Redistribute, NoticesAnElementThatIsNotWhatItWas) {
  const GridLayout from{BlockCyclic({4000}, {1}, {size()})};
  const GridLayout to{BlockCyclic({4000}, {1000}, {size()})};
  Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
  source.fill();
  LayoutOptions options{.verify = true};
  if (rank() == 0) options.progress = [&](const Progress&) { target.bytes()[9] = std::byte{0xA5}; };
  expect_error(outcome_of([&] {
                 redistribute(MPI_COMM_WORLD, from, to, 8, source.source(), target.target(),
                              options);
               }),
               ErrorCode::corrupted, {"elements", "not what they were", "checkpoint"});
}

// Each rank decides its budget alone.
TEST(Redistribute, AcceptsBudgetsThatDiffer) {
  const GridLayout from{BlockCyclic({4000}, {1}, {size()})};
  const GridLayout to{BlockCyclic({4000}, {1000}, {size()})};
  for (const bool share_memory : {true, false}) {
    Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
    source.fill();
    LayoutOptions options{.share_memory = share_memory};
    options.budget_bytes = rank() == 0 ? 2'000 : std::size_t{4} << 20;
    const Report report =
        redistribute(MPI_COMM_WORLD, from, to, 8, source.source(), target.target(), options);
    EXPECT_EQ(sum_over_ranks(target.wrong_bytes()), 0);
    expect_within_bound(report);
  }
}

}  // namespace
}  // namespace valet::test
