// SPDX-License-Identifier: BSD-3-Clause

// What sets the phased method apart: as many phases as the schedule on paper has, memory that is
// asked for at every phase, and what it refuses.

#include "engine/phased/kept_phases.hpp"
#include "filled_map.hpp"
#include "named_budget.hpp"
#include "schedule/phased_sizes.hpp"
#include "tools/schedules.hpp"

namespace valet::test {
namespace {

/// The numbers of a map: what the schedule knows of it.
struct Numbers {
  schedule::TransferMatrix matrix;
  std::vector<std::uint64_t> free;  ///< slots, and one block of scratch
  std::uint64_t all_free = 0;
};

Numbers numbers_of(const GlobalMap& map) {
  Numbers numbers;
  std::vector<schedule::TransferEntry> transfers;
  for (std::size_t rank = 0; rank < map.slots.size(); ++rank) {
    numbers.free.push_back(1);
    for (const auto& to : map.destination[rank])
      if (to)
        transfers.push_back(
            {static_cast<std::uint32_t>(rank), static_cast<std::uint32_t>(to->rank), 1});
      else
        ++numbers.free.back();
    numbers.all_free += numbers.free.back();
  }
  numbers.matrix =
      schedule::TransferMatrix(static_cast<std::uint32_t>(map.slots.size()), std::move(transfers));
  return numbers;
}

Options phased(Heuristic heuristic, int parking, std::uint64_t seed_of_phases = 1) {
  return {.method = Method::phased,
          .phased = {.heuristic = heuristic, .parking = parking, .seed = seed_of_phases}};
}
Options phased(Heuristic heuristic, int parking, Scheduler scheduler,
               std::size_t budget_bytes = std::size_t{4} << 20) {
  return {.budget_bytes = budget_bytes,
          .method = Method::phased,
          .phased = {.heuristic = heuristic, .scheduler = scheduler, .parking = parking}};
}

/// Carries a map out and expects the right content; the report of all ranks.
Report carried_out(const GlobalMap& map, const Options& options, std::size_t block_bytes = 40) {
  FilledMap filled(map, rank(), Shape::dense, block_bytes);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const Report report = execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
  expect_within_bound(report);
  return summed_over_ranks(report, MPI_COMM_WORLD);
}

TEST(Phased, RanksComeToThePhasesOfTheSchedule) {
  const std::uint64_t maps = cases_wanted(15);
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), 25, static_cast<Tightness>(k % 3), false);
    const Numbers numbers = numbers_of(map);
    for (const Heuristic heuristic : all_heuristics()) {
      Options options = phased(heuristic, static_cast<int>(k % 3), k);
      options.budget_bytes = 40;  // one block: A_i is known to the test
      SCOPED_TRACE(seed_note(seed() + k) + ", " + to_string(heuristic));
      const schedule::PhaseCounts counts =
          schedule::count_phases(numbers.matrix, numbers.free, options.phased);
      const Report report = carried_out(map, options);
      EXPECT_EQ(report.phases, counts.phases);
      EXPECT_EQ(report.detours, counts.detours);
    }
  }
}

TEST(Phased, NeverMorePhasesThanTwiceTheVolumeOverTheMemoryAndOne) {
  const std::uint64_t maps = cases_wanted(15);
  for (std::uint64_t k = 0; k < maps && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), 30, static_cast<Tightness>(k % 3), false);
    const Numbers numbers = numbers_of(map);
    const schedule::PhaseBounds bounds =
        schedule::phase_bounds(numbers.matrix.volume(), numbers.all_free);
    for (const Heuristic heuristic : all_heuristics()) {
      if (heuristic == Heuristic::continuous) continue;  // no bound survives rounding
      Options options = phased(heuristic, 1, k);
      options.budget_bytes = 40;
      SCOPED_TRACE(seed_note(seed() + k) + ", " + to_string(heuristic));
      const Report report = carried_out(map, options);
      EXPECT_LE(report.phases, bounds.upper);
      EXPECT_GE(report.phases, bounds.lower);
    }
  }
}

