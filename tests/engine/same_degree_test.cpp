// SPDX-License-Identifier: BSD-3-Clause

// With four neighbours a rank takes as much beside its budget whether there are 6, 8 or 16 ranks.
// On one node, so memory is shared, too.

#include "circulant_neighbours.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

constexpr int neighbours = 4;
constexpr std::size_t blocks = 3000, row_bytes = 1000;
constexpr std::array job_sizes{6, 8, 16};

/// The report of this rank in a job of the first `ranks` ranks; nothing on the others.
Report moved_among(int ranks, const Options& options) {
  MPI_Comm communicator = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() < ranks ? 0 : MPI_UNDEFINED, rank(), &communicator);
  if (communicator == MPI_COMM_NULL) return {};
  std::vector<std::byte> data(blocks * row_bytes);
  const std::vector<int> map = map_to_neighbours(rank(), ranks, neighbours, blocks);
  const BlockStorage storage{field(data.data(), blocks, row_bytes)};
  const Report report = migrate(communicator, storage, blocks, map, options);
  MPI_Comm_free(&communicator);
  return report;
}

class SameDegree : public testing::TestWithParam<bool> {};

TEST_P(SameDegree, TakesAsMuchWhateverTheNumberOfRanks) {
  for (const Method method : {Method::stream, Method::phased})
    for (const Order order : {Order::any, Order::fill, Order::stable}) {
      SCOPED_TRACE(std::string(to_string(method)) + ", " + to_string(order));
      const Options options{.budget_bytes = std::size_t{1} << 20,
                            .method = method,
                            .order = order,
                            .share_memory = GetParam(),
                            .keep_memory = false};
      std::array<Report, job_sizes.size()> reports;
      for (std::size_t k = 0; k < job_sizes.size(); ++k)
        reports[k] = moved_among(job_sizes[k], options);
      const auto first = static_cast<long long>(reports[0].peak_extra_bytes);
      const long long expected = max_over_ranks(first);
      if (rank() == 0) {
        EXPECT_EQ(reports[0].neighbours, static_cast<std::uint64_t>(neighbours));
        EXPECT_EQ(reports[0].shared_bytes > 0, GetParam());
      }
      for (std::size_t k = 0; k < job_sizes.size(); ++k) {
        const bool takes_part = rank() < job_sizes[k];
        const auto peak = static_cast<long long>(reports[k].peak_extra_bytes);
        EXPECT_TRUE(all_ranks(!takes_part || peak == expected))
            << job_sizes[k] << " ranks: " << peak << " bytes in place of " << expected;
        EXPECT_TRUE(all_ranks(!takes_part ||
                              reports[k].extra_bytes_bound == reports[0].extra_bytes_bound ||
                              rank() >= job_sizes[0]));
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Node, SameDegree, testing::Bool(), [](const auto& test) {
  return std::string(test.param ? "WithSharedMemory" : "ByMessages");
});

}  // namespace
}  // namespace valet::test
