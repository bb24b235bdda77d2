// SPDX-License-Identifier: BSD-3-Clause

#include "instances.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

namespace valet::schedule {
namespace {

using valet::test::expect_thrown;

TEST(TransferMatrix, SortsAddsAndDropsWhatStays) {
  const TransferMatrix matrix(
      3, {{2, 0, 5}, {1, 1, 9}, {0, 2, 1}, {1, 0, 2}, {2, 0, 3}, {0, 1, 0}, {2, 1, 4}});
  const std::vector<TransferEntry> expected{{1, 0, 2}, {2, 0, 8}, {2, 1, 4}, {0, 2, 1}};
  EXPECT_EQ(std::vector<TransferEntry>(matrix.transfers().begin(), matrix.transfers().end()),
            expected);
  EXPECT_EQ(matrix.volume(), 15U);
}

TEST(TransferMatrix, TotalsAreRowAndColumnSums) {
  const TransferMatrix matrix(3, {{2, 0, 5}, {1, 0, 2}, {0, 2, 1}});
  const std::vector<RankTotals> totals = matrix.totals(std::vector<std::uint64_t>{6, 0, 7});
  EXPECT_EQ(totals[0].received, 7U);
  EXPECT_EQ(totals[0].sent, 1U);
  EXPECT_EQ(totals[0].free, 6U);
  EXPECT_EQ(totals[2].sent, 5U);
  EXPECT_EQ(totals[2].received, 1U);
}

TEST(TransferMatrix, RefusesWhatDoesNotFit) {
  expect_thrown(ErrorCode::rank_out_of_range, {"from rank 1 to rank 3, but there are 3 ranks"}, [] {
    const TransferMatrix matrix(3, {{1, 3, 1}});
  });
  expect_thrown(ErrorCode::invalid_argument, {"more than 2^60 blocks to move"}, [] {
    const TransferMatrix matrix(2, {{0, 1, most_blocks}, {1, 0, 1}});
  });
}

TEST(Feasibility, NamesTheRankAndWhatItLacks) {
  const TransferMatrix matrix(3, {{0, 1, 9}, {1, 0, 2}});
  EXPECT_NO_THROW(check_feasible(matrix, std::vector<std::uint64_t>{0, 7, 0}));
  expect_thrown(ErrorCode::infeasible,
                {"rank 1 receives 9 blocks, sends 2 and has 4 free slots: it needs 3 more"}, [&] {
                  check_feasible(matrix, std::vector<std::uint64_t>{0, 4, 0});
                });
  expect_thrown(ErrorCode::invalid_argument, {"given for 2 ranks, but 3 take part"}, [&] {
    check_feasible(matrix, std::vector<std::uint64_t>{0, 7});
  });
}

TEST(Feasibility, NothingMovesWithoutAFreeSlot) {
  const TransferMatrix swap(2, {{0, 1, 1}, {1, 0, 1}});
  expect_thrown(ErrorCode::infeasible, {"no rank has a free slot"}, [&] {
    check_feasible(swap, std::vector<std::uint64_t>{0, 0});
  });
  EXPECT_NO_THROW(check_feasible(TransferMatrix(2, {}), std::vector<std::uint64_t>{0, 0}));
}

TEST(PhaseBounds, RoundUp) {
  const PhaseBounds bounds = phase_bounds(10, 4);
  EXPECT_EQ(bounds.lower, 3U);
  EXPECT_EQ(bounds.published, 5U);
  EXPECT_EQ(bounds.upper, 6U);
  EXPECT_EQ(phase_bounds(0, 0).upper, 0U);
}

}  // namespace
}  // namespace valet::schedule
