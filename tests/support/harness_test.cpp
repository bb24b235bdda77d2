// SPDX-License-Identifier: BSD-3-Clause

#include "test_comm.hpp"

namespace valet::test {
namespace {

TEST(Harness, ReducesOverAllRanks) {
  EXPECT_EQ(sum_over_ranks(1), size());
  EXPECT_EQ(max_over_ranks(rank()), size() - 1);
  EXPECT_EQ(max_over_ranks(-1 - rank()), -1);
}

TEST(Harness, AllRanksIsFalseIfOneRankSaysNo) {
  EXPECT_TRUE(all_ranks(true));
  EXPECT_FALSE(all_ranks(rank() != size() - 1));
}

TEST(Harness, SeedIsTheSameOnAllRanks) {
  const auto mine = static_cast<long long>(seed() % 1000003);
  EXPECT_EQ(max_over_ranks(mine), -max_over_ranks(-mine));
}

}  // namespace
}  // namespace valet::test
