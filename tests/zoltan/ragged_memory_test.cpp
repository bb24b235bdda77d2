// SPDX-License-Identifier: BSD-3-Clause

// What the Rebalancer and the migration by lists take from the system for blocks of different
// sizes: what execute() is promised for them, and 4 bytes an object for the map, 12 while it is
// partitioned.

#include "counted_new.hpp"
#include "list_objects.hpp"
#include "promise.hpp"
#include <valet/zoltan/rebalancer.hpp>

namespace valet::test {
namespace {

using namespace zoltan;

constexpr std::uint64_t each = 50'000;
/// What a partition takes, as the Rebalancer has it: a map, and cells in 8 bytes an object or 1.6
/// MB.
constexpr std::uint64_t most_of_partition =
    4 * each + std::max<std::uint64_t>(8 * each, 8192 * 200) + (64 << 10);
constexpr std::size_t budget = std::size_t{256} << 10;

/// `each` blocks of 0 to 39 bytes, dealt out over a line by their numbers; room for twice as many.
struct Blocks {
  std::vector<std::byte> arena = std::vector<std::byte>(2 * each * 20 + 1000);
  std::vector<std::uint64_t> lengths = std::vector<std::uint64_t>(2 * each);
  std::vector<std::uint32_t> names = std::vector<std::uint32_t>(2 * each);

  Blocks() {
    std::size_t next = 0;
    for (std::uint64_t k = 0; k < each; ++k) {
      names[k] = static_cast<std::uint32_t>(k) * static_cast<std::uint32_t>(size()) +
                 static_cast<std::uint32_t>(rank());
      lengths[k] = names[k] % 40;
      for (std::uint64_t b = 0; b < lengths[k]; ++b) arena[next++] = byte(names[k]);
    }
  }
  static std::byte byte(std::uint32_t name) { return static_cast<std::byte>(name * 37); }

  [[nodiscard]] RaggedStorage storage() {
    return {{ragged_field(std::span(arena), std::span(lengths))}, {field(names)}};
  }
  [[nodiscard]] bool are_right(std::uint64_t count) const {
    std::size_t next = 0;
    for (std::uint64_t k = 0; k < count; ++k) {
      if (lengths[k] != names[k] % 40) return false;
      for (std::uint64_t b = 0; b < lengths[k]; ++b)
        if (arena[next++] != byte(names[k])) return false;
    }
    return sum_over_ranks(static_cast<long long>(count)) == static_cast<long long>(each) * size();
  }
  /// The documented bound of a migration, with the least page that there is.
  [[nodiscard]] std::uint64_t most_promised() const {
    constexpr std::uint64_t page = 512;
    const std::uint64_t pages =
        arena.size() / page + 1 + lengths.size() * 8 / page + 1 + names.size() * 4 / page + 1;
    return promised_bytes(budget, static_cast<std::uint64_t>(size() - 1), 0) + 20 * pages;
  }
};

/// @param beside  What is there beside what execute() takes.
/// @param before  What there may be before that.
void expect_within(const Report& report, const Blocks& blocks, std::uint64_t beside,
                   std::uint64_t before, std::uint64_t asked) {
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound <= blocks.most_promised()));
  expect_within_bound(report);
  const std::uint64_t promised = std::max(report.extra_bytes_bound + beside, before);
  EXPECT_TRUE(all_ranks(asked <= promised)) << asked << " > " << promised;
}

class RaggedPartition : public ::testing::TestWithParam<const char*> {};

RebalancerOptions options_of(const char* method) {
  return {.method = method, .migration = {.budget_bytes = budget}};
}

TEST_P(RaggedPartition, AndItsMigrationAreWithinThePromise) {
  Blocks blocks;
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of(GetParam()));
  rebalancer.coordinates(zoltan::array_columns(blocks.names.data(), blocks.names.size(), 1));
  const RaggedStorage storage = blocks.storage();
  const AskedBytes asked;
  const RebalanceResult result = rebalancer.rebalance(each, storage);
  const std::uint64_t most = asked.most();
  EXPECT_TRUE(all_ranks(blocks.are_right(result.count)));
  EXPECT_TRUE(all_ranks(result.partition_extra_bytes >= 4 * each));
  EXPECT_TRUE(all_ranks(result.partition_extra_bytes <= most_of_partition))
      << result.partition_extra_bytes;
  // One after the other: there are no cells any more when data moves.
  expect_within(result.report, blocks, 4 * each, most_of_partition, most);
}
INSTANTIATE_TEST_SUITE_P(, RaggedPartition, ::testing::Values("RCB", "CYCLIC"), ParameterName());

// The map is there before, and 4 bytes an object.
TEST(RaggedMemory, OfAMigrationIsThatOfExecute) {
  Blocks blocks;
  Rebalancer rebalancer(MPI_COMM_WORLD, options_of("RCB"));
  rebalancer.coordinates(zoltan::array_columns(blocks.names.data(), blocks.names.size(), 1));
  const RaggedStorage storage = blocks.storage();
  Partition partition = rebalancer.partition(each);
  const AskedBytes asked;
  static_cast<void>(rebalancer.required_room(partition, storage));
  const RebalanceResult result = rebalancer.migrate(std::move(partition), storage);
  const std::uint64_t most = asked.most();
  EXPECT_TRUE(all_ranks(blocks.are_right(result.count)));
  expect_within(result.report, blocks, 0, 0, most);
}

TEST(RaggedMemory, OfListsIsAMapMore) {
  Blocks blocks;
  OwnList exports;
  for (std::uint64_t k = 0; k < each; k += 2) {
    const auto slot = static_cast<ZOLTAN_ID_TYPE>(k);
    exports.add(blocks.names[k], slot, (rank() + 1) % size(), 0);
  }
  zoltan::PartitionLists lists;
  lists.exports = exports.list();
  lists.exports.parts = nullptr;
  const zoltan::ListOptions options{.migration = {.budget_bytes = budget}};
  const RaggedStorage storage = blocks.storage();
  const AskedBytes asked;
  const auto done = zoltan::migrate(MPI_COMM_WORLD, lists, each, storage, options);
  const std::uint64_t most = asked.most();
  EXPECT_TRUE(all_ranks(blocks.are_right(done.count)));
  EXPECT_TRUE(all_ranks(done.list_bytes == 4 * each)) << done.list_bytes;
  expect_within(done.report, blocks, 4 * each, 0, most);
}

}  // namespace
}  // namespace valet::test
