// SPDX-License-Identifier: BSD-3-Clause

// What a comparison of blocks of different sizes rests on: arenas are exactly full afterwards, too,
// and a block that is not as it was, or not where it belongs, is found.

#include "bench/ragged_blocks.hpp"

#include "outcome.hpp"
#include "test_comm.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace valet::bench {
namespace {

using Sources = RaggedBlocks::Sources;

constexpr std::uint64_t arena_bytes = std::uint64_t{3} << 20;

/// The blocks of all ranks, gathered as they are before.
struct Gathered {
  explicit Gathered(const RaggedBlocks& blocks)
      : mine(blocks.arena_bytes()),
        all(mine.size() * static_cast<std::size_t>(test::size())),
        ranks(blocks.ranks().size() * static_cast<std::size_t>(test::size())) {
    blocks.fill(mine.data());
    const auto bytes = static_cast<int>(mine.size());
    const auto count = static_cast<int>(blocks.ranks().size());
    MPI_Allgather(mine.data(), bytes, MPI_BYTE, all.data(), bytes, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Allgather(blocks.ranks().data(), count, MPI_INT, ranks.data(), count, MPI_INT,
                  MPI_COMM_WORLD);
  }

  std::vector<std::byte> mine, all;
  std::vector<int> ranks;
};

/// What this rank must hold in the end, put together from everything.
struct Expected {
  Expected(const RaggedBlocks& blocks, Sources sources) {
    const Gathered before(blocks);
    const auto count = blocks.lengths().size();
    const auto append = [&](int from) {
      const std::byte* next = before.all.data() + static_cast<std::size_t>(from) * arena_bytes;
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t padded = blocks.padded(blocks.lengths()[k]);
        if (before.ranks[static_cast<std::size_t>(from) * count + k] == test::rank()) {
          arena.insert(arena.end(), next, next + padded);
          lengths.push_back(blocks.lengths()[k]);
        }
        next += padded;
      }
    };
    if (sources == Sources::own_first) append(test::rank());
    for (int from = 0; from < test::size(); ++from)
      if (sources == Sources::by_rank || from != test::rank()) append(from);
  }
  [[nodiscard]] bool is_found(const RaggedBlocks& blocks, Sources sources) const {
    return blocks.arrived(arena.data(), lengths.data(), lengths.size(), sources);
  }

  std::vector<std::byte> arena;
  std::vector<std::uint64_t> lengths;
};

class RaggedBlocksOf : public testing::TestWithParam<std::string> {};

TEST_P(RaggedBlocksOf, FillArenasBeforeAndAfterwards) {
  for (const std::uint64_t alignment : {1U, 8U, 64U}) {
    const RaggedBlocks blocks(GetParam(), arena_bytes, alignment);
    std::uint64_t before = 0;
    for (const std::uint64_t length : blocks.lengths()) before += blocks.padded(length);
    const Expected after(blocks, Sources::own_first);
    EXPECT_EQ(before, arena_bytes);
    EXPECT_TRUE(test::all_ranks(after.arena.size() == arena_bytes));
    EXPECT_TRUE(test::all_ranks(after.is_found(blocks, Sources::own_first)));
    EXPECT_TRUE(
        test::all_ranks(Expected(blocks, Sources::by_rank).is_found(blocks, Sources::by_rank)));
  }
}

TEST_P(RaggedBlocksOf, AreMissedWhereTheyAreNotAsTheyWere) {
  const RaggedBlocks blocks(GetParam(), arena_bytes, 8);
  const Expected right(blocks, Sources::own_first);
  const auto expect_missed = [&](const char* what, const std::function<void(Expected&)>& spoil) {
    Expected spoilt = right;
    spoil(spoilt);
    EXPECT_TRUE(test::all_ranks(!spoilt.is_found(blocks, Sources::own_first))) << what;
  };
  const std::uint64_t last_begin = arena_bytes - blocks.padded(right.lengths.back());
  ASSERT_TRUE(test::all_ranks(right.lengths.back() > 0));
  expect_missed("first byte", [](Expected& e) { e.arena.front() ^= std::byte{1}; });
  expect_missed("last byte",
                [&](Expected& e) { e.arena[last_begin + e.lengths.back() - 1] ^= std::byte{128}; });
  expect_missed("one length more", [](Expected& e) { ++e.lengths.back(); });
  expect_missed("a block lost", [](Expected& e) { e.lengths.pop_back(); });
  expect_missed("a block doubled", [](Expected& e) { e.lengths.push_back(0); });
  expect_missed("all bytes, no lengths",
                [](Expected& e) { e.lengths.assign(e.lengths.size(), 0); });
}

TEST_P(RaggedBlocksOf, AreBroughtByAlltoallvWhereTheyBelong) {
  const RaggedBlocks blocks(GetParam(), arena_bytes, 8);
  std::vector<std::byte> arena(arena_bytes);
  blocks.fill(arena.data());
  RaggedAlltoallv peer(blocks, arena.data());
  for (int repeat = 0; repeat < 2; ++repeat) {
    EXPECT_TRUE(test::all_ranks(peer.run_warm().verified));
    EXPECT_TRUE(test::all_ranks(peer.run_cold().verified));
  }
  arena[arena_bytes / 3] ^= std::byte{1};
  EXPECT_FALSE(test::all_ranks(peer.run_warm().verified));
}

INSTANTIATE_TEST_SUITE_P(Lengths, RaggedBlocksOf, testing::ValuesIn(all_lengths()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(RaggedAlltoallv, RefusesMoreThanItsCountsHold) {
  RaggedAlltoallv::require_countable((std::uint64_t{2} << 30) - 8);
  const test::Outcome outcome =
      test::outcome_of([] { RaggedAlltoallv::require_countable(std::uint64_t{2} << 30); });
  EXPECT_EQ(outcome.code, ErrorCode::invalid_argument);
  EXPECT_NE(outcome.text.find("give less than 2G"), std::string::npos) << outcome.text;
}

}  // namespace
}  // namespace valet::bench
