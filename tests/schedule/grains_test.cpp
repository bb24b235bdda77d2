// SPDX-License-Identifier: BSD-3-Clause

// The order in which flows move under Order::any, against a sorted list of all blocks.

#include "schedule/grains.hpp"

#include "testing.hpp"

namespace valet::schedule {
namespace {

struct Flow {
  std::uint64_t total = 0;
  std::uint32_t distance = 0;
};

/// A block and its place in the order, worked out with fractions of small numbers.
struct Block {
  std::uint64_t numerator, denominator;
  std::uint32_t turn;
  std::uint64_t number;
  std::uint32_t flow;
  friend bool operator<(const Block& a, const Block& b) {
    const std::uint64_t left = a.numerator * b.denominator, right = b.numerator * a.denominator;
    return std::tie(left, a.turn, a.number) < std::tie(right, b.turn, b.number);
  }
};

std::vector<Block> sorted(const std::vector<Flow>& flows, std::uint64_t grain) {
  std::vector<Block> blocks;
  for (std::uint32_t f = 0; f < flows.size(); ++f)
    for (std::uint64_t k = 0; k < flows[f].total; ++k) {
      const std::uint64_t begin = k / grain * grain;
      const std::uint64_t end = std::min(begin + grain, flows[f].total);
      blocks.push_back({begin + end, flows[f].total, turn_of(flows[f].distance), k, f});
    }
  std::sort(blocks.begin(), blocks.end());
  return blocks;
}

GrainOrder order_of(Ledger& ledger, const std::vector<Flow>& flows, std::uint64_t grain) {
  GrainOrder order(ledger, flows.size(), grain);
  for (std::uint32_t f = 0; f < flows.size(); ++f) order.add(f, flows[f].total, flows[f].distance);
  return order;
}

std::vector<Flow> random_flows(std::mt19937_64& random) {
  std::vector<Flow> flows(random() % 6);
  for (std::uint32_t f = 0; f < flows.size(); ++f) flows[f] = {1 + random() % 60, f + 1};
  std::shuffle(flows.begin(), flows.end(), random);
  return flows;
}

/// Calls check(order, blocks in the order that they should have, grain, random, number of the case)
/// for random flows.
template <class Check>
void for_random_flows(Check&& check) {
  const unsigned seed = 20260101;
  std::mt19937_64 random(seed);
  for (int k = 0; k < 3000; ++k) {
    SCOPED_TRACE("seed " + std::to_string(seed) + ", case " + std::to_string(k));
    const std::vector<Flow> flows = random_flows(random);
    const std::uint64_t grain = 1 + random() % 9;
    Ledger ledger;
    GrainOrder order = order_of(ledger, flows, grain);
    check(order, sorted(flows, grain), grain, random);
    if (testing::Test::HasFatalFailure()) return;
    EXPECT_TRUE(order.empty());
  }
}

TEST(GrainOrder, PassesAllBlocksInTheOrderOfTheirGrains) {
  for_random_flows([](GrainOrder& order, const std::vector<Block>& expected, std::uint64_t,
                      std::mt19937_64& random) {
    for (std::size_t at = 0; at < expected.size();) {
      ASSERT_FALSE(order.empty());
      const FlowRun piece = order.front(1 + random() % 20);
      const std::uint64_t passed = 1 + random() % piece.count;  // pieces may be cut
      for (std::uint64_t b = 0; b < passed; ++b, ++at) {
        ASSERT_EQ(piece.flow, expected[at].flow);
        ASSERT_EQ(piece.first + b, expected[at].number);
      }
      order.advance(passed);
    }
  });
}

TEST(GrainOrder, GivesAllThatIsConsecutiveAtOnce) {
  for_random_flows([](GrainOrder& order, const std::vector<Block>& expected, std::uint64_t grain,
                      std::mt19937_64& random) {
    for (std::size_t at = 0; at < expected.size();) {
      std::uint64_t run = 1;
      while (at + run < expected.size() && expected[at + run].flow == expected[at].flow) ++run;
      const std::uint64_t most = 1 + random() % 30;
      const FlowRun piece = order.front(most);
      ASSERT_EQ(piece.count, std::min(most, run));
      ASSERT_LE(order.front().count, grain);
      order.advance(piece.count);
      at += piece.count;
    }
  });
}

TEST(GrainOrder, ComparesFractionsOfLargeNumbersExactly) {
  const std::uint64_t large = std::uint64_t{1} << 60;
  const GrainKey half{large, large, 2}, less{large - 1, large, 1}, same{1, 1, 1};
  EXPECT_TRUE(less < half);
  EXPECT_FALSE(half < less);
  EXPECT_TRUE(same < half) << "equal fractions: the earlier turn";
  EXPECT_FALSE(half < same);
}

TEST(GrainOrder, FlowsThatFollowEachOtherGoNearAndFar) {
  for (const std::uint32_t ranks : {64U, 128U, 1000U, 1'000'000U}) {
    std::vector<std::uint32_t> distances(std::min(ranks - 1, 5000U));
    for (std::uint32_t k = 0; k < distances.size(); ++k) distances[k] = k + 1;
    const auto most = static_cast<std::uint32_t>(distances.size());
    std::ranges::sort(distances, {}, turn_of);
    constexpr std::size_t at_once = 16;
    for (std::size_t first = 0; first + at_once <= distances.size(); ++first) {
      std::array<int, 4> quarters{};
      for (std::size_t k = first; k < first + at_once; ++k)
        ++quarters[(distances[k] - 1) * 4 / most];
      EXPECT_GT(std::ranges::min(quarters), 0) << ranks << " ranks, from turn " << first;
    }
    EXPECT_TRUE(std::ranges::adjacent_find(distances, {}, turn_of) == distances.end());
  }
}

TEST(GrainOrder, GrainsHaveABlockAtLeastAndAreShorterWithManyRanks) {
  EXPECT_EQ(grain_blocks(64, 1), 512U);
  EXPECT_EQ(grain_blocks(64, 63), 256U);
  EXPECT_EQ(grain_blocks(16'000, 1), 8U);
  EXPECT_EQ(grain_blocks(1'000'000, 1), 1U);
  EXPECT_EQ(grain_blocks(64, 999'999), 1U);
}

TEST(ShiftBlocks, IsForLongRunsAndLeavesOutWhatFreeSlotsDo) {
  constexpr std::uint64_t many = 100'000;
  EXPECT_EQ(shift_blocks(16'384, many, many, many / 4, 0), 32U) << "runs of 64 KiB";
  EXPECT_EQ(shift_blocks(16'384, many, many, many / 4 + 1, 0), 0U) << "shorter ones";
  EXPECT_EQ(shift_blocks(64, many, many, 1, 0), 8192U);
  EXPECT_EQ(shift_blocks(1'000'000, many, many, many, 0), 1U);
  EXPECT_EQ(shift_blocks(16'384, many, many, 1, 20), 12U);
  EXPECT_EQ(shift_blocks(16'384, many, many, 1, 33), 0U);
  EXPECT_EQ(shift_blocks(16'384, 80, many, 1, 0), 10U) << "an eighth of what arrives";
  EXPECT_EQ(shift_blocks(16'384, 64, many, 1, 0), 8U) << "two messages of 64 KiB";
  EXPECT_EQ(shift_blocks(16'384, 63, many, 1, 0), 0U) << "and no shorter ones";
  EXPECT_EQ(shift_blocks(16'384, many, 7, 1, 0), 0U) << "or leaves";
}

}  // namespace
}  // namespace valet::schedule
