// SPDX-License-Identifier: BSD-3-Clause

// valet-bench device, small. With a Kokkos of host back ends the device is the host.

#include "bench_program.hpp"

namespace valet::test {
namespace {

TEST(DeviceBench, ComparesFourWaysAndCountsTheirMemory) {
  constexpr std::uint64_t size = 4 << 20, budget = 256 << 10;
  for (const int ranks : {1, 2, 3}) {
    const Json document =
        document_of(ranks, "device --to next,random --size 4M --memory 256K --repeat 1");
    ASSERT_EQ(document.at("cases").size(), 2U * 2 * 4);
    std::map<std::string, std::uint64_t> most;  // by method
    for (const Json& one : document.at("cases")) {
      EXPECT_TRUE(one.at("verified").get<bool>()) << one;
      EXPECT_EQ(one.at("ranks"), ranks);
      EXPECT_EQ(one.at("gb_per_s").get<double>() > 0, ranks > 1) << one;
      for (const char* const key : {"ratio_pipeline", "ratio_alltoallv", "seconds_median"})
        EXPECT_GT(one.at(key), 0) << key << " of " << one;
      EXPECT_LE(one.at("peak_extra_bytes"), one.at("extra_bytes_bound")) << one;
      std::uint64_t& bytes = most[one.at("method").get<std::string>()];
      bytes = std::max(bytes, one.at("device_bytes").get<std::uint64_t>());
    }
    ASSERT_EQ(most.size(), 4U);
    // In place: the blocks, and of each rank the budget, 128 KiB for lists and a little more. Out
    // of place: all twice.
    constexpr std::uint64_t beside = 160 * 1024;
    const std::uint64_t in_place = size + static_cast<std::uint64_t>(ranks) * (budget + beside);
    for (const char* const method : {"valet", "valet-again"})
      EXPECT_LE(most.at(method), in_place) << method << " on " << ranks << " ranks";
    for (const char* const method : {"pipeline", "alltoallv"})
      EXPECT_GT(most.at(method), 2 * (size - size / 10)) << method << " on " << ranks << " ranks";
  }
}

// A budget of two patches: the pipeline has chunks of one, and more of them than it can send at
// once.
TEST(DeviceBench, TakesTheSmallestChunks) {
  const Json document =
      document_of(3, "device --pattern patches --to random --size 2M --memory 56K --repeat 1");
  for (const Json& one : document.at("cases")) EXPECT_TRUE(one.at("verified").get<bool>()) << one;
}

TEST(DeviceBench, RefusesBadInput) {
  expect_refused(2, "device --pattern waves",
                 "--pattern: unknown value 'waves'; known: particles, patches");
  expect_refused(2, "device --to all", "--to: unknown value 'all'; known: next, random");
  expect_refused(2, "device --size 64K",
                 "--size: 65536 bytes are 1 blocks a rank; give 2 to 4294967295");
  expect_refused(2, "device --size much", "much");
  expect_refused(2, "device --memory 100", "100");
}

}  // namespace
}  // namespace valet::test
