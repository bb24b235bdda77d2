// SPDX-License-Identifier: BSD-3-Clause

// What valet-plan says that a rank takes is what the ledger counts in the real code, to the byte:
// in jobs of up to a million ranks of which this process is one, and in real ones.

#include "scale.hpp"

#include "circulant_neighbours.hpp"
#include "mpi/sparse_exchange.hpp"
#include "test_comm.hpp"

#ifdef VALET_TEST_CIRCULANT
#include "circulant_mpi.hpp"
#endif

namespace valet::test {
namespace {

using plan::ScaleOptions;

/// Particles and patches, with budgets that hold all of them, few, and next to none.
constexpr std::array<ScaleOptions, 8> cases{
    {{.neighbours = 4, .blocks = 2'000, .block_bytes = 64},
     {.neighbours = 4, .blocks = 100'003, .block_bytes = 64, .budget_bytes = 1 << 20},
     {.neighbours = 6, .blocks = 10'000, .block_bytes = 8, .budget_bytes = 3000},
     {.neighbours = 100, .blocks = 100'000, .block_bytes = 64},
     {.neighbours = 100, .blocks = 20'000, .block_bytes = 100, .budget_bytes = 100'000},
     {.neighbours = 26, .blocks = 500, .block_bytes = 16'384, .budget_bytes = 1 << 20},
     {.neighbours = 2, .blocks = 70, .block_bytes = 16'384, .budget_bytes = 1 << 19},
     {.neighbours = 4, .blocks = 120, .block_bytes = 1'000, .budget_bytes = 5'000}}};

struct Moved {
  std::uint64_t planned = 0;  ///< bytes that the plan keeps
  Report report;
};

Moved move(MPI_Comm communicator, int own_rank, const ScaleOptions& scale) {
  std::vector<std::byte> data(scale.blocks * scale.block_bytes);
  const std::vector<int> map =
      map_to_neighbours(own_rank, static_cast<int>(scale.ranks), static_cast<int>(scale.neighbours),
                        static_cast<std::size_t>(scale.blocks));
  const BlockStorage storage{field(data.data(), scale.blocks, scale.block_bytes)};
  Options options{.budget_bytes = scale.budget_bytes, .method = Method::stream};
  options.share_memory = options.keep_memory = false;
  Plan plan = plan_to_ranks(communicator, storage, map.size(), map, options);
  return {plan.extra_bytes(), execute(plan, storage)};
}

std::string text_of(const ScaleOptions& scale) {
  return std::to_string(scale.ranks) + " ranks, " + std::to_string(scale.neighbours) +
         " neighbours, " + std::to_string(scale.blocks) + " blocks of " +
         std::to_string(scale.block_bytes) + ", budget " + std::to_string(scale.budget_bytes);
}

#ifdef VALET_TEST_CIRCULANT

TEST(Scale, IsWhatARankOfAMillionTakes) {
  for (ScaleOptions scale : cases)
    for (const std::uint32_t ranks : {scale.neighbours + 4, 1'000U, 100'000U, 1'000'000U}) {
      scale.ranks = ranks;
      SCOPED_TRACE(text_of(scale));
      const tools::Case predicted = analyse(scale)["memory"];
      const CirculantRanks job(static_cast<int>(ranks));
      MPI_Comm communicator = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
      const Moved moved = move(communicator, 0, scale);
      MPI_Comm_free(&communicator);
      EXPECT_EQ(moved.report.neighbours, scale.neighbours);
      EXPECT_FALSE(moved.report.plan_from_layout);
      EXPECT_EQ(predicted["peak"], moved.report.peak_extra_bytes);
      EXPECT_EQ(predicted["promised"], moved.report.extra_bytes_bound);
      EXPECT_LE(moved.report.peak_extra_bytes, moved.report.extra_bytes_bound);
    }
}

TEST(Scale, CountsTheRoundsOfPlanning) {
  ScaleOptions scale{.ranks = 1'000'000, .neighbours = 100, .blocks = 5'000};
  const CirculantRanks job(static_cast<int>(scale.ranks));
  const OwnComm communicator;
  static_cast<void>(move(communicator, 0, scale));  // makes the channel
  const std::size_t reductions = CirculantRanks::reductions();
  const std::size_t barriers = CirculantRanks::barriers();
  static_cast<void>(move(communicator, 0, scale));
  EXPECT_EQ(CirculantRanks::reductions() - reductions,
            std::size_t{plan::reductions_of_plan + plan::reductions_of_execution});
  EXPECT_EQ(CirculantRanks::barriers() - barriers, std::size_t{plan::barriers_of_plan});
}

TEST(Scale, TakesNothingForRanksThatAreNoNeighbours) {
  for (ScaleOptions scale : cases) {
    scale.ranks = scale.neighbours + 2;
    const tools::Case few = analyse(scale);
    scale.ranks = 1'000'000'000;
    const tools::Case many = analyse(scale);
    for (const char* const moment : {"planning", "moving"})
      EXPECT_EQ(few[moment], many[moment]) << text_of(scale);
  }
}

TEST(Scale, PlanningGrowsWithTheLogarithmOfTheRanksAndWithTheNeighbours) {
  ScaleOptions scale{.ranks = 1024, .neighbours = 4, .latency_seconds = 1e-6};
  const auto seconds_of = [](const tools::Case& time, const char* part) {
    return time[part].get<double>();
  };
  const tools::Case thousand = analyse(scale)["time"];
  EXPECT_EQ(thousand["levels"], 10);
  scale.ranks = 1025;
  EXPECT_EQ(analyse(scale)["time"]["levels"], 11);
  scale.ranks = 1024 * 1024;
  const tools::Case million = analyse(scale)["time"];
  EXPECT_DOUBLE_EQ(seconds_of(million, "collective"), 2 * seconds_of(thousand, "collective"));
  EXPECT_EQ(million["neighbours"], thousand["neighbours"]);
  EXPECT_EQ(million["local"], thousand["local"]);
  EXPECT_EQ(million["collective"], million["least"]);
  scale.neighbours = 2 * mpi::sparse_counts_at_once;
  EXPECT_DOUBLE_EQ(seconds_of(analyse(scale)["time"], "neighbours"),
                   2 * seconds_of(million, "neighbours"));
}

#else

TEST(Scale, IsWhatEveryRankOfAJobTakes) {
  for (ScaleOptions scale : cases) {
    if (scale.blocks * scale.block_bytes > 8'000'000) continue;
    scale.ranks = static_cast<std::uint32_t>(size());
    scale.neighbours = std::min(scale.neighbours, scale.ranks - 1);
    SCOPED_TRACE(text_of(scale));
    tools::Case predicted;
    try {
      predicted = analyse(scale)["memory"];
    } catch (const Error& error) {
      expect_words(error.what(), {"too little for the blocks that wait for their slots"});
      continue;
    }
    const Report report = move(MPI_COMM_WORLD, rank(), scale).report;
    EXPECT_TRUE(all_ranks(report.neighbours == scale.neighbours));
    // Planning from a layout takes other things, which the tool does not speak of.
    const std::uint64_t expected =
        predicted[report.plan_from_layout ? "moving" : "peak"].get<std::uint64_t>();
    EXPECT_TRUE(all_ranks(report.peak_extra_bytes == expected))
        << report.peak_extra_bytes << " in place of " << expected;
  }
}

#endif

}  // namespace
}  // namespace valet::test