TEST(Phased, ManyBlocksParkAtOnce) {
  if (size() < 3) GTEST_SKIP() << "needs a bystander";
  // Figure 5 with many blocks: two ranks without a free slot swap all they have, and the
  // last one has room for the blocks of one of them, more than it can keep account of at once.
  constexpr std::uint64_t blocks = 4000;
  GlobalMap map = empty_map(size(), blocks);
  for (std::uint64_t slot = 0; slot < blocks; ++slot) {
    map.destination[0][slot] = Address{1, slot};
    map.destination[1][slot] = Address{0, slot};
  }
  for (std::size_t r = 2; r + 1 < map.destination.size(); ++r)
    for (std::uint64_t slot = 0; slot < blocks; ++slot)
      map.destination[r][slot] = Address{static_cast<int>(r), slot};
  Options options = phased(Heuristic::first_fit, 1);
  options.budget_bytes = 100 * 40;
  const Report report = carried_out(map, options);
  EXPECT_LE(report.phases, schedule::phase_bounds(2 * blocks, blocks).upper);
  EXPECT_GT(report.detours, blocks / 2);
}

/// All ranks but the last are full, and swap all they have with each other in equal parts; the last
/// one has so little room that the blocks which it receives in place of the others come one by one,
/// in so many pieces of heuristic continuous.
GlobalMap swaps_in_pieces(int ranks, std::uint64_t pieces) {
  const auto full = static_cast<std::uint64_t>(ranks) - 1;
  const std::uint64_t blocks = pieces * (pieces + 1) / (full - 1) * (full - 1);
  std::vector<std::uint64_t> slots(full, blocks);
  slots.push_back(full * blocks / pieces);
  GlobalMap map = empty_map(slots);
  for (std::uint64_t from = 0; from < full; ++from) {
    std::uint64_t next = 0;
    for (std::uint64_t slot = 0; slot < blocks; ++slot) {
      const std::uint64_t to = slot % (full - 1);
      if (to == 0) ++next;
      map.destination[from][slot] = Address{static_cast<int>((from + 1 + to) % full),
                                            (full - 2 - to) + (full - 1) * (next - 1)};
    }
  }
  return map;
}

TEST(Phased, BlocksWaitOneByOneInManyPieces) {
  if (size() != 5) GTEST_SKIP() << "made for five ranks";
  // 120 blocks for four ranks wait on the last one, in 30 pieces.
  const GlobalMap map = swaps_in_pieces(size(), 30);
  for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
    for (const int parking : {0, 1}) {
      Options options = phased(Heuristic::continuous, parking, scheduler, 8);
      if (scheduler == Scheduler::centralized && rank() == 0) options.budget_bytes = 20'000;
      const Report report = carried_out(map, options, 8);
      EXPECT_GT(report.detours, 50U);
      if (rank() == 0)
        std::cout << to_string(scheduler) << ", parking " << parking << ": " << report.phases
                  << " phases, " << report.detours << " blocks wait\n";
    }
}

TEST(Phased, CentralizedSchedulerBringsAllToTheirPlacesWithinTheBudget) {
  for (std::uint64_t k = 0; k < 12 && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), 30, static_cast<Tightness>(k % 3), false);
    for (const Heuristic heuristic : all_heuristics()) {
      Options options = phased(heuristic, static_cast<int>(k % 3), k);
      options.budget_bytes = 40;
      // The root keeps its schedule in the budget.
      if (rank() == 0) options.budget_bytes = 20'000;
      options.phased.scheduler = Scheduler::centralized;
      SCOPED_TRACE(seed_note(seed() + k) + ", " + to_string(heuristic));
      const Report report = carried_out(map, options);
      EXPECT_EQ(report.phases > 0, report.blocks_sent > 0);
      if (report.blocks_sent > 0) {
        EXPECT_GT(report.solve_seconds, 0);
      }
    }
  }
}

TEST(Phased, ScratchCountsAsFreeMemory) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  // A full ring: with scratch for all of it one phase is enough, with a tenth it takes ten.
  const GlobalMap map = ring_map(size(), 100, 100, 0);
  std::uint64_t most = 0;  // that any rank receives
  for (const std::uint64_t blocks : {1000, 20, 1}) {
    Options options = phased(Heuristic::fortune_wheel, 0);
    options.budget_bytes = blocks * 40;
    const Report report = carried_out(map, options);
    EXPECT_GE(report.phases, most);
    most = report.phases;
    if (blocks == 1000) {
      EXPECT_EQ(report.phases, 1U);
    }
    if (blocks == 1) {
      EXPECT_GT(report.phases, 10U);
    }
  }
}

