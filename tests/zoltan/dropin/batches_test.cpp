// SPDX-License-Identifier: BSD-3-Clause

// The decisions of the migration that need no MPI: batches, scratch, parameters.

#include "dropin/batches.hpp"

#include "handle/parameters.hpp"
#include "testing.hpp"

namespace {

using namespace valet::zoltan;
using Verdict = ParameterAnswer::Verdict;

TEST(Batches, EndBeforeTheLimitIsPassed) {
  const std::vector<int> sizes{8, 8, 16, 8};
  EXPECT_EQ(batch_end(sizes, 0, 32, 8), 2U);
  EXPECT_EQ(batch_end(sizes, 0, 56, 8), 3U);
  EXPECT_EQ(batch_end(sizes, 2, 1000, 8), 4U);
}

TEST(Batches, HoldAtLeastOneObjectAndNoSecondBehindALargeOne) {
  const std::vector<int> sizes{800, 8, 800, 0, 0};
  EXPECT_EQ(batch_end(sizes, 0, 32, 8), 1U);
  EXPECT_EQ(batch_end(sizes, 1, 32, 8), 2U);
  EXPECT_EQ(batch_end(sizes, 3, 32, 8), 5U);
}

TEST(Batches, IgnoreTheMarkOfTheLastObject) {
  const std::vector<int> sizes{8 | last_of_message, 8, 8 | last_of_message};
  EXPECT_EQ(batch_end(sizes, 0, 32, 8), 2U);
}

TEST(Scratch, IsOneBatchWhereEverythingIsToGoAtOnceOrIsLittle) {
  EXPECT_EQ(divide_scratch({4 << 20, 4 << 20, 10000, 3 << 20, 7, true}).batch, 3U << 20);
  EXPECT_LT(divide_scratch({4 << 20, 4 << 20, 10000, 3 << 20, 7}).batch, 3U << 20);
  EXPECT_EQ(divide_scratch({4 << 20, 4 << 20, 10000, 200 << 10, 1}).batch, 200U << 10);
}

TEST(Batches, AddUpWithoutTheMark) {
  const std::vector<int> sizes{8, 16 | last_of_message};
  EXPECT_EQ(sum_of(sizes), 24U);
}

TEST(Scratch, OfABatchIsWithinWhatAnIntCounts) {
  const std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_EQ(divide_scratch(
                {.memory = large, .smallest_memory = large, .exported = large, .at_once = true})
                .batch,
            largest_batch);
}

TEST(Scratch, StaysInsideTheMemory) {
  for (const std::uint64_t memory : {100'000ULL, 1ULL << 20, 4ULL << 20, 1ULL << 33}) {
    const Scratch scratch = divide_scratch({memory, memory, 5000, 1ULL << 40, 30});
    EXPECT_LE(2 * scratch.batch, memory);
    EXPECT_LE(2 * scratch.batch + scratch.node, memory);
    EXPECT_LE(2 * scratch.chunk + scratch.step + scratch.node, memory);
    EXPECT_LE(scratch.batch, largest_batch);
    EXPECT_GT(scratch.batch, 0U);
    EXPECT_GE(scratch.step, scratch.budget / 2);
  }
}

TEST(Scratch, StaysInsideTheMemoryThatManyNeighboursLeave) {
  for (const std::uint64_t memory : {1ULL << 16, 1ULL << 20, 4ULL << 20}) {
    const Scratch scratch = divide_scratch({memory, memory, memory / 4 * 3, 1ULL << 40, 70});
    EXPECT_LE(2 * scratch.batch + scratch.node, scratch.budget);
    EXPECT_LE(scratch.budget, memory / 4);
    EXPECT_GT(scratch.batch, 0U);
  }
}

TEST(Scratch, AlignsMessages) {
  for (std::uint64_t memory = 1; memory < 8'000'000; memory = memory * 2 + 1)
    EXPECT_EQ(chunk_for(memory) % 64, 0U) << memory;
}

TEST(Scratch, HasAsMuchForTheStepOfTheOnlyDestinationAsForItsOwn) {
  for (const std::uint64_t memory : {1ULL << 20, 4ULL << 20, 64ULL << 20}) {
    const Scratch scratch = divide_scratch({memory, memory, 5000, 1ULL << 40, 1});
    EXPECT_GE(scratch.node, scratch.step) << memory;
    EXPECT_GE(scratch.step, memory / 3) << memory;
    EXPECT_LE(2 * scratch.chunk + scratch.step + scratch.node, memory);
  }
}

TEST(Scratch, LetsAMessageHaveFourObjectsOfAQuarterAndTheirLists) {
  const std::vector<int> sizes(8, 64 << 10);
  EXPECT_EQ(batch_end(sizes, 0, chunk_for(4 << 20), 20), 4U);
}

TEST(Scratch, IsSmallButThereWhenTheMemoryIsNot) {
  const Scratch scratch = divide_scratch({1, 1, 5000, 1 << 20, 3});
  EXPECT_GT(scratch.batch, 0U);
  EXPECT_GT(scratch.chunk, 0U);
  EXPECT_LE(scratch.budget, 16U << 10);
}

TEST(Parameters, TakeNamesAndValuesInAnyCase) {
  ParameterTable table;
  EXPECT_EQ(table.set("migrate_method", " stream ").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_CALLBACKS", "Steps").verdict, Verdict::taken);
  EXPECT_EQ(table.set("Migrate_Memory", "64k").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_REPORT", "/tmp/Report.json").verdict, Verdict::taken);
  MigrationParameters parameters;
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::stream);
  EXPECT_EQ(parameters.callbacks, CallbackMode::steps);
  EXPECT_EQ(parameters.options.budget_bytes, 65536U);
  EXPECT_EQ(parameters.report, "/tmp/Report.json");
}

TEST(Parameters, LeaveZoltansOwnToZoltan) {
  ParameterTable table;
  EXPECT_EQ(table.set("LB_METHOD", "RCB").verdict, Verdict::not_ours);
  EXPECT_EQ(table.set("MIGRATE_ONLY_PROC_CHANGES", "0").verdict, Verdict::not_ours);
}

TEST(Parameters, RefuseWhatIsUnknownAndSayWhy) {
  ParameterTable table;
  for (const char* value : {"BITONIC", "PAIRWISE", "FAST", ""}) {
    const ParameterAnswer answer = table.set("MIGRATE_METHOD", value);
    EXPECT_EQ(answer.verdict, Verdict::refused) << value;
    valet::test::expect_words(answer.warning,
                              {"it takes ZOLTAN, AUTO, STREAM, DIRECT, PHASED, CYCLIC"});
  }
  valet::test::expect_words(table.set("MIGRATE_HEURISTIC", "BEST_FIT").warning,
                            {"FIRST_FIT, MAX_FIRST"});
  for (const char* value : {"-1", "1.5", "2K", "often", "99999999999", ""})
    EXPECT_NE(table.set("MIGRATE_PARKING", value).warning.find("it takes 0 for never, or k"),
              std::string::npos)
        << value;
  valet::test::expect_words(table.set("MIGRATE_SCHEDULER", "ROOT").warning,
                            {"it takes DISTRIBUTED, CENTRALIZED"});
  EXPECT_EQ(table.set("MIGRATE_TRACE", "Trace.json").verdict, Verdict::taken);
  for (const char* value : {"4X", "-1", "0", "0K", "many"}) {
    const ParameterAnswer answer = table.set("MIGRATE_MEMORY", value);
    EXPECT_EQ(answer.verdict, Verdict::refused) << value;
    valet::test::expect_words(answer.warning,
                              {"it takes a number of bytes from 1 on, such as 65536, 64K"});
  }
  EXPECT_EQ(table.set("MIGRATE_VERIFY", "yes").verdict, Verdict::refused);
}

TEST(Parameters, TakeHowPhasesAreMade) {
  ParameterTable table;
  EXPECT_EQ(table.set("MIGRATE_METHOD", "Phased").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_HEURISTIC", "min_max").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_PARKING", " 3 ").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_SCHEDULER", "Centralized").verdict, Verdict::taken);
  MigrationParameters parameters;
  EXPECT_FALSE(parameters.parks() || parameters.is_centralized());
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::phased);
  EXPECT_EQ(parameters.options.phased.heuristic, valet::Heuristic::min_max);
  EXPECT_EQ(parameters.options.phased.parking, 3);
  EXPECT_EQ(parameters.options.phased.scheduler, valet::Scheduler::centralized);
  EXPECT_TRUE(parameters.parks() && parameters.is_centralized());
  table.set("MIGRATE_METHOD", "STREAM");
  table.apply_to(parameters);
  EXPECT_FALSE(parameters.parks() || parameters.is_centralized()) << "they are of PHASED";
  table.set("MIGRATE_METHOD", "CYCLIC");
  table.apply_to(parameters);
  EXPECT_TRUE(!parameters.parks() && parameters.is_centralized() && parameters.has_phases());
}

TEST(Parameters, KeepTheOldValueWhenARefusedOneComesAndDropItOnDefault) {
  ParameterTable table;
  table.set("MIGRATE_METHOD", "DIRECT");
  table.set("MIGRATE_METHOD", "FAST");
  MigrationParameters parameters;
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::direct);
  EXPECT_EQ(table.set("MIGRATE_METHOD", "default").verdict, Verdict::taken);
  parameters = {};
  table.apply_to(parameters);
  EXPECT_FALSE(parameters.method.has_value());
}

TEST(Parameters, ComeFromTheEnvironmentToo) {
  setenv("VALET_MIGRATE_METHOD", "stream", 1);
  setenv("VALET_MIGRATE_MEMORY", "lots", 1);
  std::string warnings;
  MigrationParameters parameters;
  parameters_of_environment(warnings).apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::stream);
  valet::test::expect_words(warnings, {"VALET_MIGRATE_MEMORY"});
  unsetenv("VALET_MIGRATE_METHOD");
  unsetenv("VALET_MIGRATE_MEMORY");
}

}  // namespace
