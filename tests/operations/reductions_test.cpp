// SPDX-License-Identifier: BSD-3-Clause

// How often all ranks wait for each other in an all-to-all before and after its data moves, and
// where an array moves at once.

#include "counted_reductions.hpp"
#include "moved_arrays.hpp"

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
  for (const std::int64_t elements : {100'000, 1'000'000})
    EXPECT_LE(reductions_of(AlltoallMethod::automatic, elements), 3);
  EXPECT_LE(reductions_of(AlltoallMethod::stream, 100'000), 3);
}

TEST(AlltoallReductions, AreThreeAtMostWhereElementsAreSwapped) {
  for (const AlltoallMethod method :
       {AlltoallMethod::swaps, AlltoallMethod::bitonic, AlltoallMethod::pairwise})
    EXPECT_LE(reductions_of(method, 1'000), 3) << to_string(method);
}

TEST(LayoutReductions, AreOneWhereAllBudgetsHoldWhatMoves) {
  const GridLayout from{BlockCyclic({90, 60}, {8, 8}, {size(), 1})};
  const GridLayout to{BlockCyclic({90, 60}, {30, 5}, {1, size()})};
  for (int call = 0; call < 3; ++call) {
    Part source(from, 8, IndexOrder::row_major), target(to, 8, IndexOrder::row_major);
    source.fill();
    std::vector<std::byte> both = source.bytes();
    both.resize(std::max(both.size(), target.bytes().size()));
    const int before = reductions;
    redistribute(MPI_COMM_WORLD, from, to, 8, source.source(), target.target());
    const int between = reductions;
    redistribute_in_place(MPI_COMM_WORLD, from, to, 8, {.data = both.data(), .bytes = both.size()});
    const int after = reductions;
    EXPECT_EQ(between - before, 1);
    EXPECT_EQ(after - between, 1);
    EXPECT_EQ(sum_over_ranks(target.wrong_bytes()), 0);
    EXPECT_TRUE(all_ranks(std::equal(target.bytes().begin(), target.bytes().end(), both.begin())));
  }
}

}  // namespace
}  // namespace valet::test