TEST(Phased, LargeBlocksThatMpiDoesNotBuffer) {
  for (const Tightness tightness : {Tightness::full, Tightness::loose})
    for (const int parking : {0, 1})
      for (const std::size_t budget : {1, 5}) {
        std::mt19937_64 random(seed());
        const GlobalMap map = random_map(random, size(), 6, tightness, false);
        Options options = phased(Heuristic::random, parking);
        options.budget_bytes = budget * 200'000;
        static_cast<void>(carried_out(map, options, 200'000));
      }
}

TEST(Phased, MemoryThatShrinksAndGrowsFromPhaseToPhase) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  const GlobalMap map = ring_map(size(), 200, 150, 0);
  const Report steady = carried_out(map, phased(Heuristic::max_first, 0));
  for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
    for (const int parking : {0, 2}) {
      Options options = phased(Heuristic::max_first, parking, scheduler);
      std::uint64_t asked = 0;
      options.phased.available_bytes = [&asked] {
        constexpr std::array<std::size_t, 4> blocks{3, 0, 17, 1};
        return blocks[asked++ % blocks.size()] * 40;
      };
      const Report report = carried_out(map, options);
      EXPECT_GT(max_over_ranks(static_cast<long long>(asked)), 2);
      EXPECT_GT(report.phases, steady.phases) << "less memory, more phases";
    }
  Options options = phased(Heuristic::max_first, 0);
  options.phased.available_bytes = [] { return std::size_t{1} << 30; };
  EXPECT_EQ(carried_out(map, options).phases, steady.phases) << "no more than there is";
}

TEST(Phased, RankWithNothingToSendParksNothingHoweverLittleItCanTake) {
  if (size() == 1) GTEST_SKIP() << "nothing leaves";
  // All send to the last rank, which lets in three blocks a phase and so lacks memory for the rest.
  constexpr std::uint64_t blocks = 30;
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(size()), 2 * blocks);
  slots.back() = blocks * slots.size();
  GlobalMap map = empty_map(slots);
  for (std::size_t r = 0; r + 1 < slots.size(); ++r)
    for (std::uint64_t slot = 0; slot < blocks; ++slot)
      map.destination[r][slot] = Address{size() - 1, r * blocks + slot};
  Options options = phased(Heuristic::first_fit, 1);
  options.phased.available_bytes = [] {
    return rank() == size() - 1 ? std::size_t{120} : std::size_t{1} << 30;
  };
  for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized}) {
    options.phased.scheduler = scheduler;
    const Report report = carried_out(map, options);
    EXPECT_EQ(report.phases, blocks * static_cast<std::uint64_t>(size() - 1) / 3);
  }
}

TEST(Phased, SameSeedSamePhases) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 300, Tightness::full, false);
  for (const Heuristic heuristic : {Heuristic::random, Heuristic::fortune_wheel}) {
    Options options = phased(heuristic, 2, 77);
    options.budget_bytes = 400;
    const Report first = carried_out(map, options);
    const Report second = carried_out(map, options);
    EXPECT_EQ(first.phases, second.phases);
    EXPECT_EQ(first.messages, second.messages);
    EXPECT_EQ(first.detours, second.detours);
  }
}

TEST(Phased, APlanIsCarriedOutAgainAndAgain) {
  std::mt19937_64 random(seed());
  const GlobalMap map = random_map(random, size(), 100, Tightness::full, false);
  for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
    for (const Heuristic heuristic : {Heuristic::first_fit, Heuristic::continuous}) {
      Options options = phased(heuristic, 1, scheduler, 30'000);
      options.verify = true;
      FilledMap filled(map, rank(), Shape::structure);
      Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_slots, options);
      const std::uint64_t phases = execute(plan, filled.storage()).phases;
      for (int repetition = 0; repetition < 3; ++repetition) {
        filled.fill();
        const Report report = execute(plan, filled.storage());
        EXPECT_EQ(report.phases, phases);
        EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_slots, Order::any)), 0);
      }
    }
}

