// SPDX-License-Identifier: BSD-3-Clause

// A rank has at most 2^32 - 1 slots, and as many pages. With the number in the error for more the
// same blocks can be planned.

#include "counted_new.hpp"
#include "sparse_blocks.hpp"
#include "test_comm.hpp"

#include <sys/mman.h>

namespace valet::test {
namespace {

TEST(MostSlots, OneMoreIsRefusedOnAllRanksWithTheRowsToJoin) {
  SparseBlocks blocks;
  const std::vector<int> ranks(3, size() - 1);
  const std::vector<Address> addresses(3, {size() - 1, 0});
  for (const std::uint64_t slots : {most_slots + 1, 3 * (most_slots + 1)}) {
    // Another rank has fewer too many, so that the first number found would not do.
    const bool is_last = rank() == size() - 1;
    const BlockStorage storage = blocks.storage(is_last ? slots : rank() == 0 ? most_slots + 1 : 5);
    const std::string expected = "has or would have " + std::to_string(slots) + " slots";
    const std::string rows = "join " + std::to_string(slots / most_slots + 1) + " consecutive rows";
    const std::vector<std::function<void()>> calls{
        [&] { migrate(MPI_COMM_WORLD, storage, 3, ranks); },
        [&] { migrate(MPI_COMM_WORLD, storage, 3, addresses); },
        [&] { migrate_to_layout(MPI_COMM_WORLD, storage, 3, ObjectLayout{}); }};
    const AskedBytes asked;
    for (const auto& call : calls) expect_thrown(ErrorCode::infeasible, {expected, rows}, call);
    EXPECT_LT(asked.most(), 1U << 20) << "nothing is planned for so many";
    EXPECT_TRUE(blocks.values.empty());
  }
}

TEST(MostSlots, MorePagesAreRefusedOnAllRanksWithTheBudgetToGive) {
  // Never touched: nothing moves before the pages are counted.
  const std::size_t bytes = (std::size_t{5} << 41) + 12'345;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (!all_ranks(memory != MAP_FAILED))
    GTEST_SKIP() << "no address space for " << bytes << " bytes";
  std::vector<std::uint64_t> lengths{rank() == 0 ? bytes - 100 : 100, 100};
  const RaggedStorage storage{
      ragged_field(std::span(static_cast<char*>(memory), bytes), std::span(lengths))};
  const std::vector<int> ranks{rank(), (rank() + 1) % size()};
  const Options options{.budget_bytes = 8192};
  const Outcome outcome = outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 2, ranks, options); });
  if (size() > 1)
    expect_error(outcome, ErrorCode::budget_too_small,
                 {" pages, more than the 4294967295", " times the smallest budget_bytes"});
  munmap(memory, bytes);
}

}  // namespace
}  // namespace valet::test
