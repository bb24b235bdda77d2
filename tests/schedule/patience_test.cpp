// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/patience.hpp"

#include "testing.hpp"

namespace valet::schedule {
namespace {

constexpr std::uint64_t cache_lines = 2048;  // a buffer of blocks of 64 bytes

int looks_until_spent(Patience& patience) {
  int looks = 0;
  while (patience.lasts()) ++looks;
  return looks;
}

TEST(Patience, WaitsForNoFewLargeBlocks) {
  for (const std::uint64_t blocks : {0, 1, 8}) {
    Patience patience(blocks);
    EXPECT_EQ(looks_until_spent(patience), 0) << blocks << " blocks";
  }
}

TEST(Patience, IsBounded) {
  Patience patience(std::uint64_t{1} << 40);
  for (int k = 0; k < 100; ++k) {
    EXPECT_LE(looks_until_spent(patience), 128);
    patience.succeeded();
  }
  EXPECT_EQ(looks_until_spent(patience), 128);
}

TEST(Patience, GrowsWhereWaitingPaysAndShrinksWhereItDoesNot) {
  Patience patience(cache_lines);
  const int at_first = looks_until_spent(patience);
  patience.succeeded();
  const int after_success = looks_until_spent(patience);
  EXPECT_GT(after_success, at_first);
  for (int k = 0; k < 10; ++k) {
    patience.failed();
    EXPECT_LE(looks_until_spent(patience), after_success);
  }
  patience.failed();
  const int after_failures = looks_until_spent(patience);
  EXPECT_LT(after_failures, at_first);
  EXPECT_GT(after_failures, 0) << "it could never learn better";
}

TEST(Patience, LearnsNothingWithoutWaiting) {
  Patience patience(cache_lines), other(cache_lines);
  for (int k = 0; k < 10; ++k) patience.succeeded();
  EXPECT_EQ(looks_until_spent(patience), looks_until_spent(other));
}

TEST(Patience, CountsLooksOfAWaitTogether) {
  Patience patience(cache_lines), other(cache_lines);
  EXPECT_TRUE(patience.lasts());
  EXPECT_EQ(looks_until_spent(patience), looks_until_spent(other) - 1);
}

}  // namespace
}  // namespace valet::schedule
