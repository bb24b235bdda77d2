// SPDX-License-Identifier: BSD-3-Clause

#include "instances.hpp"
#include "schedule/relaxation.hpp"
#include "seed.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

namespace valet::schedule {
namespace {

using test::Instance;

const PhasedOptions parks_always{.heuristic = Heuristic::first_fit, .parking = 1};

PhaseCounts count(const Instance& instance, const PhasedOptions& options) {
  return count_phases(instance.matrix, instance.free, options);
}

TEST(Phases, EverythingArrivesWithinTheMemoryOfEveryPhase) {
  for (std::uint64_t seed = 0; seed < valet::test::cases_wanted(1500); ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::random_instance(random, 9, 25);
    for (const Heuristic heuristic : all_heuristics())
      for (const int parking : {1, 2, 5}) {
        const PhasedOptions options{.heuristic = heuristic, .parking = parking, .seed = seed};
        const PhaseSchedule schedule = test::record_phases(instance, options);
        const auto violation = find_violation(instance.matrix, instance.free, schedule);
        ASSERT_FALSE(violation) << to_string(heuristic) << ", parking " << parking << ", seed "
                                << seed << ": " << *violation;
        const PhaseCounts counts = count(instance, options);
        ASSERT_TRUE(counts.complete);
        ASSERT_EQ(counts.phases, schedule.size());
        if (heuristic != Heuristic::continuous) {
          ASSERT_EQ(counts.volume, instance.matrix.volume() + counts.detours) << "seed " << seed;
        }
      }
  }
}

TEST(Phases, NeverExceedTheTrueBoundWithParkingAtEveryPhase) {
  const std::uint64_t instances = valet::test::cases_wanted(20000);
  std::uint64_t most = 0;
  for (std::uint64_t seed = 0; seed < instances; ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::random_instance(random, 10, seed % 2 == 0 ? 3 : 40);
    const PhaseBounds bounds = phase_bounds(instance.matrix.volume(), instance.all_free());
    for (const Heuristic heuristic : all_heuristics()) {
      if (heuristic == Heuristic::continuous) continue;  // no bound survives rounding
      const PhaseCounts counts =
          count(instance, {.heuristic = heuristic, .parking = 1, .seed = seed});
      ASSERT_TRUE(counts.complete) << "seed " << seed;
      ASSERT_LE(counts.phases, bounds.upper)
          << to_string(heuristic) << ", seed " << seed << ": " << text(instance);
      ASSERT_GE(counts.phases, bounds.lower) << "seed " << seed;
      most = std::max(most, counts.phases);
    }
  }
  std::printf(
      "%llu instances (seeds from 0 on), 5 heuristics: all within ceil(2T/M)+1; most phases %llu\n",
      static_cast<unsigned long long>(instances), static_cast<unsigned long long>(most));
}

TEST(Phases, NeverGetStuckWithoutParkingWhereEveryRankEndsWithAFreeSlot) {
  for (std::uint64_t seed = 0; seed < valet::test::cases_wanted(2000); ++seed) {
    std::mt19937_64 random(seed);
    Instance instance = test::random_instance(random, 9, 25);
    for (std::uint64_t& slots : instance.free) ++slots;
    for (const Heuristic heuristic : all_heuristics())
      ASSERT_TRUE(count(instance, {.heuristic = heuristic, .seed = seed}).complete)
          << to_string(heuristic) << ", seed " << seed;
  }
}

TEST(Phases, StopWithoutParkingWhereNobodyCanReceive) {
  const Instance instance = test::swaps(1, 1, 1);
  const PhaseCounts counts = count(instance, {.heuristic = Heuristic::first_fit});
  EXPECT_FALSE(counts.complete);
  EXPECT_EQ(counts.phases, 0U);
  EXPECT_TRUE(count(instance, {.heuristic = Heuristic::first_fit, .parking = 3}).complete);
}

TEST(Phases, PublishedBoundHasACounterexample) {
  // Both blocks of a swap are parked: then no parked block enables a direct one, as Lemma 5 claims.
  for (std::uint32_t pairs = 1; pairs <= 6; ++pairs) {
    const Instance instance = test::swaps(pairs, 1, 2);
    const PhaseBounds bounds = phase_bounds(instance.matrix.volume(), 2);
    const PhaseCounts counts = count(instance, parks_always);
    EXPECT_EQ(counts.phases, 2 * pairs);
    EXPECT_LE(counts.phases, bounds.upper);
    EXPECT_EQ(counts.phases > bounds.published, pairs >= 4) << pairs << " pairs";
  }
  EXPECT_EQ(count(test::swaps(4, 1, 2), parks_always).phases, 8U);
  EXPECT_EQ(phase_bounds(8, 2).published, 7U);
}

/// Figure 5: two ranks swap 100 blocks with a free slot each, a third has 100 free slots.
Instance figure_5() {
  Instance instance = test::swaps(1, 100, 100);
  instance.free = {1, 1, 100};
  return instance;
}

TEST(Phases, ParkingMakesThreeOfAHundred) {
  EXPECT_EQ(count(figure_5(), {.heuristic = Heuristic::first_fit}).phases, 100U);
  EXPECT_EQ(count(figure_5(), parks_always).phases, 3U);
}

TEST(Phases, OneFreeSlotForManySwapsTakesOneAndAHalfTimesTheLowerBound) {
  for (std::uint32_t pairs = 1; pairs <= 5; ++pairs) {  // Figure 6
    const Instance instance = test::swaps(pairs, 1, 1);
    EXPECT_EQ(count(instance, parks_always).phases, 3 * pairs);
    EXPECT_EQ(phase_bounds(instance.matrix.volume(), 1).lower, 2 * pairs);
  }
}

TEST(Phases, ParkAtEveryKthPhaseOnly) {
  const PhaseSchedule schedule =
      test::record_phases(figure_5(), {.heuristic = Heuristic::first_fit, .parking = 3});
  for (std::size_t phase = 0; phase < schedule.size(); ++phase)
    for (const Move& move : schedule[phase])
      if (move.receiver != move.target) {
        EXPECT_EQ((phase + 1) % 3, 0U);
      }
  EXPECT_EQ(schedule.size(), 5U);
}

TEST(Phases, MessagesArePairsOfRanks) {
  // Blocks for two destinations are parked on one rank: a single message.
  const TransferMatrix matrix(4, {{0, 1, 1}, {0, 2, 1}, {1, 0, 1}, {2, 0, 1}});
  const std::vector<std::uint64_t> free{0, 0, 0, 2};
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers(), starts_with(free), parks_always);
  ASSERT_TRUE(scheduler.next());
  ASSERT_EQ(scheduler.moves().size(), 2U);
  EXPECT_EQ(scheduler.moves()[0], (Move{0, 3, 1, 1}));
  EXPECT_EQ(scheduler.moves()[1], (Move{0, 3, 2, 1}));
  EXPECT_EQ(count_messages(scheduler.moves()), 1U);
}

TEST(Phases, OfOneSourceAreAMessageForEachRank) {
  const TransferMatrix matrix(3, {{0, 1, 1}, {0, 2, 1}});
  const std::vector<std::uint64_t> free{0, 1, 1};
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers(), starts_with(free), parks_always);
  ASSERT_TRUE(scheduler.next());
  EXPECT_EQ(count_messages(scheduler.moves()), 2U);
}

