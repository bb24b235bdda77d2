// SPDX-License-Identifier: BSD-3-Clause

// As many slots as a rank can have. Needs 3 GiB on each of two ranks: a bit for each slot in
// several lists; and 16 GiB of address space, for the slots of misplaced blocks, of which there are
// none.

#include "sparse_blocks.hpp"
#include "test_comm.hpp"

namespace valet::test {
namespace {

class AllSlots : public testing::TestWithParam<Method> {
 protected:
  /// Blocks 0 to 2 of this rank.
  void fill() {
    blocks_.values.clear();
    for (std::uint64_t k = 0; k < 3; ++k) blocks_.values[k] = value(rank(), k);
  }
  static std::uint64_t value(int from, std::uint64_t k) {
    return 1000 * static_cast<std::uint64_t>(from + 1) + k;
  }

  SparseBlocks blocks_;
  const BlockStorage storage_ = blocks_.storage(most_slots);
  const int other_ = 1 - rank();
  const Options options_{.method = GetParam(), .verify = true, .phased = {.parking = 1}};
};

TEST_P(AllSlots, AreReachedByAMapToSlots) {
  fill();
  const std::vector<Address> addresses{
      {other_, most_slots - 1}, {other_, most_slots / 2}, {other_, most_slots - 2}};
  migrate(MPI_COMM_WORLD, storage_, 3, addresses, options_);
  EXPECT_EQ(blocks_.values[most_slots - 1], value(other_, 0));
  EXPECT_EQ(blocks_.values[most_slots / 2], value(other_, 1));
  EXPECT_EQ(blocks_.values[most_slots - 2], value(other_, 2));
}

TEST_P(AllSlots, DoNotKeepBlocksFromMovingToRanks) {
  fill();
  const std::vector<int> ranks(3, other_);
  const Report report = migrate(MPI_COMM_WORLD, storage_, 3, ranks, options_);
  EXPECT_EQ(report.blocks_after, 3U);
  std::uint64_t sum = 0;
  for (std::uint64_t k = 0; k < 3; ++k) sum += blocks_.values[k] - value(other_, k);
  EXPECT_EQ(sum, 0U);
}

INSTANTIATE_TEST_SUITE_P(Methods, AllSlots,
                         testing::Values(Method::stream, Method::phased, Method::cyclic),
                         ParameterName());

}  // namespace
}  // namespace valet::test
