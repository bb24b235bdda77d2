// SPDX-License-Identifier: BSD-3-Clause

// Which maps are taken for a layout, against all layouts that there are, and who gets what then.

#include "geometry/map_pattern.hpp"
#include "layout_oracle.hpp"
#include "test_comm.hpp"

#include <numeric>
#include <sys/mman.h>
#include <unistd.h>

namespace valet::test {
namespace {

using layout::CyclicDistribution;
using layout::MapPattern;
using layout::recognise;

/// The map that a distribution stands for, by its definition.
std::vector<int> map_of(const CyclicDistribution& part, int ranks) {
  std::vector<int> map(static_cast<std::size_t>(part.count));
  const std::int64_t turns = part.turns == 0 ? ranks : part.turns;
  for (std::size_t k = 0; k < map.size(); ++k) {
    const std::int64_t turn = (part.offset + static_cast<std::int64_t>(k)) / part.block_size;
    map[k] = static_cast<int>((part.first_rank + part.step * (turn % turns)) % ranks);
  }
  return map;
}
/// The same for a pattern.
std::vector<int> whole_map(const MapPattern& pattern, int ranks) {
  std::vector<int> map;
  const auto count = static_cast<std::size_t>(pattern.count);
  while (map.size() < count)
    for (std::size_t p = 0; p < pattern.used; ++p) {
      const std::vector<int> part = map_of(pattern.parts[p], ranks);
      map.insert(map.end(), part.begin(), part.end());
    }
  map.resize(count);
  return map;
}
std::int64_t count_in(const MapPattern& pattern, int rank, int ranks) {
  return layout::count_dealt(
      pattern.count, pattern.used, [&](std::size_t p) { return pattern.parts[p]; }, rank, ranks);
}

/// Whatever is taken for a pattern is the map.
void expect_same(const MapPattern& found, const std::vector<int>& map, int ranks) {
  if (!found.regular) return;
  ASSERT_EQ(whole_map(found, ranks), map);
  for (int rank = 0; rank < ranks; ++rank)
    ASSERT_EQ(count_in(found, rank, ranks), std::ranges::count(map, rank)) << "rank " << rank;
}

/// Map number `number` of the given length.
std::vector<int> numbered_map(int number, std::size_t length, int ranks) {
  std::vector<int> map(length);
  for (int& rank : map) {
    rank = number % ranks;
    number /= ranks;
  }
  return map;
}

void expect_counts_and_runs(const CyclicDistribution& distribution, int ranks) {
  const std::vector<int> map = map_of(distribution, ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<std::int64_t> expected;
    for (std::size_t k = 0; k < map.size(); ++k)
      if (map[k] == rank) expected.push_back(static_cast<std::int64_t>(k));
    EXPECT_EQ(distribution.count_of(rank, ranks), static_cast<std::int64_t>(expected.size()));
    std::vector<std::int64_t> found;
    distribution.for_each_run(rank, ranks, [&](std::int64_t first, std::int64_t count) {
      EXPECT_GE(count, 0);
      for (std::int64_t k = first; k < first + count; ++k) found.push_back(k);
    });
    EXPECT_EQ(found, expected);
  }
}

TEST(Recognise, FindsWhatALayoutIsWithoutOneOfItsRanks) {
  // All that a rank has is dealt, and what stays is left out: the rest is as if there were one rank
  // less.
  constexpr int ranks = 5;
  for (std::int64_t block = 1; block <= 4; ++block)
    for (std::int64_t offset = 0; offset < block; ++offset)
      for (int first = 0; first < ranks; ++first)
        for (int own = 0; own < ranks; ++own)
          for (std::int64_t count = 0; count < 3 * block * ranks; ++count) {
            std::vector<int> map = map_of({count, block, offset, first}, ranks);
            std::erase(map, own);
            const MapPattern found = recognise(map, ranks, own);
            ASSERT_TRUE(found.regular && found.used <= 1);
            for (int rank = 0; rank < ranks; ++rank)
              if (rank != own) {
                ASSERT_EQ(count_in(found, layout::number_without(rank, own), ranks - 1),
                          std::ranges::count(map, rank));
              }
          }
}

TEST(Recognise, FindsTheWorkedTable) {
  const MapPattern found = recognise(std::vector<int>{1, 1, 2, 2, 2, 0, 0}, 3);
  EXPECT_TRUE(found.is_one_part());
  EXPECT_FALSE(found.ascending);
  EXPECT_EQ(found.parts[0], (CyclicDistribution{7, 3, 1, 1, 1, 3}));
}

TEST(Recognise, TellsRowsOfTilesByTwoParts) {
  std::vector<int> map;
  for (int k = 0; k < 100; ++k) map.push_back(k / 6 % 2 * 2 + k % 6 % 2);
  const MapPattern found = recognise(map, 4);
  ASSERT_TRUE(found.regular && found.used == 2);
  EXPECT_EQ(found.parts[0], (CyclicDistribution{6, 1, 0, 0, 1, 2}));
  EXPECT_EQ(found.parts[1], (CyclicDistribution{6, 1, 0, 2, 1, 2}));
  EXPECT_EQ(found.periods(4), 9);
}

TEST(Recognise, TellsRowsOfTilesOfAnyLengthByTwoParts) {
  for (const int row : {60, 600, 1200, 5000}) {
    std::vector<int> map;
    for (int k = 0; k < 5 * row; ++k)
      map.push_back(k % row < row / 3 ? k % row / 5 % 2 : 2 + k % row / 4 % 2);
    const MapPattern found = recognise(map, 4);
    ASSERT_TRUE(found.regular) << row;
    EXPECT_EQ(found.used, 2U) << row;
    EXPECT_EQ(whole_map(found, 4), map) << row;
  }
}

TEST(Recognise, TakesTheCyclicMapsOfAllSmallOnesAsOnePart) {
  for (const int ranks : {1, 2, 3, 4})
    for (std::size_t length = 0; length <= 7; ++length) {
      int maps = 1;
      for (std::size_t k = 0; k < length; ++k) maps *= ranks;
      for (int number = 0; number < maps; ++number) {
        const std::vector<int> map = numbered_map(number, length, ranks);
        const MapPattern found = recognise(map, ranks);
        ASSERT_EQ(found.ascending, std::is_sorted(map.begin(), map.end())) << "map " << number;
        ASSERT_TRUE(!is_cyclic(map, ranks) || found.used <= 1) << "map " << number;
        expect_same(found, map, ranks);
      }
    }
}

TEST(Recognise, IsNotMisledByABeginning) {
  // Long enough for several periods; wrong at one place only.
  for (const std::int64_t block : {1, 3}) {
    const std::vector<int> good = map_of({60 * block, block, 0, 2}, 5);
    ASSERT_TRUE(recognise(good, 5).regular);
    for (std::size_t k = 0; k < good.size(); ++k)
      for (int other = 0; other < 5; ++other) {
        std::vector<int> bad = good;
        bad[k] = other;
        const MapPattern found = recognise(bad, 5);
        const bool in_the_middle = k >= 10 && k + 10 < good.size();
        ASSERT_TRUE(!in_the_middle || !found.regular || other == good[k]) << k << " is " << other;
        expect_same(found, bad, 5);
      }
  }
}

TEST(Recognise, LooksAtAFewEntriesOfAnIrregularMap) {
  // What is behind the first page must not be read.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const memory =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  int* const map = static_cast<int*>(memory);
  const std::size_t entries = page / sizeof(int);
  std::mt19937_64 random(seed());
  for (std::size_t k = 0; k < entries; ++k) map[k] = static_cast<int>(pick(random, 0, 4));
  ASSERT_EQ(mprotect(map + entries, page, PROT_NONE), 0);
  EXPECT_FALSE(recognise({map, 2 * entries}, 5).regular);
  munmap(memory, 2 * page);
}

/// Counts the entries that are read.
class CountedEntry {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = int;
  using difference_type = std::ptrdiff_t;
  using pointer = const int*;
  using reference = const int&;

