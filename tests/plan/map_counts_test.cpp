// SPDX-License-Identifier: BSD-3-Clause

// The first pass over a map, against a count block by block: with more ranks than a test can start.

#include "plan/map_counts.hpp"

#include "testing.hpp"

namespace valet::plan {
namespace {

constexpr int ranks = 5000;
constexpr int own_rank = 7;

struct Map {
  std::vector<int> destination;
  std::vector<std::uint8_t> mask;
  [[nodiscard]] Occupied occupied() const { return Occupied::masked(mask); }
};

/// To few ranks or to many, in runs or without order, with gaps or without.
Map random_map(std::mt19937_64& random) {
  const auto pick = [&](std::uint64_t least, std::uint64_t most) {
    return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
  };
  Map map;
  map.destination.resize(pick(0, 400));
  map.mask.assign(map.destination.size(), 1);
  const std::uint64_t kinds = pick(1, 3) == 1 ? 200 : pick(1, 6);
  const std::uint64_t stride = pick(0, 1) == 0 ? 1 : 32;  // as many as there are entries at first
  int rank = own_rank;
  for (std::size_t slot = 0; slot < map.mask.size(); ++slot) {
    if (pick(0, 2) > 0) rank = static_cast<int>(pick(0, kinds) * stride % ranks);
    map.destination[slot] = pick(0, 5) == 0 ? own_rank : rank;
    if (kinds % 2 == 0) map.mask[slot] = static_cast<std::uint8_t>(pick(0, 3));
  }
  return map;
}

MapCounts counts_of(Ledger& ledger, const Map& map) {
  MapCounts counts(ledger, map.mask.size());
  count_map(counts, map.occupied(), own_rank, ranks, NegativeRank::refuse,
            [&](std::uint64_t slot) { return map.destination[slot]; });
  return counts;
}

TEST(MapCounts, AreThoseOfEveryBlock) {
  std::mt19937_64 random(20260101);
  for (int number = 0; number < 1000; ++number) {
    SCOPED_TRACE("seed 20260101, case " + std::to_string(number));
    const Map map = random_map(random);
    Ledger ledger;
    const MapCounts counts = counts_of(ledger, map);
    ASSERT_FALSE(counts.diagnostic);
    std::map<int, std::uint64_t> expected, found;
    std::uint64_t blocks = 0;
    for (std::size_t slot = 0; slot < map.mask.size(); ++slot) {
      const bool is_free = map.mask[slot] == 0;
      const bool leaves = !is_free && map.destination[slot] != own_rank;
      ASSERT_EQ(counts.initially_free.contains(slot), is_free) << slot;
      ASSERT_EQ(counts.holes.contains(slot), is_free || leaves) << slot;
      blocks += is_free ? 0 : 1;
      if (leaves) ++expected[map.destination[slot]];
    }
    counts.leaving.for_each([&](int rank, std::uint64_t count) { found[rank] += count; });
    ASSERT_EQ(found, expected);
    ASSERT_EQ(counts.leaving.size(), expected.size());
    ASSERT_EQ(counts.blocks_before, blocks);
  }
}

TEST(MapCounts, EndAtTheFirstDestinationThatIsNoRank) {
  for (const int bad : {-1, ranks, ranks + 32})
    for (const std::size_t at : {0, 63, 64, 130}) {
      Map map{std::vector<int>(200, 3), std::vector<std::uint8_t>(200, 1)};
      map.destination[at] = bad;
      Ledger ledger;
      const MapCounts counts = counts_of(ledger, map);
      ASSERT_TRUE(counts.diagnostic) << bad << " in slot " << at;
      EXPECT_EQ(counts.diagnostic->code, ErrorCode::rank_out_of_range);
      test::expect_words(counts.diagnostic->text, {"slot " + std::to_string(at) +
                                                   " is sent to rank " + std::to_string(bad)});
    }
}

}  // namespace
}  // namespace valet::plan
