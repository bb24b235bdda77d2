// SPDX-License-Identifier: BSD-3-Clause

// Objects of a hash map end where their map says, whatever the method, the sizes and the budget,
// and the memory that it takes is what is promised.

#include "object_cells.hpp"
#include "promise.hpp"
#include "random_options.hpp"

namespace valet::test {
namespace {

/// Any cells: empty ranks, one rank that gets all, sizes from 0 to more than the budget.
std::vector<CellMove> random_cells(std::mt19937_64& random) {
  const std::uint64_t most = std::array<std::uint64_t, 5>{0, 1, 7, 60, 400}[pick(random, 0, 4)];
  const std::uint64_t bytes =
      std::array<std::uint64_t, 5>{0, 9, 200, 3000, 30000}[pick(random, 0, most > 60 ? 2 : 4)];
  const bool to_one = pick(random, 0, 4) == 0;
  const auto ranks = static_cast<std::uint64_t>(size());
  const int target = static_cast<int>(pick(random, 0, ranks - 1));
  std::vector<CellMove> moves;
  for (int r = 0; r < size(); ++r) {
    const std::uint64_t count = pick(random, 0, 3) == 0 ? 0 : pick(random, 0, most);
    for (std::uint64_t k = 0; k < count; ++k)
      moves.push_back({moves.size() + 1, pick(random, 0, bytes), r,
                       to_one ? target : static_cast<int>(pick(random, 0, ranks - 1))});
  }
  return moves;
}

Options random_ways(std::mt19937_64& random) {
  Options options;
  options.method = all_methods[pick(random, 0, all_methods.size() - 1)];
  options.budget_bytes = 16384 << (2 * pick(random, 0, 4));
  if (options.method == Method::direct) options.budget_bytes = std::size_t{64} << 20;
  choose_phases(random, options);
  options.cyclic.edge_order = pick(random, 0, 1) == 0 ? EdgeOrder::ascending : EdgeOrder::rotated;
  options.verify = pick(random, 0, 2) == 0;
  options.share_memory = pick(random, 0, 1) == 0;
  options.keep_memory = pick(random, 0, 3) > 0;
  return options;
}

/// Expects the numbers of what moved.
void expect_counts(const ObjectCells& cells, const Report& report) {
  std::uint64_t sent = 0, bytes = 0, after = 0;
  for (const CellMove& move : cells.moves()) {
    const bool leaves = move.from == rank() && move.to != rank();
    sent += leaves ? 1 : 0;
    bytes += leaves ? 8 + move.bytes : 0;
    after += move.to == rank() ? 1 : 0;
  }
  EXPECT_EQ(report.blocks_before, cells.count());
  EXPECT_EQ(report.blocks_sent, sent);
  EXPECT_EQ(report.bytes_sent, bytes);
  EXPECT_EQ(report.blocks_after, after);
}

/// What the promise says of this rank.
std::uint64_t promised(const ObjectCells& cells, const Options& options, const Report& report) {
  std::uint64_t moving = 0, largest = 0;
  std::vector<int> peers;
  for (const CellMove& move : cells.moves()) {
    if (move.from == move.to || (move.from != rank() && move.to != rank())) continue;
    ++moving;
    largest = std::max(largest, 8 + move.bytes);
    peers.push_back(move.from == rank() ? move.to : move.from);
  }
  std::ranges::sort(peers);
  const auto neighbours =
      static_cast<std::uint64_t>(std::unique(peers.begin(), peers.end()) - peers.begin());
  EXPECT_EQ(report.neighbours, neighbours);
  const bool knows_all =
      report.method == "cyclic" ||
      (report.method == "phased" &&
       (options.phased.parking > 0 || options.phased.scheduler == Scheduler::centralized));
  // An object that is larger than the budget raises it.
  const std::uint64_t budget =
      options.budget_bytes + (largest > options.budget_bytes / 8 ? 3 * largest : 0);
  return promised_bytes(budget, neighbours, knows_all ? static_cast<std::uint64_t>(size()) : 0) +
         24 * moving;
}

TEST(MigrateObjects, EndWhereTheirMapSays) {
  const std::uint64_t cases = cases_wanted(700);
  std::mt19937_64 random(seed());
  for (std::uint64_t number = 0; number < cases; ++number) {
    ObjectCells cells(random_cells(random));
    const Options options = random_ways(random);
    cells.in_order = options.method != Method::phased || options.phased.parking == 0;
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)) + ", " + describe(options));
    const Report report =
        migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
    ASSERT_TRUE(all_ranks(cells.wrong() == 0));
    EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
    EXPECT_LE(report.peak_extra_bytes, promised(cells, options, report));
    EXPECT_EQ(report.verified, options.verify);
    EXPECT_TRUE(options.share_memory || report.shared_bytes == 0);
    expect_counts(cells, report);
  }
}

