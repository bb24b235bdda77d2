// SPDX-License-Identifier: BSD-3-Clause

// The decisions about packed objects that need no MPI: batches and scratch.

#include "objects/batches.hpp"

#include "testing.hpp"

namespace {

using namespace valet::objects;

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

}  // namespace
