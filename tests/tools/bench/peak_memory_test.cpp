// SPDX-License-Identifier: BSD-3-Clause

// That a growth of this process is seen, whatever was taken and freed before it.

#include "bench/peak_memory.hpp"

#include "process_memory.hpp"
#include "testing.hpp"

namespace valet::bench {
namespace {

constexpr std::size_t megabyte = std::size_t{1} << 20;

/// Takes so many megabytes in pieces, writes to them and frees them.
void take(std::size_t megabytes, std::size_t piece_bytes) {
  std::vector<std::unique_ptr<char[]>> pieces;
  for (std::size_t bytes = 0; bytes < megabytes * megabyte; bytes += piece_bytes) {
    pieces.emplace_back(new char[piece_bytes]);
    for (std::size_t k = 0; k < piece_bytes; k += 1024) {
      static_cast<volatile char*>(pieces.back().get())[k] = 1;
    }
  }
}

class PeakMemoryTest : public testing::TestWithParam<std::size_t> {
 protected:
  void SetUp() override {
    if (!test::restart_resident_peak()) GTEST_SKIP() << "the peak of this process cannot be reset";
  }
};

TEST_P(PeakMemoryTest, ShowsAGrowthWhateverWasFreedBefore) {
  for (const bool at_once : {false, true}) {
    FreedAtOnce::keep_freed_memory();
    take(64, GetParam());
    const auto freed_at_once = at_once ? std::make_unique<FreedAtOnce>() : nullptr;
    for (int round = 0; round < 3; ++round) {
      const PeakMemory memory;
      EXPECT_LT(memory.grown(), 2 * megabyte);
      take(24, GetParam());
      EXPECT_GE(memory.grown(), 23 * megabyte) << "round " << round;
      EXPECT_LT(memory.grown(), 30 * megabyte) << "round " << round;
    }
  }
}

TEST_P(PeakMemoryTest, IsWhatWasInUseAtOnceWhereFreedMemoryIsGivenBack) {
  const FreedAtOnce freed_at_once;
  const PeakMemory memory;
  // Pieces of other sizes each time: kept ones would not serve the next.
  take(24, GetParam());
  take(24, 2 * GetParam());
  take(24, 3 * GetParam());
  EXPECT_LT(memory.grown(), 32 * megabyte);
}

INSTANTIATE_TEST_SUITE_P(Pieces, PeakMemoryTest,
                         testing::Values(std::size_t{3000}, std::size_t{100'000}, 5 * megabyte));

}  // namespace
}  // namespace valet::bench
