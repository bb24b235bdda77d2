// SPDX-License-Identifier: BSD-3-Clause

// What a comparison of blocks of different sizes rests on: arenas are exactly full afterwards, too,
// and a block that is not as it was, or not where it belongs, is found.

#include "bench/ragged_blocks.hpp"

#include "gathered.hpp"

namespace valet::bench {
namespace {

using Sources = RaggedBlocks::Sources;

constexpr std::uint64_t arena_bytes = std::uint64_t{3} << 20;

/// What this rank must hold in the end, by the oracle.
struct Expected {
  Expected(const RaggedBlocks& blocks, Sources sources) {
    std::vector<std::byte> mine(blocks.arena_bytes());
    blocks.fill(mine.data());
    const auto arenas = test::gathered(mine);
    const test::GlobalMap map = test::map_to(
        test::gathered(std::vector<int>(blocks.ranks().begin(), blocks.ranks().end())));
    const test::GlobalContent content = sources == Sources::own_first
                                            ? test::content_by_ranks(map, Order::stable, 1)
                                            : test::content_by_slots(map);
    std::vector<std::ptrdiff_t> begins{0};  // alike on all ranks
    for (const std::uint64_t length : blocks.lengths())
      begins.push_back(begins.back() + static_cast<std::ptrdiff_t>(blocks.padded(length)));
    for (const auto& from : test::row_of(content, test::rank())) {
      if (!from) continue;
      const auto source = test::row_of(arenas, from->rank).begin();
      arena.insert(arena.end(), source + begins[from->slot], source + begins[from->slot + 1]);
      lengths.push_back(blocks.lengths()[from->slot]);
    }
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
    EXPECT_TRUE(peer.run_warm().verified);
    EXPECT_TRUE(peer.run_cold().verified);
  }
  arena[arena_bytes / 3] ^= std::byte{1};
  EXPECT_FALSE(peer.run_warm().verified);
}

INSTANTIATE_TEST_SUITE_P(Lengths, RaggedBlocksOf, testing::ValuesIn(names_in(all_lengths)),
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
  test::expect_words(outcome.text, {"give less than 2G"});
}

}  // namespace
}  // namespace valet::bench