/// Executes a plan three times; returns the seconds that the later two took to make phases.
double seconds_of_schedules(const GlobalMap& map, const Options& options, std::size_t block_bytes) {
  FilledMap filled(map, rank(), Shape::dense, block_bytes);
  Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
  const Report first = execute(plan, filled.storage());
  EXPECT_GT(first.gather_seconds, 0);
  double seconds = 0;
  for (int repetition = 0; repetition < 2; ++repetition) {
    filled.fill();
    const Report report = execute(plan, filled.storage());
    EXPECT_EQ(report.phases, first.phases);
    EXPECT_EQ(report.detours, first.detours);
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
    seconds += report.gather_seconds + report.solve_seconds + report.scatter_seconds;
  }
  return seconds;
}

TEST(Phased, ScheduleOfARootIsKeptForFurtherExecutions) {
  for (std::uint64_t k = 0; k < 3 && all_ranks(!HasFailure()); ++k) {
    std::mt19937_64 random(seed() + k);
    const GlobalMap map = random_map(random, size(), 200, static_cast<Tightness>(k % 3), false);
    for (const Heuristic heuristic : all_heuristics()) {
      SCOPED_TRACE(seed_note(seed() + k) + ", " + to_string(heuristic));
      Options options = phased(heuristic, static_cast<int>(k % 3), k);
      options.phased.scheduler = Scheduler::centralized;
      options.budget_bytes = rank() == 0 ? 30'000 : 2000;
      EXPECT_EQ(seconds_of_schedules(map, options, 40), 0);
    }
  }
}

TEST(Phased, ScheduleThatIsTooLongOrCanChangeIsMadeAgain) {
  if (size() < 3) GTEST_SKIP() << "the root, which has a larger budget, takes no part";
  // A block a phase, and 6 bytes for each: more than 2 KiB and nothing of the budget.
  constexpr std::uint64_t blocks = 500;
  std::vector<std::uint64_t> slots(static_cast<std::size_t>(size()), blocks);
  slots.front() = 0;
  GlobalMap map = empty_map(slots);
  for (std::size_t r = 1; r < slots.size(); ++r)
    for (std::uint64_t slot = 0; slot < blocks; ++slot)
      map.destination[r][slot] = Address{static_cast<int>(r % (slots.size() - 1)) + 1, slot};
  Options options = phased(Heuristic::first_fit, 0, Scheduler::centralized, 20'000);
  options.phased.available_bytes = [] { return std::size_t{8}; };
  EXPECT_GT(seconds_of_schedules(ring_map(size(), 30, 30, 0), options, 8), 0) << "can change";
  options.phased.available_bytes = nullptr;
  options.budget_bytes = rank() == 0 ? 20'000 : 8;
  EXPECT_GT(seconds_of_schedules(map, options, 8), 0) << "too long";
}

// Ranks that exchange no blocks are not kept together: a tag stands for one phase only.
TEST(Phased, ScheduleOfAsManyPhasesAsThereAreTagsIsNotKept) {
  Ledger ledger;
  const mpi::Channel channel = mpi::Channel::open(MPI_COMM_WORLD);
  const engine::PhaseMoves nothing(ledger);
  for (const int phases : {mpi::phase_tags - 1, mpi::phase_tags}) {
    engine::KeptPhases kept(ledger, 2 * mpi::phase_tags);
    for (int phase = 0; phase < phases; ++phase) kept.note(&nothing);
    kept.note(nullptr);
    EXPECT_EQ(kept.is_complete(channel), phases < mpi::phase_tags);
  }
}

/// Peak of this rank, if it is not the root: it sends the same number of blocks however many ranks
/// there are, to all of them.
long long bytes_with_peers(MPI_Comm comm, const Options& options) {
  constexpr std::uint64_t slots = 72;
  constexpr std::uint64_t blocks = 60;
  int ranks = 0;
  int self = 0;
  MPI_Comm_size(comm, &ranks);
  MPI_Comm_rank(comm, &self);
  GlobalMap map = empty_map(ranks, slots);
  for (int from = 0; from < ranks; ++from)
    for (std::uint64_t k = 0; k < blocks; ++k) {
      const int distance = 1 + static_cast<int>(k % static_cast<std::uint64_t>(ranks - 1));
      row_of(map.destination, from)[k] = Address{(from + distance) % ranks, k};
    }
  FilledMap filled(map, self, Shape::dense, 64);
  Plan plan = filled.plan(comm, Form::to_ranks, options);
  const Report report = execute(plan, filled.storage());
  EXPECT_EQ(filled.wrong(Form::to_ranks, options.order), 0);
  return self == 0 ? 0 : static_cast<long long>(report.peak_extra_bytes);
}

TEST(PhasedMemory, ListsOfAPeerAreWhatIsTakenOffTheBudgetForThem) {
  if (size() < 5) GTEST_SKIP() << "too few peers to see what one takes";
  MPI_Comm pair = MPI_COMM_NULL;  // the last one may be of three
  MPI_Comm_split(MPI_COMM_WORLD, std::min(rank() / 2, size() / 2 - 1), 0, &pair);
  for (const int parking : {0, 1})
    for (const Heuristic heuristic : {Heuristic::first_fit, Heuristic::continuous})
      for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized}) {
        Options options = phased(heuristic, parking, scheduler, 64);
        int self_in_pair = 0;
        int peers_in_pair = 0;
        MPI_Comm_rank(pair, &self_in_pair);
        MPI_Comm_size(pair, &peers_in_pair);
        --peers_in_pair;
        Options in_pair = options;
        if (scheduler == Scheduler::centralized && self_in_pair == 0) in_pair.budget_bytes = 30'000;
        if (scheduler == Scheduler::centralized && rank() == 0) options.budget_bytes = 30'000;
        const long long few = bytes_with_peers(pair, in_pair);
        const long long many = bytes_with_peers(MPI_COMM_WORLD, options);
        const bool blocks_wait = parking > 0 || heuristic == Heuristic::continuous;
        const long long of_a_peer = blocks_wait ? 512 : 224;
        const long long grown = few == 0 || many == 0 ? 0 : many - few;
        const long long peers = size() - 1 - peers_in_pair;
        EXPECT_TRUE(all_ranks(grown <= peers * of_a_peer))
            << grown << " bytes for " << peers << " peers more, " << to_string(heuristic) << ", "
            << to_string(scheduler) << ", parking " << parking;
        if (rank() == size() - 1)
          std::cout << to_string(heuristic) << ", " << to_string(scheduler) << ", parking "
                    << parking << ": " << grown / peers << " bytes a peer, " << of_a_peer
                    << " reckoned with\n";
      }
  MPI_Comm_free(&pair);
}

