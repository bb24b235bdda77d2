// SPDX-License-Identifier: BSD-3-Clause

// Blocks in memory that ranks of a node share: which are taken straight from slots, whichever
// storage an execution is given, and what becomes of them where a rank cannot reach another's.

#include "filled_map.hpp"
#include "process_memory.hpp"
#include "storage/node_segment.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace valet::test {
namespace {

constexpr std::uint64_t pulled_blocks = 600;
constexpr std::size_t pulled_block_bytes = 4096;

/// All blocks of a rank go to the next one, in slots that are as full as can be.
GlobalMap pulled_ring() {
  std::vector<std::vector<int>> to;
  for (int r = 0; r < size(); ++r) to.emplace_back(pulled_blocks, (r + 1) % size());
  return map_to(to);
}

std::unique_ptr<FilledMap> filled_ring(bool node = true) {
  return std::make_unique<FilledMap>(pulled_ring(), rank(), Shape::dense, pulled_block_bytes, 0,
                                     node);
}

Plan plan_of(FilledMap& filled) {
  return filled.plan(MPI_COMM_WORLD, Form::to_ranks, {.method = Method::stream});
}

/// Executes and checks; returns how many blocks this rank has pulled: none the first time.
std::uint64_t pulled_by(Plan& plan, FilledMap& filled) {
  filled.fill();
  const Report report = execute(plan, filled.storage());
  EXPECT_EQ(sum_over_ranks(filled.wrong(Form::to_ranks, Order::any)), 0);
  expect_within_bound(report);
  if (report.blocks_pulled == report.blocks_received && report.blocks_received > 0) {
    EXPECT_EQ(report.credits, 0U) << "a message where none is needed";
  }
  return report.blocks_pulled;
}

TEST(Pulls, TakeAllBlocksOfTheNode) {
  const auto filled = filled_ring();
  Plan plan = plan_of(*filled);
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(pulled_by(plan, *filled), size() > 1 && k > 0 ? pulled_blocks : 0);
}

std::uint64_t mapped_arrays() {
  return storage::MappedSegment::mapped_bytes() / (pulled_blocks * pulled_block_bytes);
}

/// A plan for each step over arrays that stay: these are mapped in the second step, and stay so for
/// the next plans if memory may be kept.
TEST(Pulls, KeepWhatIsMappedForTheNextPlans) {
  storage::MappedSegment::unmap_unused(1);
  const auto filled = filled_ring(), other = filled_ring();
  const std::uint64_t one = size() > 1 ? 1 : 0;
  for (const bool keep : {true, false}) {
    for (int k = 0; k < 3; ++k) {
      Plan plan = filled->plan(MPI_COMM_WORLD, Form::to_ranks,
                               {.method = Method::stream, .keep_memory = keep});
      EXPECT_EQ(pulled_by(plan, *filled), k > 0 || !keep ? one * pulled_blocks : 0);
    }
    EXPECT_EQ(mapped_arrays(), keep ? one : 0);
  }
  Plan plan = plan_of(*filled);
  pulled_by(plan, *filled);
  pulled_by(plan, *other);
  for (int k = 0; k < 2; ++k) {
    pulled_by(plan, *other);
    EXPECT_EQ(mapped_arrays(), 2 * one) << "one of the last four times blocks were taken from it";
    plan = plan_of(*other);
  }
  pulled_by(plan, *other);
  EXPECT_EQ(mapped_arrays(), one);
}

/// What others have mapped of an array goes with the array, and not with a copy of the process.
TEST(Pulls, KeepNoMemoryOfArraysThatAreGone) {
  auto filled = filled_ring();
  Plan plan = plan_of(*filled);
  for (int k = 0; k < 2; ++k) pulled_by(plan, *filled);
  const auto shared = [] { return sum_over_ranks(status_bytes("RssShmem")); };
  const long long before = shared();
  if (!all_ranks(before > 0)) GTEST_SKIP() << "this system does not tell";
  filled.reset();
  MPI_Barrier(MPI_COMM_WORLD);
  constexpr long long bytes = pulled_blocks * pulled_block_bytes;
  EXPECT_LE(shared(), before - size() * (size() > 1 ? 2 : 1) * bytes);
}

TEST(Pulls, TakeNothingOfOrdinaryMemory) {
  // The odd rank has it: what goes there and what comes from there is messages.
  const auto filled = filled_ring(!is_odd());
  Plan plan = plan_of(*filled);
  const bool is_next = rank() == (odd_rank() + 1) % size();
  pulled_by(plan, *filled);
  EXPECT_EQ(pulled_by(plan, *filled), is_odd() || is_next ? 0 : pulled_blocks);
}

TEST(Pulls, FindTheStorageOfEachExecution) {
  const auto first = filled_ring(), second = filled_ring(), ordinary = filled_ring(false);
  Plan plan = plan_of(*first);
  const std::uint64_t all = size() > 1 ? pulled_blocks : 0;
  pulled_by(plan, *first);
  pulled_by(plan, *second);
  for (int k = 0; k < 2; ++k)
    for (FilledMap* const each : {first.get(), second.get(), is_odd() ? first.get() : second.get()})
      EXPECT_EQ(pulled_by(plan, *each), all);
  EXPECT_EQ(pulled_by(plan, *ordinary), 0U);
  EXPECT_EQ(pulled_by(plan, *first), all);
}

TEST(Pulls, FindTheStorageAfterOneThatWasRefused) {
  const auto first = filled_ring(), second = filled_ring();
  Plan plan = plan_of(*first);
  pulled_by(plan, *first);
  std::vector<std::byte> few(pulled_block_bytes);
  Field field;
  field.data = few.data();
  field.slots = 1;
  field.slot_stride_bytes = field.element_bytes = pulled_block_bytes;
  field.label = "dense";
  const BlockStorage refused = is_odd() ? BlockStorage{field} : second->storage();
  EXPECT_NE(outcome_of([&] { execute(plan, refused); }).text, "");
  EXPECT_EQ(pulled_by(plan, is_odd() ? *first : *second), size() > 1 ? pulled_blocks : 0);
}

/// Blocks of two rows, one after the other or each in an array of its own.
TEST(Pulls, LeaveRowsThatLieOtherwiseToMessages) {
  constexpr std::size_t row = pulled_block_bytes / sizeof(double);
  NodeArray<double> values(MPI_COMM_SELF, 2 * row * pulled_blocks);
  const auto at = [&](std::uint64_t slot, std::size_t r) -> double& {
    return values[(is_odd() ? r * pulled_blocks + slot : 2 * slot + r) * row];
  };
  for (std::uint64_t slot = 0; slot < pulled_blocks; ++slot)
    for (std::size_t r = 0; r < 2; ++r)
      std::fill_n(&at(slot, r), row, rank() + 0.5 * static_cast<double>(r));
  Field field;
  field.data = values.data();
  field.slots = pulled_blocks;
  field.slot_stride_bytes = static_cast<std::ptrdiff_t>((is_odd() ? 1 : 2) * pulled_block_bytes);
  field.element_bytes = sizeof(double);
  field.dimensions[0] = {
      2, static_cast<std::ptrdiff_t>((is_odd() ? pulled_blocks : 1) * pulled_block_bytes)};
  field.dimensions[1] = {row, sizeof(double)};
  field.dimension_count = 2;
  const std::vector<int> next(pulled_blocks, (rank() + 1) % size());
  const BlockStorage storage{field};
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, pulled_blocks, next,
                            {.budget_bytes = 1 << 20, .method = Method::stream});
  execute(plan, storage);
  const Report report = execute(plan, storage);
  const int neighbour = (rank() + size() - 1) % size();
  const int source = (neighbour + size() - 1) % size();
  long long wrong = 0;
  for (std::uint64_t slot = 0; slot < pulled_blocks; ++slot)
    for (std::size_t r = 0; r < 2; ++r)
      wrong += std::count(&at(slot, r), &at(slot, r) + row, source + 0.5 * static_cast<double>(r));
  EXPECT_EQ(wrong, static_cast<long long>(values.size()));
  const bool is_alike = is_odd() == (neighbour == odd_rank());
  EXPECT_EQ(report.blocks_pulled, is_alike && size() > 1 ? pulled_blocks : 0);
}

