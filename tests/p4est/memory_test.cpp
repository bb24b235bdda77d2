// SPDX-License-Identifier: BSD-3-Clause

// The memory of a transfer, as the process sees it, within budget + 64 KiB + 256*neighbours + 64*P.

#include "counted_new.hpp"
#include "partitions.hpp"
#include "promise.hpp"
#include <valet/p4est/transfer.hpp>

namespace valet::test {
namespace {

/// Every rank but the first and the last gives some to both of its neighbours.
Offsets shifted_offsets(std::int64_t quadrants) {
  Offsets gfq = even_offsets(quadrants);
  for (int r = 1; r < size(); ++r)
    gfq[static_cast<std::size_t>(r)] += (r % 2 == 0 ? 1 : -1) * quadrants / size() / 3;
  return gfq;
}

/// What one transfer asks the system for, from a new communicator on.
/// @param before, expected  This rank's data before and after.
/// @param move              Transfers so many bytes at this address.
template <class Move>
void expect_promise(const Bytes& before, const Bytes& expected, Move&& move) {
  for (const AlltoallMethod method :
       {AlltoallMethod::automatic, AlltoallMethod::stream, AlltoallMethod::pairwise})
    for (const std::size_t budget : {std::size_t{128} << 10, std::size_t{4} << 20}) {
      const AlltoallOptions options{.budget_bytes = budget, .method = method};
      Bytes data = before;
      data.resize(std::max(before.size(), expected.size()));
      MPI_Comm communicator = MPI_COMM_NULL;
      MPI_Comm_dup(MPI_COMM_WORLD, &communicator);
      const AskedBytes asked;
      const Report report = move(communicator, data, options);
      const std::uint64_t most_asked = asked.most();
      const std::uint64_t promised =
          promised_bytes(budget, report.neighbours, static_cast<std::uint64_t>(size()));
      EXPECT_TRUE(all_ranks(most_asked <= promised))
          << report.method << ": " << most_asked << " of " << promised;
      EXPECT_TRUE(all_ranks(report.extra_bytes_bound == promised)) << report.extra_bytes_bound;
      MPI_Comm_free(&communicator);
      data.resize(expected.size());
      EXPECT_TRUE(all_ranks(data == expected)) << report.method;
    }
}

constexpr std::int64_t quadrants = 20'000;

TEST(P4estMemory, OfOneSizeIsWithinThePromise) {
  const Offsets src = even_offsets(quadrants), dest = shifted_offsets(quadrants);
  expect_promise(data_of(src.data(), 120), data_of(dest.data(), 120),
                 [&](MPI_Comm communicator, Bytes& data, const AlltoallOptions& options) {
                   return p4est::transfer_fixed(dest.data(), src.data(), communicator, data.data(),
                                                data.size(), 120, options);
                 });
}

TEST(P4estMemory, InTwoPartsIsWithinThePromise) {
  const Offsets src = even_offsets(quadrants), dest = shifted_offsets(quadrants);
  expect_promise(data_of(src.data(), 120), data_of(dest.data(), 120),
                 [&](MPI_Comm communicator, Bytes& data, const AlltoallOptions& options) {
                   Execution execution =
                       p4est::transfer_fixed_begin(dest.data(), src.data(), communicator,
                                                   data.data(), data.size(), 120, options);
                   while (!execution.progress()) {
                   }
                   return execution.wait();
                 });
}

TEST(P4estMemory, OfManySizesIsWithinThePromise) {
  const Offsets src = even_offsets(quadrants), dest = shifted_offsets(quadrants);
  const std::vector<int> src_sizes = sizes_of<int>(src.data());
  const std::vector<int> dest_sizes = sizes_of<int>(dest.data());
  expect_promise(custom_data_of(src.data()), custom_data_of(dest.data()),
                 [&](MPI_Comm communicator, Bytes& data, const AlltoallOptions& options) {
                   return p4est::transfer_custom(dest.data(), src.data(), communicator, data.data(),
                                                 data.size(), src_sizes.data(), dest_sizes.data(),
                                                 options);
                 });
}

}  // namespace
}  // namespace valet::test
