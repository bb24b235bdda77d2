// SPDX-License-Identifier: BSD-3-Clause

// Rank -1 deletes a block where the caller says so. Random maps drop blocks, too (random_maps).

#include "test_comm.hpp"

namespace valet::test {
namespace {

/// Blocks 0 to 99 of a rank; every third one goes to the next rank, every fifth to nobody.
struct Some {
  std::vector<int> number = std::vector<int>(120, -1);
  std::vector<int> ranks;

  Some() {
    for (int k = 0; k < 100; ++k) {
      number[static_cast<std::size_t>(k)] = 100 * rank() + k;
      ranks.push_back(k % 5 == 0 ? -1 : k % 3 == 0 ? (rank() + 1) % size() : rank());
    }
  }
};

TEST(Drop, DeletesBlocksAndCountsThem) {
  for (const Order order : {Order::any, Order::fill, Order::stable}) {
    Some some;
    const Report report =
        migrate(MPI_COMM_WORLD, BlockStorage{field(some.number)}, 100, some.ranks,
                {.order = order, .negative_rank = NegativeRank::drop, .verify = true});
    EXPECT_EQ(report.blocks_before, 100U);
    EXPECT_EQ(report.blocks_dropped, 20U);
    EXPECT_EQ(report.blocks_after, 80U);
    const int from = (rank() + size() - 1) % size();
    std::vector<int> expected;
    for (int k = 0; k < 100; ++k) {
      if (k % 5 == 0) continue;
      expected.push_back(100 * (k % 3 == 0 ? from : rank()) + k);
    }
    std::vector<int> found(some.number.begin(), some.number.begin() + 80);
    std::ranges::sort(found);
    std::ranges::sort(expected);
    EXPECT_EQ(found, expected);
    expect_words(report.to_string(), {"20 blocks dropped"});
  }
}

TEST(Drop, OfAddresses) {
  Some some;
  std::vector<Address> to;
  for (std::uint64_t k = 0; k < 100; ++k)
    to.push_back({some.ranks[k], some.ranks[k] < 0 ? 1'000'000 : k});
  const Report report = migrate(MPI_COMM_WORLD, BlockStorage{field(some.number)}, 100, to,
                                {.negative_rank = NegativeRank::drop});
  EXPECT_EQ(report.blocks_after, 80U);
  const int from = (rank() + size() - 1) % size();
  for (int k = 0; k < 100; ++k)
    if (k % 5 != 0) {
      EXPECT_EQ(some.number[static_cast<std::size_t>(k)], 100 * (k % 3 == 0 ? from : rank()) + k);
    }
}

/// Lists of k values for block k.
TEST(Drop, OfBlocksOfDifferentSizes) {
  for (const bool verify : {false, true})
    for (const bool all : {false, true}) {  // and a call in which nothing goes elsewhere
      Some some;
      if (all) some.ranks.assign(100, -1);
      std::vector<std::uint64_t> lengths, values;
      for (std::uint64_t k = 0; k < 100; ++k) {
        lengths.push_back(8 * k);
        values.insert(values.end(), k, k);
      }
      values.resize(2 * values.size());
      const RaggedStorage storage({ragged_field(std::span(values), std::span(lengths))},
                                  {field(some.number)});
      const Report report = migrate(MPI_COMM_WORLD, storage, 100, some.ranks,
                                    {.negative_rank = NegativeRank::drop, .verify = verify});
      EXPECT_EQ(report.blocks_dropped, all ? 100U : 20U);
      ASSERT_EQ(report.blocks_after, all ? 0U : 80U);
      std::size_t at = 0;
      for (std::size_t b = 0; b < report.blocks_after; ++b) {
        const auto k = static_cast<std::uint64_t>(some.number[b] % 100);
        EXPECT_NE(k % 5, 0U);
        EXPECT_EQ(lengths[b], 8 * k);
        for (std::uint64_t v = 0; v < k; ++v) EXPECT_EQ(values[at++], k);
      }
    }
}

TEST(Drop, IsAMistakeUnlessAskedFor) {
  Some some;
  const BlockStorage storage{field(some.number)};
  const auto outcome = [&](const Options& options) {
    return outcome_of([&] { migrate(MPI_COMM_WORLD, storage, 100, some.ranks, options); });
  };
  expect_error(outcome({}), ErrorCode::rank_out_of_range,
               {"slot 0 is sent to rank -1", "option negative_rank"});
  some.ranks[7] = -2;
  expect_error(outcome({.negative_rank = NegativeRank::drop}), ErrorCode::rank_out_of_range,
               {"slot 7 is sent to rank -2"});
  some.ranks[7] = -1;
  if (size() > 1) {
    expect_error(
        outcome({.negative_rank = rank() == 0 ? NegativeRank::drop : NegativeRank::refuse}),
        ErrorCode::rank_out_of_range, {"rank -1"});
    std::ranges::fill(some.ranks, rank());
    expect_error(
        outcome({.negative_rank = rank() == 0 ? NegativeRank::drop : NegativeRank::refuse}),
        ErrorCode::invalid_argument, {"option negative_rank", "drop", "refuse"});
  }
}

}  // namespace
}  // namespace valet::test
