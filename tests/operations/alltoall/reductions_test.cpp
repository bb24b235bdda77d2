// SPDX-License-Identifier: BSD-3-Clause

// How often all ranks wait for each other in an all-to-all before and after its data moves.

#include "counted_reductions.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

int reductions_of(AlltoallMethod method, std::int64_t elements) {
  const auto ranks = static_cast<std::size_t>(size());
  const std::vector<std::int64_t> counts(ranks, elements);
  std::vector<std::uint64_t> data(ranks * static_cast<std::size_t>(elements));
  for (std::size_t k = 0; k < data.size(); ++k)
    data[k] = static_cast<std::uint64_t>(rank()) * ranks + k / static_cast<std::size_t>(elements);
  const AlltoallOptions options{.method = method};
  const int before = reductions;
  alltoallv_in_place(MPI_COMM_WORLD,
                     {data.data(), data.size() * sizeof(std::uint64_t), sizeof(std::uint64_t)},
                     counts, {}, options);
  const int during = reductions - before;
  std::uint64_t wrong = 0;
  for (std::size_t k = 0; k < data.size(); ++k) {
    const std::uint64_t source = k / static_cast<std::size_t>(elements);
    wrong += data[k] != source * ranks + static_cast<std::uint64_t>(rank()) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0U);
  return during;
}

TEST(AlltoallReductions, AreOneWhereAllMovesAtOnce) {
  for (const AlltoallMethod method : {AlltoallMethod::automatic, AlltoallMethod::direct})
    for (int call = 0; call < 3; ++call) EXPECT_EQ(reductions_of(method, 1'000), 1);
}

TEST(AlltoallReductions, AreThreeAtMostWherePagesMove) {
  // What moving data costs is measured at the first call.
  static_cast<void>(reductions_of(AlltoallMethod::automatic, 1'000'000));
  for (const std::int64_t elements : {100'000, 1'000'000})
    EXPECT_LE(reductions_of(AlltoallMethod::automatic, elements), 3);
  EXPECT_LE(reductions_of(AlltoallMethod::stream, 100'000), 3);
}

TEST(AlltoallReductions, AreThreeAtMostWhereElementsAreSwapped) {
  for (const AlltoallMethod method :
       {AlltoallMethod::swaps, AlltoallMethod::bitonic, AlltoallMethod::pairwise})
    EXPECT_LE(reductions_of(method, 1'000), 3) << to_string(method);
}

}  // namespace
}  // namespace valet::test
