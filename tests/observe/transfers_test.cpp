// SPDX-License-Identifier: BSD-3-Clause

// The matrix of transfers that a migration writes (Options::transfers): who has sent how much to
// whom, whatever moves.

#include "filled_map.hpp"
#include "seed.hpp"
#include "shared_folder.hpp"

#include <fstream>
#include <random>
#include <sstream>

namespace valet::test {
namespace {

/// What a file says.
struct Written {
  std::string head;
  std::map<std::uint64_t, std::vector<std::uint64_t>> facts;  ///< by rank, from 1
  std::map<std::pair<int, int>, std::uint64_t> blocks;        ///< from row to column, from 0
  std::uint64_t entries = 0, ranks = 0;
};

Written written_in(const std::string& path) {
  Written all;
  std::ifstream file(path);
  std::string line;
  std::getline(file, all.head);
  while (std::getline(file, line) && line.starts_with('%')) {
    if (!line.starts_with("%! ")) continue;
    std::istringstream words(line.substr(3));
    std::uint64_t rank = 0;
    words >> rank;
    for (std::uint64_t number = 0; words >> number;) all.facts[rank].push_back(number);
  }
  std::uint64_t columns = 0;
  std::istringstream(line) >> all.ranks >> columns >> all.entries;
  EXPECT_EQ(all.ranks, columns);
  int row = 0, column = 0;
  for (std::uint64_t blocks = 0; file >> row >> column >> blocks;)
    EXPECT_TRUE(all.blocks.emplace(std::pair{row - 1, column - 1}, blocks).second) << row;
  return all;
}

/// Blocks from each rank to each other one, by its ranks' destinations. Collective.
std::map<std::pair<int, int>, std::uint64_t> counted(std::span<const int> destinations) {
  std::vector<std::uint64_t> own(static_cast<std::size_t>(size()), 0);
  for (const int to : destinations) ++own[static_cast<std::size_t>(to)];
  std::vector<std::uint64_t> all(own.size() * own.size());
  MPI_Allgather(own.data(), size(), MPI_UINT64_T, all.data(), size(), MPI_UINT64_T, MPI_COMM_WORLD);
  std::map<std::pair<int, int>, std::uint64_t> blocks;
  for (int from = 0; from < size(); ++from)
    for (int to = 0; to < size(); ++to) {
      const std::uint64_t count = all[static_cast<std::size_t>(from * size() + to)];
      if (from != to && count > 0) blocks[{from, to}] = count;
    }
  return blocks;
}

/// Destinations by lot; rank 1 has no blocks.
std::vector<int> random_destinations(std::mt19937_64& random) {
  std::vector<int> ranks(rank() == 1 ? 0 : 100);
  for (int& to : ranks) to = std::uniform_int_distribution<int>(0, size() - 1)(random);
  return ranks;
}

/// Whether rank 0 finds in the file what moved. Collective.
void expect_written(const std::string& path, std::span<const int> destinations,
                    const Report& report, std::uint64_t free) {
  const auto expected = counted(destinations);
  const std::array<std::uint64_t, 4> own{free, report.bytes_sent, report.budget_bytes,
                                         report.peak_extra_bytes};
  std::vector<std::uint64_t> facts(4 * static_cast<std::size_t>(size()));
  MPI_Gather(own.data(), 4, MPI_UINT64_T, facts.data(), 4, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (rank() != 0) return;
  const Written file = written_in(path);
  EXPECT_EQ(file.head, "%%MatrixMarket matrix coordinate integer general");
  EXPECT_EQ(file.ranks, static_cast<std::uint64_t>(size()));
  EXPECT_EQ(file.blocks, expected);
  EXPECT_EQ(file.entries, expected.size());
  ASSERT_EQ(file.facts.size(), static_cast<std::size_t>(size()));
  for (const auto& [number, found] : file.facts) {
    const auto at = facts.begin() + 4 * static_cast<std::ptrdiff_t>(number - 1);
    EXPECT_EQ(found, std::vector(at, at + 4)) << "rank " << number;
  }
}

class Transfers : public testing::Test {
 protected:
  SharedFolder folder;
  const std::string path = folder.path("transfers.mtx");
  Options options{.transfers = path};
  std::mt19937_64 random{seed() + static_cast<std::uint64_t>(rank())};
};

TEST_F(Transfers, AreThoseOfBlocksInSlotsByAnyMethod) {
  for (const Method method : {Method::stream, Method::direct, Method::phased, Method::cyclic}) {
    SCOPED_TRACE(to_string(method));
    options.method = method;
    const std::vector<int> ranks = random_destinations(random);
    const std::uint64_t slots = 100 * static_cast<std::uint64_t>(size());
    std::vector<double> x(slots);
    const Report report =
        migrate(MPI_COMM_WORLD, BlockStorage{field(x.data(), slots)}, ranks.size(), ranks, options);
    expect_written(path, ranks, report, slots - ranks.size());
  }
}

TEST_F(Transfers, AreWrittenAnewByEveryExecution) {
  const std::vector<int> ranks = random_destinations(random);
  std::vector<double> x(100 * static_cast<std::size_t>(size()));
  const BlockStorage storage{field(x.data(), x.size())};
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, ranks.size(), ranks, options);
  for (int k = 0; k < 2; ++k) {
    const Report report = execute(plan, storage);
    expect_written(path, ranks, report, x.size() - ranks.size());
    if (rank() == 0) std::filesystem::remove(path);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  expect_error(outcome_of([&] { plan.bind(storage); }), ErrorCode::invalid_argument,
               {"verify, trace, transfers or callbacks"});
}

TEST_F(Transfers, AreThoseOfBlocksOfDifferentSizes) {
  const std::vector<int> ranks = random_destinations(random);
  const std::uint64_t most = 100 * static_cast<std::uint64_t>(size());
  std::vector<std::uint64_t> lengths(most, 0);
  for (std::size_t k = 0; k < ranks.size(); ++k) lengths[k] = 8 * (k % 5);
  std::vector<std::byte> arena(40 * most);
  const RaggedStorage storage{ragged_field(std::span(arena), std::span(lengths))};
  const Report report = migrate(MPI_COMM_WORLD, storage, ranks.size(), ranks, options);
  const std::uint64_t least = std::min(report.blocks_sent, report.blocks_received);
  expect_written(path, ranks, report, report.blocks_received - least);
}

TEST_F(Transfers, AreThoseOfObjectsBehindFunctions) {
  const std::vector<int> ranks = random_destinations(random);
  ObjectFunctions functions;
  functions.size = [](std::uint64_t) { return 24; };
  functions.pack = [](std::uint64_t, std::span<std::byte>) {};
  functions.unpack = [](int, std::span<const std::byte>) {};
  const Report report = migrate_objects(MPI_COMM_WORLD, ranks.size(), ranks, functions, options);
  const std::uint64_t least = std::min(report.blocks_sent, report.blocks_received);
  expect_written(path, ranks, report, report.blocks_received - least);
}

TEST_F(Transfers, HaveAFileOfTheirOwn) {
  const GlobalMap map = ring_map(size(), 20, 20, 1);
  FilledMap filled(map, rank(), Shape::dense);
  options.trace = options.transfers;
  expect_error(
      outcome_of([&] { static_cast<void>(filled.plan(MPI_COMM_WORLD, Form::to_ranks, options)); }),
      ErrorCode::invalid_argument,
      {"trace and transfers are both '" + path + "'", "give each a file of its own"});
}

TEST_F(Transfers, ThatCannotBeWrittenAreAWarningAndTheBlocksMove) {
  for (const char* file : {"/nowhere/at/all/t.mtx", "/dev/full"}) {
    options.transfers = file;
    const GlobalMap map = ring_map(size(), 20, 20, 1);
    FilledMap filled(map, rank(), Shape::dense);
    testing::internal::CaptureStderr();
    Plan plan = filled.plan(MPI_COMM_WORLD, Form::to_ranks, options);
    static_cast<void>(execute(plan, filled.storage()));
    const std::string text = testing::internal::GetCapturedStderr();
    EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, options.order)), 0);
    EXPECT_EQ(text.find("cannot write the transfers to '" + std::string(file)) != std::string::npos,
              rank() == 0)
        << text;
  }
}

}  // namespace
}  // namespace valet::test