TEST(Phases, RankWithNothingToSendTakesNoRoomForParking) {
  // Rank 0 can take a block in place of ten, and has none to part with: ranks 2 and 3, which are
  // full, then need what rank 4 has.
  const TransferMatrix matrix(5, {{1, 0, 10}, {2, 3, 4}, {3, 2, 4}});
  const std::vector<std::uint64_t> free{10, 0, 0, 0, 8};
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers(), starts_with(free), parks_always);
  const std::vector<PhaseStart> starts{{1, 100}, {0, 100}, {0, 100}, {0, 100}, {8, 100}};
  std::ranges::copy(starts, scheduler.starts().begin());
  ASSERT_TRUE(scheduler.next());
  const std::vector<Move> moves(scheduler.moves().begin(), scheduler.moves().end());
  EXPECT_EQ(moves, (std::vector<Move>{{1, 0, 0, 1}, {2, 4, 3, 4}, {3, 4, 2, 4}}));
}

TEST(Phases, SchedulerStaysWithinTheMemoryItStates) {
  std::mt19937_64 random(3);
  const Instance instance = test::neighbourhood(random, 12, 100, 3);
  for (const Heuristic heuristic : all_heuristics()) {
    Ledger ledger;
    PhaseScheduler scheduler(ledger, instance.matrix.transfers(), starts_with(instance.free),
                             {.heuristic = heuristic});
    EXPECT_LE(ledger.peak_bytes(),
              PhaseScheduler::bytes(instance.free.size(), instance.matrix.transfers().size()))
        << to_string(heuristic);
    if (heuristic == Heuristic::continuous) continue;
    while (scheduler.next()) continue;
    EXPECT_LE(ledger.peak_bytes(),
              PhaseScheduler::bytes(instance.free.size(), instance.matrix.transfers().size()))
        << to_string(heuristic);
  }
}

/// Ranks that can keep account of few blocks of others, given to a scheduler before each phase.
struct TightRanks {
  std::uint64_t most_waiting = 0;
  std::vector<std::uint64_t> free;
  std::vector<std::map<std::uint32_t, std::uint64_t>> waiting;  ///< per rank, by target