/// Expects that planning is refused on all ranks with the same text, and leaves the blocks alone.
void expect_refused(const Options& options, ErrorCode code, const std::vector<std::string>& words) {
  const GlobalMap map = ring_map(size(), 20, 15, 1);
  FilledMap filled(map, rank(), Shape::dense);
  const std::vector<std::byte> before = filled.blocks().memory();
  const Outcome outcome =
      outcome_of([&] { static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, options)); });
  expect_error(outcome, code, words);
  EXPECT_TRUE(all_ranks(filled.blocks().memory() == before));
}

TEST(PhasedErrors, NegativeParkingInterval) {
  expect_refused(phased(Heuristic::random, -2), ErrorCode::invalid_argument,
                 {"parking interval of -2", "0 for no parking"});
}

TEST(PhasedErrors, MatrixThatDoesNotFitTheBudgetOfTheRoot) {
  if (size() < 3) GTEST_SKIP() << "a matrix of two ranks is small";
  Options options = phased(Heuristic::first_fit, 1, Scheduler::centralized);
  if (rank() == 0) options.budget_bytes = 80;
  expect_refused(options, ErrorCode::budget_too_small,
                 {"rank 0", "the centralized scheduler needs a budget of ", "budget is 80 bytes",
                  "take the distributed scheduler"});
}

