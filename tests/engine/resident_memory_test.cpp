// SPDX-License-Identifier: BSD-3-Clause

// The promise on the process itself: 256 MiB a rank change their rank, and the resident memory of
// no process grows by more than a few budgets.

#include "process_memory.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr std::size_t large_block_bytes = 16'000;
constexpr std::uint64_t slots = (std::uint64_t{256} << 20) / large_block_bytes;
constexpr long long mebibyte = 1 << 20;

/// The peak of the resident size while every block goes `shift` ranks on.
long long peak_while_moving(std::vector<std::byte>& memory, int shift) {
  const std::vector<int> ranks(slots, (rank() + shift) % size());
  const BlockStorage storage{field(memory.data(), slots, large_block_bytes)};
  EXPECT_TRUE(restart_resident_peak());
  migrate(MPI_COMM_WORLD, storage, Occupied(slots), ranks);
  return status_bytes("VmHWM");
}

TEST(ResidentMemory, GrowsByLessThan16MiBWhen256MiBMove) {
  const bool supported = all_ranks(restart_resident_peak() && status_bytes("VmHWM") > 0);
  if (!supported) GTEST_SKIP() << "this system does not report resident peaks";
  std::vector<std::byte> memory(slots * large_block_bytes);
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    std::memset(&memory[slot * large_block_bytes],
                static_cast<int>(slot + 7U * static_cast<unsigned>(rank())) % 251,
                large_block_bytes);
  const long long still = peak_while_moving(memory, 0);
  const long long moving = peak_while_moving(memory, 1);
  const long long growth = max_over_ranks(moving - still);
  if (rank() == 0)
    std::cout << "resident without moving " << still / mebibyte << " MiB, growth " << growth / 1024
              << " KiB\n";
  EXPECT_GT(still, 256 * mebibyte) << "the measurement sees the data";
  EXPECT_LT(growth, 16 * mebibyte);
  long long wrong = 0;
  // Half a megabyte of imports waits for the last slots, the others take those before.
  const std::uint64_t aside = size() == 1 ? 0 : (std::uint64_t{512} << 10) / large_block_bytes;
  const auto from = static_cast<unsigned>((rank() + size() - 1) % size());
  for (std::uint64_t slot = 0; slot < slots; ++slot)
    for (const std::size_t byte : {std::size_t{0}, large_block_bytes / 2, large_block_bytes - 1})
      if (memory[slot * large_block_bytes + byte] !=
          static_cast<std::byte>(static_cast<int>((slot + aside) % slots + 7U * from) % 251))
        ++wrong;
  EXPECT_EQ(sum_over_ranks(wrong), 0);
}

}  // namespace
}  // namespace valet::test
