// SPDX-License-Identifier: BSD-3-Clause

// What a repair decides, against the same found one block after the other.

#include "schedule/repair.hpp"

#include "testing.hpp"

namespace valet::schedule {
namespace {

constexpr std::uint64_t any_number = std::numeric_limits<std::uint64_t>::max();

/// Every block goes to the emptiest rank with room, the lowest of those.
std::vector<std::uint64_t> filled_one_by_one(std::vector<RankLoad> loads, std::uint64_t excess) {
  std::vector<std::uint64_t> taken(loads.size(), 0);
  for (; excess > 0; --excess) {
    std::size_t best = loads.size();
    for (std::size_t rank = 0; rank < loads.size(); ++rank)
      if (loads[rank].room() > 0 &&
          (best == loads.size() || loads[rank].blocks < loads[best].blocks))
        best = rank;
    ++loads[best].blocks;
    ++taken[best];
  }
  return taken;
}

std::vector<std::uint64_t> filled(const std::vector<RankLoad>& loads, std::uint64_t excess) {
  std::vector<std::uint64_t> ends(loads.size());
  fill_room(loads, excess, ends);
  std::vector<std::uint64_t> taken = ends;
  for (std::size_t rank = 1; rank < ends.size(); ++rank) taken[rank] -= ends[rank - 1];
  return taken;
}

TEST(FilledRoom, IsThatOfBlocksThatGoToTheEmptiestRank) {
  std::mt19937_64 random(1);
  for (int test_case = 0; test_case < 3000; ++test_case) {
    std::vector<RankLoad> loads(1 + random() % 9);
    for (RankLoad& load : loads)
      load = {random() % 30, random() % 20 == 0 ? any_number : random() % 40};
    std::uint64_t excess = 0, room = 0;
    for (const RankLoad& load : loads) {
      excess += load.excess();
      room += std::min<std::uint64_t>(load.room(), 1000);
    }
    if (excess > room) continue;
    EXPECT_EQ(filled(loads, excess), filled_one_by_one(loads, excess)) << "case " << test_case;
    EXPECT_EQ(filled(loads, room % 50 < room ? room % 50 : 0),
              filled_one_by_one(loads, room % 50 < room ? room % 50 : 0))
        << "case " << test_case;
  }
}

TEST(FilledRoom, TakesAllOfItWhereItIsJustEnough) {
  EXPECT_EQ(filled({{9, 5}, {1, 3}, {0, 2}}, 4), (std::vector<std::uint64_t>{0, 2, 2}));
}

TEST(FilledRoom, GivesWhatDoesNotComeOutEvenToLowerRanks) {
  EXPECT_EQ(filled({{2, 9}, {20, 12}, {2, 9}, {2, 3}, {2, 9}}, 8),
            (std::vector<std::uint64_t>{3, 0, 2, 1, 2}));
}

TEST(FilledRoom, TakesAnyNumberOfSlots) {
  constexpr std::uint64_t many = std::uint64_t{1} << 50;
  EXPECT_EQ(filled({{0, any_number}, {many, 0}, {0, any_number}, {0, any_number}}, many),
            (std::vector<std::uint64_t>{many / 3 + 1, 0, many / 3, many / 3}));
}

TEST(SumOfLoads, CountsBlocksSlotsAndExcess) {
  const std::vector<RankLoad> loads{{9, 5}, {1, 3}, {4, 2}};
  const LoadSum sum = sum_of(loads);
  EXPECT_EQ(sum.blocks, 14U);
  EXPECT_EQ(sum.slots, 10U);
  EXPECT_EQ(sum.excess, 6U);
  constexpr std::uint64_t half = any_number / 2 + 1;
  const std::vector<RankLoad> endless{{9, half}, {1, half}};
  EXPECT_GT(sum_of(endless).slots, std::uint64_t{1} << 59);
}

TEST(ProportionalShares, AreLessThanOneOffAndSumToTheExcess) {
  std::mt19937_64 random(2);
  for (int test_case = 0; test_case < 2000; ++test_case) {
    std::vector<std::uint64_t> sources(1 + random() % 7);
    std::uint64_t blocks = 0;
    for (std::uint64_t& source : sources) blocks += source = random() % 5 == 0 ? 0 : random() % 50;
    if (blocks == 0) continue;
    const std::uint64_t excess = random() % (blocks + 1);
    ProportionalShares shares(excess, blocks);
    std::uint64_t sum = 0;
    for (const std::uint64_t source : sources) {
      const std::uint64_t share = shares.next(source);
      sum += share;
      EXPECT_LE(share, source);
      // |share - source * excess / blocks| < 1
      EXPECT_LT(share * blocks, source * excess + blocks);
      EXPECT_LT(source * excess, share * blocks + blocks);
    }
    EXPECT_EQ(sum, excess);
  }
}

TEST(ProportionalShares, OfManyBlocksDoNotOverflow) {
  constexpr std::uint64_t many = std::uint64_t{1} << 45;
  ProportionalShares shares(many, 4 * many);
  EXPECT_EQ(shares.next(many), many / 4);
  EXPECT_EQ(shares.next(3 * many), many / 4 * 3);
}

// Places 0 to 2 of the line belong to rank 0, 3 and 4 to rank 3, 5 to rank 4.
const std::vector<std::uint64_t> ends{3, 3, 3, 5, 6};

TEST(ChangedDestinations, AreThoseOfTheLastBlocksOfAFlowInTheOrderOfSlots) {
  std::vector<int> ranks{1, 2, 1, 2, 1, 2, 1, 0};
  std::vector<FlowChange> changes{{1, 2, 3}, {2, 5, 1}};
  change_destinations(ranks, {}, changes, ends);
  EXPECT_EQ(ranks, (std::vector<int>{1, 2, 0, 2, 3, 4, 3, 0}));
}

TEST(ChangedDestinations, LeaveFreeSlotsAlone) {
  std::vector<int> ranks{1, 1, 1, 1};
  const std::vector<std::uint8_t> mask{1, 1, 7, 0};
  std::vector<FlowChange> changes{{1, 0, 2}};
  change_destinations(ranks, mask, changes, ends);
  EXPECT_EQ(ranks, (std::vector<int>{1, 0, 0, 1}));
}

TEST(ChangedDestinations, AreNotChangedAgainWhereTheNewOneIsOverfullToo) {
  std::vector<int> ranks{0, 1, 3, 3, 3};
  std::vector<FlowChange> changes{{0, 4, 1}, {3, 0, 3}};
  change_destinations(ranks, {}, changes, ends);
  EXPECT_EQ(ranks, (std::vector<int>{3, 1, 0, 0, 0}));
}

TEST(ChangedDestinations, MayBeNone) {
  std::vector<int> ranks{0, -7, 99};
  change_destinations(ranks, {}, {}, ends);
  EXPECT_EQ(ranks, (std::vector<int>{0, -7, 99}));
}

}  // namespace
}  // namespace valet::schedule