/// The number that is named suffices, whichever ranks have less, and one byte less does not.
TEST(PhasedErrors, TheNamedBudgetSuffices) {
  constexpr std::size_t block_bytes = 14;
  const GlobalMap map = ring_map(size(), 40, 10, 1);
  for (const Heuristic heuristic : {Heuristic::first_fit, Heuristic::continuous})
    for (const int parking : {0, 1})
      for (const Scheduler scheduler : {Scheduler::distributed, Scheduler::centralized})
        for (const int poor : {-1, 0, size() - 1})  // the only rank with so little; -1: all
          for (const std::size_t budget : {block_bytes - 1, block_bytes}) {
            Options options = phased(heuristic, parking, scheduler,
                                     poor == -1 || poor == rank() ? budget : 1 << 20);
            FilledMap filled(map, rank(), Shape::dense, block_bytes);
            const auto plan = [&] {
              static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, options));
            };
            SCOPED_TRACE(std::string(to_string(heuristic)) + ", " + to_string(scheduler) +
                         ", parking " + std::to_string(parking) + ", rank " + std::to_string(poor));
            const Outcome outcome = outcome_of(plan);
            ASSERT_TRUE(same_on_all_ranks(outcome)) << outcome.text;
            ASSERT_TRUE(outcome.code == ErrorCode::budget_too_small ||
                        (budget == block_bytes && outcome.text.empty()))
                << outcome.text;
            if (outcome.text.empty()) continue;
            options.budget_bytes = named_budget(outcome.text);
            static_cast<void>(carried_out(map, options, block_bytes));
            --options.budget_bytes;
            EXPECT_TRUE(all_ranks(outcome_of(plan).code == ErrorCode::budget_too_small));
          }
}

TEST(PhasedErrors, ListsOfManyRanksThatDoNotFitTheBudget) {
  if (size() < 60) GTEST_SKIP() << "the lists of fewer ranks need no budget";
  const schedule::PhasedLimits limits{.block_bytes = 40,
                                      .neighbours = 15,
                                      .ranks = static_cast<std::uint64_t>(size()),
                                      .blocks_wait = true};
  const std::uint64_t needed = schedule::phased_least_budget(limits);
  Options options = phased(Heuristic::first_fit, 1);
  options.budget_bytes = static_cast<std::size_t>(needed) - 1;
  expect_refused(options, ErrorCode::budget_too_small,
                 {"rank 0", "lists of all " + std::to_string(size()) + " ranks",
                  "a budget of " + std::to_string(needed) + " bytes",
                  "the budget is " + std::to_string(needed - 1) + " bytes", "take parking 0"});
  options.budget_bytes = static_cast<std::size_t>(needed);
  static_cast<void>(carried_out(ring_map(size(), 20, 15, 1), options));
  options.phased.parking = 0;
  options.budget_bytes = 40;
  static_cast<void>(carried_out(ring_map(size(), 20, 15, 1), options));
}

TEST(PhasedErrors, MemoryThatChangesWithAHeuristicThatDividesItOnce) {
  Options options = phased(Heuristic::continuous, 0);
  options.phased.available_bytes = [] { return std::size_t{1000}; };
  expect_refused(options, ErrorCode::invalid_argument,
                 {"available_bytes", "take another heuristic"});
}

TEST(PhasedErrors, RanksThatDisagreeOnHowPhasesAreMade) {
  if (size() == 1) GTEST_SKIP() << "one rank agrees with itself";
  const std::string last = " on rank " + std::to_string(size() - 1);
  const std::string remedy = "give the same on all ranks";
  const bool odd = is_odd();
  Options options = phased(odd ? Heuristic::random : Heuristic::first_fit, 1);
  expect_refused(options, ErrorCode::invalid_argument,
                 {"option phased.heuristic differs: first_fit on ", ", random" + last, remedy});
  options = phased(Heuristic::random, odd ? 1 : 0);
  expect_refused(options, ErrorCode::invalid_argument,
                 {"option phased.parking differs: 0 on ", ", 1" + last, remedy});
  options = phased(Heuristic::random, 0, odd ? 1 : 2);
  expect_refused(options, ErrorCode::invalid_argument,
                 {"option phased.seed differs: 1" + last, ", 2 on ", remedy});
  options = phased(Heuristic::random, 0);
  if (odd) options.phased.scheduler = Scheduler::centralized;
  expect_refused(
      options, ErrorCode::invalid_argument,
      {"option phased.scheduler differs: distributed on ", ", centralized" + last, remedy});
  options = phased(Heuristic::random, 0);
  if (odd) options.phased.available_bytes = [] { return std::size_t{1} << 20; };
  expect_refused(
      options, ErrorCode::invalid_argument,
      {"option phased.available_bytes differs: not given on ", ", given" + last, remedy});
}

}  // namespace
}  // namespace valet::test
