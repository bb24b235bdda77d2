// SPDX-License-Identifier: BSD-3-Clause

// The memory promise: budget + 64 KiB + 256 bytes a neighbour + 20 bytes a page, nothing per block,
// known to the ledger and kept by the process.

#include "counted_new.hpp"
#include "pages/page_sizes.hpp"
#include "process_memory.hpp"
#include "promise.hpp"
#include "ragged_case.hpp"

namespace valet::test {
namespace {

/// `blocks` of `bytes` on each rank, of which every second one goes to the next rank: an arena that
/// is exactly full before and afterwards.
struct HalfLeaves {
  HalfLeaves(std::uint64_t blocks, std::uint64_t bytes)
      : arena(blocks * bytes), lengths(blocks, bytes), ranks(blocks) {
    for (std::uint64_t k = 0; k < blocks; ++k) {
      ranks[k] = k % 2 == 0 ? rank() : (rank() + 1) % size();
      for (std::uint64_t b = 0; b < bytes; b += 8) arena[k * bytes + b] = mark(rank(), k);
    }
  }
  [[nodiscard]] static std::byte mark(int from, std::uint64_t k) {
    return static_cast<std::byte>(static_cast<std::uint64_t>(from) * 37 + k * 11);
  }
  [[nodiscard]] RaggedStorage storage() {
    return {ragged_field(std::span(arena), std::span(lengths))};
  }
  [[nodiscard]] std::uint64_t pages(std::uint64_t page) const {
    return arena.size() / page + 1 + lengths.size() * 8 / page + 1;
  }
  [[nodiscard]] long long wrong() const {
    const std::uint64_t bytes = lengths.empty() ? 0 : lengths[0];
    const std::uint64_t stay = (lengths.size() + 1) / 2;
    long long count = 0;
    for (std::uint64_t k = 0; k < lengths.size(); ++k) {
      const std::byte expected =
          k < stay ? mark(rank(), 2 * k) : mark((rank() + size() - 1) % size(), 2 * (k - stay) + 1);
      for (std::uint64_t b = 0; b < bytes; b += 8)
        count += size() > 1 && arena[k * bytes + b] != expected ? 1 : 0;
    }
    return count;
  }

  std::vector<std::byte> arena;
  std::vector<std::uint64_t> lengths;
  std::vector<int> ranks;
};

/// With a new communicator, so that nothing is kept from before.
void expect_promise(std::uint64_t blocks, std::uint64_t bytes, std::size_t budget) {
  const std::uint64_t page =
      pages::ragged_page_bytes(budget, static_cast<std::uint64_t>(std::min(2, size())));
  HalfLeaves data(blocks, bytes);
  const std::uint64_t neighbours = size() > 2 ? 2 : size() > 1 ? 1 : 0;
  // Every other block goes to the next rank, which is a layout.
  const std::uint64_t promised =
      promised_bytes(budget, neighbours, static_cast<std::uint64_t>(size())) +
      20 * data.pages(page);
  const Options options{.budget_bytes = budget, .method = Method::stream};
  const OwnComm communicator;
  const RaggedStorage storage = data.storage();
  const AskedBytes asked;
  const Report report = migrate(communicator, storage, blocks, data.ranks, options);
  const std::uint64_t most_asked = asked.most();
  EXPECT_TRUE(all_ranks(most_asked <= promised)) << most_asked << " of " << promised;
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= promised))
      << report.peak_extra_bytes << " of " << promised;
  EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised))
      << report.extra_bytes_bound << " is not " << promised;
  EXPECT_EQ(sum_over_ranks(data.wrong()), 0);
}

TEST(RaggedMemory, IsWithinThePromiseWithTheSmallestPages) {
  expect_promise(40'000, 64, 6 * 512 * 2);
  expect_promise(2'000'000, 8, 6 * 512 * 2);
}

TEST(RaggedMemory, IsWithinThePromiseWithTheLargestPages) {
  expect_promise(40'000, 512, std::size_t{4} << 20);
  expect_promise(2'000'000, 8, std::size_t{4} << 20);
}

TEST(RaggedMemory, ComesBackAfterwards) {
  HalfLeaves data(10'000, 128);
  const RaggedStorage storage = data.storage();
  const Options options{.keep_memory = false};
  std::ptrdiff_t before = 0;
  for (int repeat = 0; repeat < 3; ++repeat) {
    if (repeat == 1) before = new_counters().live_bytes;  // MPI and Valet have filled their caches
    migrate(MPI_COMM_WORLD, storage, data.ranks.size(), data.ranks, options);
  }
  EXPECT_EQ(sum_over_ranks(new_counters().live_bytes - before), 0);
}

TEST(RaggedMemory, OfTheProcessGrowsByLessThan12MiBWhen128MiBMove) {
  constexpr long long mebibyte = 1 << 20;
  if (size() != 2) return;
  const bool supported = all_ranks(restart_resident_peak() && status_bytes("VmHWM") > 0);
  if (!supported) GTEST_SKIP() << "this system does not report resident peaks";
  HalfLeaves data(512, 256 << 10);
  const RaggedStorage storage = data.storage();
  EXPECT_TRUE(restart_resident_peak());
  const long long still = status_bytes("VmHWM");
  migrate(MPI_COMM_WORLD, storage, data.ranks.size(), data.ranks);
  const long long grown = max_over_ranks(status_bytes("VmHWM") - still);
  EXPECT_LT(grown, 12 * mebibyte);
  EXPECT_EQ(sum_over_ranks(data.wrong()), 0);
}

}  // namespace
}  // namespace valet::test
