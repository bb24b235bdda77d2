// SPDX-License-Identifier: BSD-3-Clause

// Pure: what is classified stands where the list says, heads and tails are what fills no page, and
// scratch is at most two pages a stream.

#include "pages/page_segments.hpp"

#include "pages/page_sizes.hpp"
#include "seed.hpp"
#include "testing.hpp"

namespace valet::pages {
namespace {

struct Piece {
  std::size_t stream = 0;
  std::uint64_t bytes = 0;
};

/// Bytes of a stream in order, taken together again from its fragments and its pages.
std::vector<std::byte> reassembled(PageSegments& streams, std::size_t s,
                                   const std::vector<std::byte>& arena, std::uint64_t page) {
  const Segment& stream = streams.segments()[s];
  const std::span<const std::byte> fragments = streams.fragments_of(stream);
  const auto middle = fragments.begin() + static_cast<std::ptrdiff_t>(stream.head_bytes);
  std::vector<std::byte> bytes(fragments.begin(), middle);
  for (std::uint64_t k = 0; k < stream.pages; ++k) {
    const auto from =
        arena.begin() + static_cast<std::ptrdiff_t>(streams.side().slot(stream, k) * page);
    bytes.insert(bytes.end(), from, from + static_cast<std::ptrdiff_t>(page));
  }
  bytes.insert(bytes.end(), middle, fragments.end());
  return bytes;
}

void expect_streams(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  const std::uint64_t page = 64 * pick(1, 4);
  const std::size_t count = pick(1, 6);
  std::vector<Piece> pieces;
  std::vector<std::vector<std::byte>> content(count);
  std::vector<std::byte> arena;
  const std::uint64_t longest = pick(0, 1) == 0 ? 40 : 2000;
  for (std::uint64_t k = pick(0, 60); k > 0; --k) {
    const Piece piece{pick(0, count - 1), pick(0, 4) == 0 ? 0 : pick(0, longest)};
    pieces.push_back(piece);
    for (std::uint64_t b = 0; b < piece.bytes; ++b) {
      arena.push_back(static_cast<std::byte>(random()));
      content[piece.stream].push_back(arena.back());
    }
  }
  Ledger ledger;
  PageSegments streams(ledger, page);
  for (std::size_t s = 0; s < count; ++s)
    streams.add(static_cast<int>(s), content[s].size(), pick(0, page - 1));
  EXPECT_LE(streams.fragment_bytes(), 2 * page * count);
  streams.start_list();
  for (const Piece& piece : pieces) ASSERT_TRUE(streams.list(piece.stream, piece.bytes));
  EXPECT_TRUE(streams.is_complete());
  std::vector<std::byte> scratch(streams.fragment_bytes());
  streams.start(arena.data(), scratch);
  for (const Piece& piece : pieces) streams.append(piece.stream, piece.bytes);
  for (std::size_t s = 0; s < count; ++s)
    ASSERT_EQ(reassembled(streams, s, arena, page), content[s]);
}

TEST(PageSegments, KeepEveryByteInOrderWhereverTheyBegin) {
  const std::uint64_t first = 20260101, cases = test::cases_wanted(20'000);
  for (std::uint64_t k = 0; k < cases; ++k) {
    SCOPED_TRACE("seed " + std::to_string(first + k));
    expect_streams(first + k);
    if (::testing::Test::HasFailure()) return;
  }
}

// What a pass has brought into pages, the pass backwards brings to where it was.
TEST(PageSegments, GoBackTheWayTheyCame) {
  const std::uint64_t first = 20260201, cases = test::cases_wanted(20'000);
  for (std::uint64_t seed = first; seed < first + cases; ++seed) {
    std::mt19937_64 random(seed);
    const auto pick = [&](std::uint64_t least, std::uint64_t most) {
      return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
    };
    const std::uint64_t page = pick(1, 200), count = pick(1, 6), longest = pick(1, 700);
    std::vector<Piece> pieces(pick(0, 60));
    std::vector<std::uint64_t> bytes(count);
    std::uint64_t all = 0;
    for (Piece& piece : pieces) {
      piece = {pick(0, count - 1), pick(0, longest)};
      bytes[piece.stream] += piece.bytes;
      all += piece.bytes;
    }
    std::vector<std::byte> memory(all);
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    const std::vector<std::byte> before = memory;
    Ledger ledger;
    PageSegments streams(ledger, page);
    for (std::size_t s = 0; s < count; ++s) streams.add(static_cast<int>(s), bytes[s], 0);
    streams.start_list();
    for (const Piece& piece : pieces) ASSERT_TRUE(streams.list(piece.stream, piece.bytes));
    std::vector<std::byte> scratch(streams.fragment_bytes());
    streams.start(memory.data(), scratch);
    for (const Piece& piece : pieces) streams.append(piece.stream, piece.bytes);
    // All that is not in pages or fragments is lost.
    std::uint64_t pages = 0;
    for (const auto& segment : streams.segments()) pages += segment.pages;
    std::fill(memory.begin() + static_cast<std::ptrdiff_t>(pages * page), memory.end(),
              std::byte{0xee});
    streams.start_back(memory.data(), all);
    for (std::size_t k = pieces.size(); k-- > 0;) streams.take(pieces[k].stream, pieces[k].bytes);
    ASSERT_EQ(memory, before) << "seed " << seed;
  }
}

TEST(PageSegments, TellWhetherTheListHasOtherBytesThanWerePlanned) {
  Ledger ledger;
  PageSegments streams(ledger, 64);
  streams.add(0, 200, 10);
  streams.add(3, 0, 0);
  streams.start_list();
  EXPECT_TRUE(streams.list(0, 150));
  EXPECT_FALSE(streams.is_complete());
  EXPECT_FALSE(streams.list(0, 51));
  EXPECT_FALSE(streams.list(1, 1));
  EXPECT_FALSE(streams.list(2, 0)) << "there is no such stream";
  EXPECT_TRUE(streams.list(0, 50));
  EXPECT_TRUE(streams.is_complete());
}

TEST(PageSegments, ThatAreOneRunEachNeedNoScratchButForHeadsAndTails) {
  Ledger ledger;
  PageSegments streams(ledger, 64, true);
  streams.add(0, 54 + 2 * 64 + 18, 10);
  streams.add(1, 4 + 64 + 2, 60);
  EXPECT_EQ(streams.fragment_bytes(), 54U + 18 + 4 + 2);
}

TEST(PageSegments, MoveAPageOfOneBlockWithoutABuffer) {
  Ledger ledger;
  std::vector<std::byte> arena(64 * 10);
  for (std::size_t b = 0; b < arena.size(); ++b) arena[b] = static_cast<std::byte>(b * 7 + b / 64);
  const std::vector<std::byte> before = arena;
  PageSegments streams(ledger, 64);
  streams.add(0, arena.size(), 0);
  streams.start_list();
  ASSERT_TRUE(streams.list(0, arena.size()));
  std::vector<std::byte> scratch(streams.fragment_bytes());
  streams.start(arena.data(), scratch);
  streams.append(0, arena.size());
  EXPECT_EQ(arena, before);
  EXPECT_EQ(scratch, std::vector<std::byte>(64)) << "nothing went through the buffer";
}

TEST(RaggedPages, AreAsLargeAsHalfOfTheBudgetAllowsAndNeverBelowTheLeast) {
  using pages::buffered_pages;
  using pages::ragged_page_bytes;
  for (const std::uint64_t destinations : {0, 1, 2, 9, 1000})
    for (std::uint64_t budget = 0; budget < std::uint64_t{64} << 20;
         budget = budget * 3 / 2 + 100) {
      const std::uint64_t page = ragged_page_bytes(budget, destinations);
      EXPECT_EQ(page % 64, 0U);
      EXPECT_GE(page, 512U);
      EXPECT_LE(page, 65536U);
      EXPECT_TRUE(page == 512 || buffered_pages(destinations) * page <= budget / 2);
      EXPECT_TRUE(page == 65536 || buffered_pages(destinations) * (page + 64) > budget / 2);
    }
  EXPECT_EQ(ragged_page_bytes(std::uint64_t{4} << 20, 4), 65536U);
  EXPECT_EQ(ragged_page_bytes(6 * 512, 2), 512U) << "all of the budget, not half";
}

}  // namespace
}  // namespace valet::pages
