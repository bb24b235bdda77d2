// SPDX-License-Identifier: BSD-3-Clause

// Which maps are taken for a layout, against all layouts that there are, and who gets what then.

#include "geometry/cyclic_distribution.hpp"

#include "layout_oracle.hpp"
#include "test_comm.hpp"

#include <sys/mman.h>
#include <unistd.h>

namespace valet::test {
namespace {

using layout::CyclicDistribution;
using layout::MapPattern;
using layout::recognise;

/// The map that a distribution stands for, by its definition.
std::vector<int> map_of(const CyclicDistribution& distribution, int ranks) {
  std::vector<int> map(static_cast<std::size_t>(distribution.count));
  for (std::size_t k = 0; k < map.size(); ++k)
    map[k] = cyclic_rank(k, static_cast<std::size_t>(distribution.block_size),
                         static_cast<std::size_t>(distribution.offset),
                         static_cast<std::size_t>(distribution.first_rank), ranks);
  return map;
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
            ASSERT_TRUE(found.periodic);
            for (int rank = 0; rank < ranks; ++rank)
              if (rank != own) {
                ASSERT_EQ(found.distribution.count_of(layout::number_without(rank, own), ranks - 1),
                          std::ranges::count(map, rank));
              }
          }
}

TEST(Recognise, FindsTheWorkedTable) {
  const MapPattern found = recognise(std::vector<int>{1, 1, 2, 2, 2, 0, 0}, 3);
  EXPECT_TRUE(found.periodic);
  EXPECT_FALSE(found.ascending);
  EXPECT_EQ(found.distribution, (CyclicDistribution{7, 3, 1, 1}));
}

TEST(Recognise, TakesExactlyTheCyclicMapsOfAllSmallOnes) {
  for (const int ranks : {1, 2, 3, 4})
    for (std::size_t length = 0; length <= 7; ++length) {
      int maps = 1;
      for (std::size_t k = 0; k < length; ++k) maps *= ranks;
      for (int number = 0; number < maps; ++number) {
        const std::vector<int> map = numbered_map(number, length, ranks);
        const MapPattern found = recognise(map, ranks);
        ASSERT_EQ(found.periodic, is_cyclic(map, ranks)) << "map " << number << " of " << length;
        ASSERT_EQ(found.ascending, std::is_sorted(map.begin(), map.end())) << "map " << number;
        if (found.periodic) {
          ASSERT_EQ(map_of(found.distribution, ranks), map) << "map " << number;
        }
      }
    }
}

TEST(Recognise, IsNotMisledByABeginning) {
  // Long enough for several periods; wrong at one place only.
  for (const std::int64_t block : {1, 3}) {
    const std::vector<int> good = map_of({60 * block, block, 0, 2}, 5);
    ASSERT_TRUE(recognise(good, 5).periodic);
    for (std::size_t k = 0; k < good.size(); ++k)
      for (int other = 0; other < 5; ++other) {
        std::vector<int> bad = good;
        bad[k] = other;
        ASSERT_EQ(recognise(bad, 5).periodic, is_cyclic(bad, 5)) << k << " is " << other;
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
  for (std::size_t k = 0; k < entries; ++k) map[k] = k % 2 == 0 ? 3 : 1;
  ASSERT_EQ(mprotect(map + entries, page, PROT_NONE), 0);
  EXPECT_FALSE(recognise({map, 2 * entries}, 5).periodic);
  munmap(memory, 2 * page);
}

TEST(CyclicDistribution, GivesTheOwnerOfEachBlock) {
  std::mt19937_64 random(seed());
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  for (int number = 0; number < 2000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    const int ranks = static_cast<int>(pick(1, 9));
    CyclicDistribution distribution;
    distribution.count = pick(0, 80);
    distribution.block_size = pick(1, 12);
    distribution.offset = distribution.count == 0 ? 0 : pick(0, distribution.block_size - 1);
    distribution.first_rank = pick(0, ranks - 1);
    expect_counts_and_runs(distribution, ranks);
    const MapPattern found = recognise(map_of(distribution, ranks), ranks);
    ASSERT_TRUE(found.periodic);
    expect_counts_and_runs(found.distribution, ranks);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace valet::test