  [[nodiscard]] std::uint64_t waiting_on(std::size_t rank) const {
    std::uint64_t blocks = 0;
    for (const auto& [target, count] : waiting[rank]) blocks += count;
    return blocks;
  }
  [[nodiscard]] std::vector<PhaseStart> starts() const {
    std::vector<PhaseStart> all;
    for (std::size_t rank = 0; rank < free.size(); ++rank)
      all.push_back({free[rank], most_waiting - waiting_on(rank)});
    return all;
  }
  /// The most blocks that wait on a rank when the phase ends.
  std::uint64_t carry_out(std::span<const Move> moves) {
    for (const Move& move : moves) {
      EXPECT_GE(free[move.receiver], move.blocks);
      free[move.receiver] -= move.blocks;
    }
    for (const Move& move : moves) {
      free[move.source] += move.blocks;
      // Own blocks first, so as many wait as there may be.
      std::uint64_t& own = left[{move.source, move.target}];
      const std::uint64_t of_own = std::min(own, move.blocks);
      own -= of_own;
      waiting[move.source][move.target] -= move.blocks - of_own;
    }
    for (const Move& move : moves)
      if (move.receiver != move.target) waiting[move.receiver][move.target] += move.blocks;
    std::uint64_t most = 0;
    for (std::size_t rank = 0; rank < free.size(); ++rank) most = std::max(most, waiting_on(rank));
    return most;
  }

  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> left;  ///< where they started
};

class TightPhases : public testing::TestWithParam<Heuristic> {};

TEST_P(TightPhases, ParkNoMoreBlocksThanRanksCanKeepAccountOfNorMorePairsThanTheRootCan) {
  std::uint64_t limited = 0;
  std::uint64_t free_to_park = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const Instance instance = test::neighbourhood(random, 5, 20, 1);
    const std::size_t ranks = instance.free.size();
    TightRanks tight{test::pick(random, 0, 12), instance.free, {}, {}};
    tight.waiting.resize(ranks);
    for (const TransferEntry& transfer : instance.matrix.transfers())
      tight.left[{transfer.source, transfer.destination}] = transfer.blocks;
    const PhasedOptions options{.heuristic = GetParam(), .parking = 1, .seed = seed};
    free_to_park += count(instance, options).detours;
    const std::uint64_t more_pairs = test::pick(random, 0, 20) * (seed % 2 == 0 ? 1 : 20);
    const std::size_t most_pairs = instance.matrix.transfers().size() + more_pairs;
    Ledger ledger;
    PhaseScheduler scheduler(ledger, instance.matrix.transfers(), tight.starts(), options,
                             most_pairs);
    const auto next = [&] {
      std::ranges::copy(tight.starts(), scheduler.starts().begin());
      return scheduler.next();
    };
    while (next()) {
      ASSERT_LE(tight.carry_out(scheduler.moves()), tight.most_waiting) << "seed " << seed;
      for (const Move& move : scheduler.moves())
        if (move.receiver != move.target) limited += move.blocks;
    }
    ASSERT_TRUE(scheduler.done()) << "seed " << seed;
    ASSERT_LE(scheduler.pairs(), most_pairs) << "seed " << seed;
    ASSERT_LE(ledger.peak_bytes(), PhaseScheduler::bytes(ranks, most_pairs));
  }
  std::printf("300 instances of 25 ranks: %llu blocks park, %llu without limits\n",
              static_cast<unsigned long long>(limited),
              static_cast<unsigned long long>(free_to_park));
  EXPECT_GT(limited, 0U);
  EXPECT_LT(limited, free_to_park);
}

INSTANTIATE_TEST_SUITE_P(Heuristics, TightPhases,
                         testing::Values(Heuristic::random, Heuristic::continuous),
                         valet::test::ParameterName());

TEST(Violation, IsFound) {
  const TransferMatrix matrix(2, {{0, 1, 3}});
  const std::vector<std::uint64_t> free{0, 3};
  EXPECT_FALSE(find_violation(matrix, free, {{{0, 1, 1, 3}}}));
  valet::test::expect_words(find_violation(matrix, free, {{{0, 1, 1, 2}}}).value_or(""),
                            {"at the end: 1 blocks"});
  valet::test::expect_words(find_violation(matrix, free, {{{0, 1, 1, 4}}}).value_or(""),
                            {"it has 3"});
  const std::vector<std::uint64_t> tight{0, 2};
  valet::test::expect_words(find_violation(matrix, tight, {{{0, 1, 1, 3}}}).value_or(""),
                            {"room for 2"});
}

}  // namespace
}  // namespace valet::schedule