TEST(MigrateObjects, NeedNotSayThatTheyHaveLeft) {
  ObjectCells cells(dealt_cells(30, 100));
  ObjectFunctions functions = cells.functions();
  functions.left = {};
  const Report report = migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, functions);
  EXPECT_EQ(cells.everywhere(), static_cast<long long>(cells.moves().size()) +
                                    sum_over_ranks(static_cast<long long>(report.blocks_sent)))
      << "the application frees them later";
}

TEST(MigrateObjects, TakeOfLargeObjectsTheMemoryOfTwo) {
  constexpr std::uint64_t large = 1 << 20;
  std::vector<CellMove> moves;
  for (int k = 0; k < 4 * size(); ++k)
    moves.push_back({moves.size(), large - 8, k % size(), (k + 1) % size()});
  ObjectCells cells(moves);
  const Options options{.budget_bytes = 16384};
  const Report report =
      migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
  EXPECT_TRUE(all_ranks(cells.wrong() == 0));
  expect_within_bound(report);
  EXPECT_LE(report.peak_extra_bytes, options.budget_bytes + 2 * large + (64 << 10));
}

TEST(MigrateObjects, TakeListsForEachThatMoves) {
  ObjectCells cells(dealt_cells(20'000, 0));
  const Options options{.budget_bytes = 16384};
  const Report report =
      migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
  EXPECT_TRUE(all_ranks(cells.wrong() == 0));
  expect_within_bound(report);
  EXPECT_LE(report.peak_extra_bytes, promised(cells, options, report));
}

TEST(MigrateObjects, ShareMemoryOfANodeWithinTheBudgetWhereThatPays) {
  const OwnComm communicator;
  ObjectCells cells(dealt_cells(2000, 5000));
  for (const std::size_t budget : {std::size_t{16} << 20, std::size_t{2} << 20})
    for (int time = 0; time < 2; ++time) {
      cells.fill();
      const Options options{.budget_bytes = budget, .method = Method::stream};
      const Report report =
          migrate_objects(communicator, cells.count(), cells.ranks, cells.functions(), options);
      EXPECT_TRUE(all_ranks(cells.wrong() == 0));
      const auto shared =
          static_cast<std::uint64_t>(max_over_ranks(static_cast<long long>(report.shared_bytes)));
      EXPECT_LE(report.peak_extra_bytes + report.neighbours * shared,
                promised(cells, options, report))
          << "what it reaches of others included";
      if (time == 0 && budget > (2 << 20)) {
        EXPECT_EQ(shared, 0U) << "little moves, and between these ranks for the first time";
      }
    }
}

TEST(MigrateObjects, TakeAsManyStepsAsTheirScheduleHas) {
  ObjectCells cells(dealt_cells(static_cast<std::uint64_t>(20 * size()), 0));
  const auto steps_of = [&](Method method, EdgeOrder order) {
    cells.fill();
    Options options{.method = method};
    options.cyclic.edge_order = order;
    const Report report =
        migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
    EXPECT_TRUE(all_ranks(cells.wrong() == 0));
    return report.phases;
  };
  const auto ranks = static_cast<std::uint64_t>(size());
  EXPECT_EQ(steps_of(Method::stream, {}), 1U);
  EXPECT_EQ(steps_of(Method::direct, {}), 1U);
  EXPECT_EQ(steps_of(Method::cyclic, EdgeOrder::ascending), ranks < 3 ? 1 : 2 * ranks - 3);
  EXPECT_EQ(steps_of(Method::cyclic, EdgeOrder::rotated), ranks < 3 ? 1 : ranks - 1);
}

TEST(MigrateObjects, TakesNoMoreMemoryForMore) {
  Options options;
  options.budget_bytes = 256 << 10;
  std::uint64_t peaks[2]{};
  for (const std::uint64_t count : {400U, 4000U}) {
    ObjectCells cells(dealt_cells(count, 3000));
    const Report report =
        migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
    EXPECT_TRUE(all_ranks(cells.wrong() == 0));
    const std::uint64_t lists = 24 * (report.blocks_sent + report.blocks_received);
    peaks[count > 400 ? 1 : 0] = report.peak_extra_bytes - std::min(report.peak_extra_bytes, lists);
    if (size() > 1) {
      EXPECT_GT(report.phases, 1U);
    }
  }
  EXPECT_LE(peaks[1], options.budget_bytes + (64 << 10));
}

TEST(MigrateObjects, AreTheSameStepByStepWhateverTheTiming) {
  std::vector<std::string> logs;
  for (int time = 0; time < 3; ++time) {
    ObjectCells cells(dealt_cells(300, 2000));
    std::string log;
    cells.on_call = [&](const char* function) { log += function; };
    Options options;
    options.budget_bytes = 64 << 10;
    options.share_memory = time != 1;
    static_cast<void>(
        migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options));
    logs.push_back(log);
  }
  EXPECT_EQ(logs[0], logs[1]);
  EXPECT_EQ(logs[0], logs[2]);
}

TEST(MigrateObjects, ObeyTheMemoryThatTheApplicationHas) {
  ObjectCells cells(dealt_cells(200, 1000));
  Options options;
  options.method = Method::phased;
  std::size_t asked = 0;
  options.phased.available_bytes = [&] { return ++asked, std::size_t{5000}; };
  const Report report =
      migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
  EXPECT_TRUE(all_ranks(cells.wrong() == 0));
  std::uint64_t bytes = 0;
  for (const CellMove& move : cells.moves())
    if (move.to == rank() && move.from != rank()) bytes += 8 + move.bytes;
  EXPECT_GE(report.phases, bytes / 5000);
  EXPECT_GE(asked, report.phases);
}

TEST(MigrateObjects, ParkOnRanksWithMemoryToSpare) {
  ObjectCells cells(dealt_cells(400, 2000));
  cells.in_order = false;
  Options options;
  options.method = Method::phased;
  options.budget_bytes = rank() == 0 ? std::size_t{8} << 20 : std::size_t{48} << 10;
  options.phased.parking = 1;
  const Report report =
      migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
  EXPECT_TRUE(all_ranks(cells.wrong() == 0));
  if (size() > 2) {
    EXPECT_GT(sum_over_ranks(static_cast<long long>(report.detours)), 0);
  }
}

TEST(MigrateObjects, ParkOnSeveralRanksWhatDoesNotFitOne) {
  if (size() < 4) GTEST_SKIP() << "two ranks have none for others";
  std::vector<CellMove> moves;
  for (const int from : {0, 1})
    for (int k = 0; k < 80; ++k)
      moves.push_back({moves.size(), k < 60 ? 100U : 5000U, from, 1 - from});
  ObjectCells cells(moves);
  cells.in_order = false;
  Options options{.budget_bytes = rank() < 2 ? std::size_t{4} << 20 : std::size_t{48} << 10,
                  .method = Method::phased};
  options.phased.parking = 1;
  options.phased.available_bytes = [] { return std::size_t{5500}; };
  const Report report =
      migrate_objects(MPI_COMM_WORLD, cells.count(), cells.ranks, cells.functions(), options);
  EXPECT_TRUE(all_ranks(cells.wrong() == 0));
  EXPECT_GT(sum_over_ranks(static_cast<long long>(report.detours)), 20);
}

}  // namespace
}  // namespace valet::test
