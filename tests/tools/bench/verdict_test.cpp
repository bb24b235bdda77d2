// SPDX-License-Identifier: BSD-3-Clause

// What valet-bench check concludes from memory and times.

#include "bench/verdict.hpp"

#include <gtest/gtest.h>

namespace valet::test {
namespace {

using bench::Measured;
using bench::verdict_of;

constexpr std::uint64_t mebi = 1 << 20;
const Measured buffers{8 * mebi, {1, 2, 1, 2, 1}};

TEST(Verdict, FollowsFromMemoryAndTime) {
  const auto text = [](const Measured& valet, std::uint64_t budget) {
    return verdict_of(valet, buffers, budget).text;
  };
  EXPECT_EQ(text({mebi, {0.5, 1, 0.5, 1, 0.5}}, mebi),
            "pays in memory and time: saves 7 MiB of 8 MiB a rank; 50 % less time");
  EXPECT_EQ(text({mebi, {1.25, 2.5, 1.25, 2.5, 1.25}}, mebi),
            "pays in memory and costs time: saves 7 MiB of 8 MiB a rank; 25 % more time");
  EXPECT_EQ(text({mebi, {0.5, 4, 1, 4, 0.5}}, mebi),
            "pays in memory: saves 7 MiB of 8 MiB a rank; rounds take 0.5 to 2.0 times the time");
  EXPECT_EQ(text({9 * mebi, {0.5, 1, 0.5, 1, 0.5}}, mebi),
            "pays in time alone: takes 9 MiB in place of 8 MiB a rank; 50 % less time");
  EXPECT_EQ(text({mebi, {3.96, 8, 3.96, 8, 3.96}}, 8 * mebi),
            "does not pay: saves 7 MiB of 8 MiB a rank, within --memory; 4.0 times the time");
}

TEST(Verdict, TakesRoundsInPairsAndBelievesWhatMostOfThemSay) {
  // The machine was four times slower in one round: in both.
  const Measured valet{mebi, {0.9, 7.2, 0.9, 1.8, 0.9}}, peer{8 * mebi, {1, 8, 1, 2, 1}};
  const bench::Verdict verdict = verdict_of(valet, peer, mebi);
  EXPECT_TRUE(verdict.is_faster);
  EXPECT_NEAR(verdict.ratios.lower, 0.9, 1e-9);
  EXPECT_NEAR(verdict.ratios.upper, 0.9, 1e-9);
  // One round of five the other way is believed less than the others,
  EXPECT_TRUE(verdict_of({mebi, {0.9, 1.8, 1.5, 1.8, 0.9}}, buffers, mebi).is_faster);
  // two are no reason to say either.
  const bench::Verdict mixed = verdict_of({mebi, {0.9, 1.8, 1.1, 2.2, 0.9}}, buffers, mebi);
  EXPECT_FALSE(mixed.is_faster || mixed.is_slower);
  EXPECT_NEAR(mixed.ratios.middle, 0.9, 1e-9);
}

TEST(Verdict, IsMadeOfOneRoundToo) {
  const bench::Verdict verdict = verdict_of({mebi, {2}}, {8 * mebi, {1}}, mebi);
  EXPECT_TRUE(verdict.is_slower);
  EXPECT_EQ(verdict.ratios.upper, 2);
}

}  // namespace
}  // namespace valet::test