/// 8 bytes for each page of 4 KiB of the other rank, in tables of whole pages.
TEST(Pulls, CountPageTables) {
  constexpr std::size_t bytes = std::size_t{32} << 20, block = std::size_t{64} << 10;
  constexpr std::uint64_t blocks = bytes / block;
  NodeArray<double> values(MPI_COMM_WORLD, bytes / sizeof(double));
  std::fill(values.begin(), values.end(), rank());
  const BlockStorage storage{field(values.data(), blocks, block / sizeof(double))};
  const std::vector<int> next(blocks, (rank() + 1) % size());
  Plan plan = plan_to_ranks(MPI_COMM_WORLD, storage, blocks, next, {.method = Method::stream});
  const long long before = status_bytes("VmPTE");
  if (!all_ranks(before > 0)) GTEST_SKIP() << "this system does not tell";
  execute(plan, storage);
  const Report report = execute(plan, storage);
  EXPECT_EQ(report.blocks_pulled, size() > 1 ? blocks : 0);
  constexpr std::size_t tables = bytes / 512;
  EXPECT_LE(status_bytes("VmPTE") - before, static_cast<long long>(tables + (64 << 10)));
  EXPECT_GE(report.peak_extra_bytes, std::uint64_t{size() > 1 ? tables : 0});
  expect_within_bound(report);
}

/// As where processes may not open each other's descriptors: what is found there is another file.
TEST(Pulls, WarnOfMemoryThatIsNotReached) {
  std::vector<std::string> warnings;
  set_log_callback([&](LogLevel level, std::string_view text) {
    if (level == LogLevel::warning) warnings.emplace_back(text);
  });
  const auto filled = filled_ring();
  const auto place = storage::find_in_segments(filled->blocks().node_memory());
  ASSERT_TRUE(all_ranks(place.has_value()));
  const int descriptor = static_cast<int>(place->segment.descriptor);
  const int other = open("/dev/null", O_RDWR | O_CLOEXEC), kept = dup(descriptor);
  if (is_odd()) dup2(other, descriptor);
  Plan plan = plan_of(*filled);
  const bool is_next = rank() == (odd_rank() + 1) % size();
  const std::uint64_t expected = is_next ? 0 : pulled_blocks;
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(pulled_by(plan, *filled), size() > 1 && k > 0 ? expected : 0);
  dup2(kept, descriptor);
  close(kept);
  close(other);
  set_log_callback({});
  ASSERT_EQ(warnings.size(), is_next && size() > 1 ? 1U : 0U) << "once, and where it is so";
  if (!warnings.empty())
    expect_words(warnings.front(),
                 {"rank " + std::to_string(rank()), "cannot reach the node memory",
                  "go as messages", "namespace of processes"});
}

}  // namespace
}  // namespace valet::test