  CountedEntry() = default;
  CountedEntry(const int* at, std::size_t& reads) : at_(at), reads_(&reads) {}
  const int& operator*() const { return ++*reads_, *at_; }
  CountedEntry& operator++() { return ++at_, *this; }
  CountedEntry& operator--() { return --at_, *this; }
  CountedEntry& operator+=(std::ptrdiff_t count) { return at_ += count, *this; }
  std::ptrdiff_t operator-(const CountedEntry& other) const { return at_ - other.at_; }
  bool operator==(const CountedEntry& other) const { return at_ == other.at_; }

 private:
  const int* at_ = nullptr;
  std::size_t* reads_ = nullptr;
};

TEST(Recognise, ReadsAMapWithALongRunAFewTimes) {
  constexpr std::size_t length = 100'000;
  for (const std::size_t before : {0, 1, 7}) {
    std::mt19937_64 random(seed());
    std::vector<int> map(before + length, 0);
    for (std::size_t k = 0; k < before; ++k) map[k] = static_cast<int>(pick(random, 1, 2));
    while (map.size() < before + 2 * length) map.push_back(static_cast<int>(pick(random, 0, 2)));
    std::size_t reads = 0;
    layout::PatternScan scan(CountedEntry(map.data(), reads),
                             CountedEntry(map.data() + map.size(), reads),
                             static_cast<std::int64_t>(map.size()), 3, layout::no_rank);
    EXPECT_FALSE(scan.run().regular);
    EXPECT_LE(reads, 4 * length) << before << " other entries come first";
  }
}

TEST(Recognise, FindsWhatIsRegular) {
  std::size_t parts = 0;
  for (int number = 0; number < 20'000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(number));
    const std::size_t ranks = pick(random, 1, 9);
    const std::vector<int> map = regular_map(random, ranks);
    const MapPattern found = recognise(map, static_cast<int>(ranks));
    ASSERT_TRUE(found.regular) << ranks << " ranks " << ::testing::PrintToString(map);
    expect_same(found, map, static_cast<int>(ranks));
    ASSERT_EQ(found.ascending, std::is_sorted(map.begin(), map.end()));
    if (HasFailure()) return;
    parts = std::max(parts, found.used);
  }
  EXPECT_GT(parts, 9U);
}

TEST(Recognise, TellsManyRanksInAnyOrderByHalfAsManyParts) {
  constexpr std::size_t ranks = 100;
  std::mt19937_64 random(seed());
  const std::vector<int> turns = some_ranks(random, ranks, ranks);
  std::vector<int> map;
  for (std::size_t k = 0; k < 1000; ++k) map.push_back(turns[k % ranks]);
  const MapPattern found = recognise(map, ranks);
  ASSERT_TRUE(found.regular);
  EXPECT_LE(found.used, ranks / 2);
  expect_same(found, map, ranks);
}

TEST(Recognise, SeesWhetherAMapOfManyPiecesAscends) {
  constexpr int ranks = 300;
  std::vector<int> map;
  for (int rank = 0; rank < ranks; ++rank)
    map.insert(map.end(), static_cast<std::size_t>(1 + rank * rank % 7), rank);
  const MapPattern found = recognise(map, ranks);
  EXPECT_FALSE(found.regular) << found.used << " parts are not told";
  EXPECT_TRUE(found.ascending);
  EXPECT_EQ(found.first_rank, 0);
  EXPECT_EQ(found.last_rank, ranks - 1);
  map.back() = 0;
  EXPECT_FALSE(recognise(map, ranks).ascending);
}

TEST(CyclicDistribution, GivesTheOwnerOfEachBlock) {
  std::mt19937_64 random(seed());
  const auto up_to = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int number = 0; number < 2000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    const int ranks = static_cast<int>(up_to(1, 9));
    CyclicDistribution distribution;
    distribution.count = up_to(0, 80);
    distribution.block_size = up_to(1, 12);
    distribution.first_rank = up_to(0, ranks - 1);
    distribution.step = ranks == 1 ? 1 : up_to(1, ranks - 1);
    distribution.turns = up_to(1, ranks / std::gcd<std::int64_t>(ranks, distribution.step));
    distribution.offset = up_to(0, distribution.block_size * distribution.turns - 1);
    if (distribution.turns == ranks && up_to(0, 1) == 0) distribution.turns = 0;
    expect_counts_and_runs(distribution, ranks);
    const MapPattern found = recognise(map_of(distribution, ranks), ranks);
    ASSERT_TRUE(found.regular);
    expect_same(found, map_of(distribution, ranks), ranks);
    if (found.is_one_part()) expect_counts_and_runs(found.parts[0], ranks);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace valet::test
