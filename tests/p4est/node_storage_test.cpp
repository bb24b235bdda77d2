// SPDX-License-Identifier: BSD-3-Clause

// Transfers in memory that the ranks of a node share: the same data, without messages.

#include "partitions.hpp"
#include <valet/p4est/transfer.hpp>

namespace valet::test {
namespace {

/// Data before a transfer in a node array, which move() changes to what is expected: twice, as an
/// array is only taken from when it is used again.
template <class Move>
void expect_taken(const Bytes& before, const Bytes& expected, Move&& move) {
  auto data = node_array<std::byte>(MPI_COMM_WORLD, std::max(before.size(), expected.size()));
  Report report;
  for (int k = 0; k < 2; ++k) {
    std::ranges::copy(before, data.begin());
    report = move(data, AlltoallOptions{.method = AlltoallMethod::stream});
    EXPECT_TRUE(all_ranks(std::ranges::equal(std::span(data).first(expected.size()), expected)));
  }
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(report.blocks_pulled)) > 0, size() > 1)
      << report.to_string();
  expect_within_bound(report);
}

struct P4estNodeStorage : ::testing::Test {
  P4estNodeStorage() {
    for (std::size_t r = 1; r + 1 < dest.size(); ++r) dest[r] -= 20'000;
  }
  const Offsets src = even_offsets(150'000);
  Offsets dest = src;
};

TEST_F(P4estNodeStorage, OfOneSizeIsTaken) {
  expect_taken(data_of(src.data(), 120), data_of(dest.data(), 120),
               [&](NodeArray<std::byte>& data, const AlltoallOptions& options) {
                 return p4est::transfer_fixed(dest.data(), src.data(), MPI_COMM_WORLD, data.data(),
                                              data.size(), 120, options);
               });
}

TEST_F(P4estNodeStorage, OfManySizesIsTaken) {
  const std::vector<int> src_sizes = sizes_of<int>(src.data());
  const std::vector<int> dest_sizes = sizes_of<int>(dest.data());
  expect_taken(custom_data_of(src.data()), custom_data_of(dest.data()),
               [&](NodeArray<std::byte>& data, const AlltoallOptions& options) {
                 return p4est::transfer_custom(dest.data(), src.data(), MPI_COMM_WORLD, data.data(),
                                               data.size(), src_sizes.data(), dest_sizes.data(),
                                               options);
               });
}

}  // namespace
}  // namespace valet::test
