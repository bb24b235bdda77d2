// SPDX-License-Identifier: BSD-3-Clause

// How PHASED divides its budget: all that it allocates on one rank keeps the promise about memory,
// for as many ranks and neighbours as there may be.

#include "schedule/phased_sizes.hpp"

#include "instances.hpp"
#include "schedule/parking.hpp"
#include "testing.hpp"

namespace valet::schedule {
namespace {

constexpr std::uint64_t fixed_bytes = 64 << 10;  // promised besides the budget

std::string text(const PhasedLimits& limits) {
  return "budget " + std::to_string(limits.budget_bytes) + ", block " +
         std::to_string(limits.block_bytes) + ", message " + std::to_string(limits.message_bytes) +
         ", pieces " + std::to_string(limits.pieces_per_block) + ", slots " +
         std::to_string(limits.slots) + ", neighbours " + std::to_string(limits.neighbours) +
         ", ranks " + std::to_string(limits.ranks) + (limits.blocks_wait ? ", waiting" : "") +
         (limits.reachable_by_mpi ? "" : ", staged");
}

/// Everything that PHASED allocates for these sizes, but for a few hundred bytes.
std::uint64_t all_bytes(const PhasedLimits& limits, const PhasedSizes& sizes) {
  constexpr std::uint64_t bytes_of_piece = 28;
  std::uint64_t bytes = sizes.scratch_blocks() * limits.block_bytes;
  bytes += sizes.scratch_slots * sizeof(SlotIndex);                   // final slots
  bytes += sizes.scratch_slots / 8 + sizes.scratch_slots / 512 + 16;  // which are free
  bytes += phased_list_bytes(limits);
  if (sizes.send_buffers == 0)
    bytes += sizes.send_blocks * limits.pieces_per_block * bytes_of_piece;
  bytes += sizes.most_waiting * waiting_block_bytes;
  return bytes;
}

template <class Check>
void for_phased_limits(Check&& check) {
  for (const std::size_t block : {8, 64, 1000, 16'000})
    for (const std::size_t budget_blocks : {1, 2, 3, 4, 9, 64, 5000})
      for (const std::uint64_t slots : {0, 100, 100'000})
        for (const std::uint64_t ranks : {2, 10, 40, 100, 1000, 100'000})
          for (const std::uint64_t neighbours : {std::uint64_t{0}, std::uint64_t{6}, ranks - 1})
            for (const bool waits : {false, true})
              check(PhasedLimits{.budget_bytes = budget_blocks * block,
                                 .block_bytes = block,
                                 .message_bytes = slots == 100 ? 500U : 0U,
                                 .pieces_per_block = slots == 0 ? 7U : 1U,
                                 .reachable_by_mpi = budget_blocks != 2,
                                 .slots = slots,
                                 .neighbours = std::min(neighbours, ranks - 1),
                                 .ranks = ranks,
                                 .slot_bytes = slots * 2,
                                 .blocks_wait = waits});
}

TEST(PhasedSizes, BookkeepingOfBlocksThatWaitTakesAnEighthOfTheBudgetAtMost) {
  const PhasedLimits limits{.budget_bytes = 1 << 20,
                            .block_bytes = 8,
                            .slots = 1'000'000,
                            .neighbours = 3,
                            .ranks = 4,
                            .blocks_wait = true};
  // A quarter packs what is sent; a place takes a block, its final slot and a byte.
  EXPECT_GE(phased_sizes(limits).scratch_slots * (8 + 4 + 1), limits.budget_bytes * 5 / 8);
}

TEST(PhasedSizes, AllThatIsAllocatedKeepsThePromise) {
  std::uint64_t refused = 0;
  std::uint64_t kept = 0;
  for_phased_limits([&](const PhasedLimits& limits) {
    const PhasedSizes sizes = phased_sizes(limits);
    ASSERT_GE(sizes.scratch_slots, 1U) << text(limits);
    ASSERT_GE(sizes.receive_blocks, 1U) << text(limits);
    ASSERT_LE(sizes.receive_blocks, std::max<std::uint64_t>(1, sizes.extra_slots() / 4))
        << "four messages find room: " << text(limits);
    if (limits.budget_bytes < phased_least_budget(limits)) {
      ++refused;
      return;
    }
    ++kept;
    ASSERT_LE(sizes.scratch_blocks() * limits.block_bytes, limits.budget_bytes) << text(limits);
    ASSERT_LE(all_bytes(limits, sizes),
              limits.budget_bytes + fixed_bytes + 256 * limits.neighbours + limits.slot_bytes)
        << text(limits);
  });
  std::printf("%llu limits kept, %llu refused\n", static_cast<unsigned long long>(kept),
              static_cast<unsigned long long>(refused));
  EXPECT_GT(kept, refused);
}

TEST(PhasedSizes, TheLeastBudgetIsEnough) {
  for_phased_limits([&](PhasedLimits limits) {
    limits.budget_bytes = static_cast<std::size_t>(phased_least_budget(limits));
    const PhasedSizes sizes = phased_sizes(limits);
    ASSERT_LE(all_bytes(limits, sizes),
              limits.budget_bytes + fixed_bytes + 256 * limits.neighbours + limits.slot_bytes)
        << text(limits);
  });
}

TEST(PhasedSizes, ParkingNeedsABudgetThatGrowsWithTheRanksAndNeighboursOneThatDoesNot) {
  std::uint64_t last = 0;
  for (const std::uint64_t ranks : {10, 1000, 100'000}) {
    PhasedLimits limits{.block_bytes = 64, .neighbours = 6, .ranks = ranks};
    EXPECT_EQ(phased_list_charge(limits), 0U) << ranks << " ranks, 6 neighbours";
    EXPECT_EQ(phased_least_budget(limits), 64U) << "one block";
    limits.blocks_wait = true;
    std::printf("%llu ranks with parking: %llu bytes of lists, least budget %llu\n",
                static_cast<unsigned long long>(ranks),
                static_cast<unsigned long long>(phased_list_bytes(limits)),
                static_cast<unsigned long long>(phased_least_budget(limits)));
    EXPECT_GT(phased_list_bytes(limits), last);
    EXPECT_LE(phased_list_bytes(limits), 512 * ranks + (8 << 10));
    if (ranks == 10) {
      EXPECT_EQ(phased_least_budget(limits), 64U);
    } else {
      EXPECT_GT(phased_least_budget(limits), 64U) << ranks;
    }
    last = phased_list_bytes(limits);
  }
  const PhasedLimits many{.block_bytes = 64, .neighbours = 99'999, .ranks = 100'000};
  EXPECT_EQ(phased_least_budget(many), 64U) << "256 bytes of each are promised";
}

TEST(PhasedSizes, AsManyBlocksMayWaitAsThereIsRoomForThemWithTheDefaultBudget) {
  // 5,000 slots of 16,000 bytes, all free: the bookkeeping of what waits there is small beside it.
  const PhasedLimits limits{.budget_bytes = 4 << 20,
                            .block_bytes = 16'000,
                            .slots = 5000,
                            .neighbours = 3,
                            .ranks = 4,
                            .slot_bytes = 5000 * 3,
                            .blocks_wait = true};
  const PhasedSizes sizes = phased_sizes(limits);
  EXPECT_GE(sizes.most_waiting, 5000U);
  PhasedLimits tight = limits;
  tight.budget_bytes = 16'000;
  EXPECT_GE(phased_sizes(tight).most_waiting, 1000U);
  tight.blocks_wait = false;
  EXPECT_EQ(phased_sizes(tight).most_waiting, 0U);
}

TEST(Parking, MatchesOfManyRanksFitTheRootsShare) {
  for (const std::uint64_t ranks : {10, 1000, 100'000})
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::mt19937_64 random(seed);
      std::vector<std::int64_t> balance(ranks);
      for (std::int64_t& blocks : balance)
        blocks = static_cast<std::int64_t>(test::pick(random, 0, 2000)) - 1000;
      if (seed == 0) balance.assign(ranks, 1), balance.front() = -1'000'000;  // all to one
      std::uint64_t flows = 0;
      match_in_order(balance, [&](const Match&) { ++flows; });
      EXPECT_LT(flows, ranks);
      // Two words of each rank and its balance, then the matches; these again as words to be
      // scattered, with a count and a place for every rank.
      EXPECT_LE(ranks * (16 + 8) + flows * sizeof(Match), 64 * ranks);
      EXPECT_LE(flows * (sizeof(Match) + 16) + ranks * 8, 64 * ranks);
    }
}

TEST(PhasedSizes, HaveNoMoreThanCanBeInThem) {
  constexpr std::uint64_t unlimited = PhasedLimits().leaving;
  for_phased_limits([&](PhasedLimits limits) {
    if (limits.blocks_wait) return;
    const PhasedSizes most = phased_sizes(limits);
    for (const std::uint64_t leaving : {std::uint64_t{0}, std::uint64_t{3}, unlimited})
      for (const std::uint64_t arriving : {std::uint64_t{0}, std::uint64_t{5}, unlimited}) {
        limits.leaving = leaving;
        limits.arriving = arriving;
        const PhasedSizes sizes = phased_sizes(limits);
        const std::uint64_t one = 1;
        EXPECT_EQ(sizes.send_blocks, std::min(most.send_blocks, std::max(one, leaving)))
            << text(limits);
        EXPECT_LE(sizes.scratch_slots, std::max(one, arriving)) << text(limits);
        EXPECT_TRUE(arriving != unlimited || sizes.scratch_slots >= most.scratch_slots);
      }
  });
}

// 1,000 blocks of 8 bytes and a budget of 1 GiB.
TEST(PhasedSizes, DoNotGrowWithABudgetThatNothingFills) {
  const PhasedSizes sizes = phased_sizes({.budget_bytes = std::size_t{1} << 30,
                                          .block_bytes = 8,
                                          .slots = 1000,
                                          .neighbours = 2,
                                          .ranks = 3,
                                          .leaving = 1000,
                                          .arriving = 1000});
  EXPECT_EQ(sizes.scratch_slots, 1000U);
  EXPECT_EQ(sizes.send_blocks * sizes.send_buffers, 2000U);
}

}  // namespace
}  // namespace valet::schedule
