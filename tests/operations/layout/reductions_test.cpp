// SPDX-License-Identifier: BSD-3-Clause

// How often all ranks wait for each other where an array moves at once.

#include "counted_reductions.hpp"
#include "moved_arrays.hpp"

namespace valet::test {
namespace {

TEST(LayoutReductions, AreOneWhereAllBudgetsHoldWhatMoves) {
  const GridLayout from{BlockCyclic({90, 60}, {8, 8}, {size(), 1})};
  const GridLayout to{BlockCyclic({90, 60}, {30, 5}, {1, size()})};
  for (int call = 0; call < 3; ++call) {
    Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
    source.fill();
    std::vector<std::byte> both = source.bytes();
    both.resize(std::max(both.size(), target.bytes().size()));
    const int before = reductions;
    redistribute(MPI_COMM_WORLD, from, to, 8, source.source(), target.target());
    const int between = reductions;
    redistribute_in_place(MPI_COMM_WORLD, from, to, 8, {.data = both.data(), .bytes = both.size()});
    const int after = reductions;
    EXPECT_EQ(between - before, 1);
    EXPECT_EQ(after - between, 1);
    EXPECT_EQ(sum_over_ranks(target.wrong_bytes()), 0);
    EXPECT_TRUE(all_ranks(std::equal(target.bytes().begin(), target.bytes().end(), both.begin())));
  }
}

}  // namespace
}  // namespace valet::test
