// SPDX-License-Identifier: BSD-3-Clause

// An object of more bytes than an int counts, among small ones. Needs 2.1 GiB on each of two ranks.

#include "test_comm.hpp"
#include <valet/objects.hpp>

namespace valet::test {
namespace {

constexpr std::uint64_t large_bytes = (std::uint64_t{1} << 31) + 5;
constexpr std::uint64_t checked_step = 509;  // a prime

std::byte content(std::uint64_t bytes, std::uint64_t at) {
  return static_cast<std::byte>((bytes + at) * 2654435761 >> 13);
}

class LargeObjects : public testing::TestWithParam<Method> {};

TEST_P(LargeObjects, ArriveWhole) {
  const std::vector<std::uint64_t> sizes{100, 0, rank() == 0 ? large_bytes : 9, 7, 3000};
  const std::vector<std::uint64_t> expected{100, 0, rank() == 1 ? large_bytes : 9, 7, 3000};
  const std::vector<int> ranks(sizes.size(), 1 - rank());
  std::vector<std::uint64_t> arrived, left;
  std::uint64_t wrong = 0;
  const ObjectFunctions functions{
      .size = [&](std::uint64_t k) { return sizes[k]; },
      .pack =
          [&](std::uint64_t k, std::span<std::byte> packed) {
            for (std::uint64_t at = 0; at < sizes[k]; at += checked_step)
              packed[at] = content(sizes[k], at);
            if (sizes[k] > 0) packed.back() = std::byte{77};
          },
      .unpack =
          [&](int source, std::span<const std::byte> packed) {
            wrong += source == 1 - rank() ? 0 : 1;
            arrived.push_back(packed.size());
            for (std::uint64_t at = 0; at + 1 < packed.size(); at += checked_step)
              wrong += packed[at] == content(packed.size(), at) ? 0 : 1;
            wrong += packed.empty() || packed.back() == std::byte{77} ? 0 : 1;
          },
      .left = [&](std::uint64_t k) { left.push_back(k); }};
  const Report report = migrate_objects(MPI_COMM_WORLD, sizes.size(), ranks, functions,
                                        {.method = GetParam(), .verify = true});
  EXPECT_TRUE(all_ranks(wrong == 0 && arrived == expected && left.size() == sizes.size()));
  expect_within_bound(report);
  EXPECT_LE(report.peak_extra_bytes, report.budget_bytes + large_bytes + (64 << 10));
}

INSTANTIATE_TEST_SUITE_P(Methods, LargeObjects,
                         testing::Values(Method::stream, Method::phased, Method::cyclic),
                         ParameterName());

}  // namespace
}  // namespace valet::test
