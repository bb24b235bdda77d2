// SPDX-License-Identifier: BSD-3-Clause

// Who sends how much to whom, for any number of ranks in one process, against counting one by one.

#include "testing.hpp"
#include <valet/p4est/detail/counts.hpp>

namespace valet::test {
namespace {

using Offsets = std::vector<std::int64_t>;
using Counts = std::vector<std::uint64_t>;

Offsets random_offsets(std::mt19937_64& random, std::size_t ranks, std::int64_t quadrants) {
  Offsets gfq(ranks + 1);
  for (std::int64_t& offset : gfq)
    offset = std::uniform_int_distribution<std::int64_t>(0, quadrants)(random);
  std::ranges::sort(gfq);
  gfq.front() = 0;
  gfq.back() = quadrants;
  return gfq;
}

std::size_t rank_of(const Offsets& gfq, std::int64_t quadrant) {
  std::size_t rank = 0;
  while (gfq[rank + 1] <= quadrant) ++rank;
  return rank;
}

std::int64_t size_of_data(std::int64_t quadrant) { return quadrant * 7 % 11; }

/// What `count` finds on one of so many ranks.
struct Found {
  Found(std::size_t ranks, int rank)
      : sent(ranks), received(ranks), of{rank, sent, received, print} {}
  Counts sent, received;
  std::uint64_t print = 0;
  detail::CountsOfRank of;
};

TEST(P4estCounts, AreThoseOfCountingEveryQuadrant) {
  std::mt19937_64 random(1);
  for (int test_case = 0; test_case < 300; ++test_case) {
    const std::size_t ranks = 1 + random() % 9;
    const auto quadrants = static_cast<std::int64_t>(random() % 40);
    const Offsets src = random_offsets(random, ranks, quadrants);
    const Offsets dest = random_offsets(random, ranks, quadrants);
    const p4est::detail::Transfer transfer{{dest.data(), src.data()}, 10'000};
    for (std::size_t r = 0; r < ranks; ++r) {
      Counts sent(ranks), received(ranks), bytes_sent(ranks), bytes_received(ranks);
      std::vector<std::int64_t> src_sizes, dest_sizes;
      for (std::int64_t q = 0; q < quadrants; ++q) {
        const std::size_t from = rank_of(src, q), to = rank_of(dest, q);
        const auto bytes = static_cast<std::uint64_t>(size_of_data(q));
        if (from == r) {
          ++sent[to];
          bytes_sent[to] += bytes;
          src_sizes.push_back(size_of_data(q));
        }
        if (to == r) {
          ++received[from];
          bytes_received[from] += bytes;
          dest_sizes.push_back(size_of_data(q));
        }
      }
      Found fixed(ranks, static_cast<int>(r)), custom(ranks, static_cast<int>(r));
      EXPECT_FALSE(p4est::detail::count_fixed(transfer, 3, fixed.of));
      EXPECT_EQ(fixed.sent, sent);
      EXPECT_EQ(fixed.received, received);
      EXPECT_FALSE(
          p4est::detail::count_items(transfer, {}, src_sizes.data(), dest_sizes.data(), custom.of));
      EXPECT_EQ(custom.sent, bytes_sent);
      Found items(ranks, static_cast<int>(r));
      EXPECT_FALSE(p4est::detail::count_items(transfer, p4est::detail::items_of(8),
                                              src_sizes.data(), dest_sizes.data(), items.of));
      EXPECT_EQ(items.sent, bytes_sent);
      EXPECT_EQ(items.received, bytes_received);
      EXPECT_EQ(custom.received, bytes_received);
      EXPECT_EQ(fixed.print, custom.print);
    }
  }
}

TEST(P4estCounts, OfNoBytesAreNone) {
  const Offsets src{0, 5, 9}, dest{0, 2, 9};
  Found found(2, 0);
  EXPECT_FALSE(p4est::detail::count_fixed({{dest.data(), src.data()}, 0}, 0, found.of));
  const std::vector<int> counts(9, 3);
  Found items(2, 0);
  EXPECT_FALSE(p4est::detail::count_items({{dest.data(), src.data()}, 0}, {0}, counts.data(),
                                          counts.data(), items.of));
  for (const Found& each : {std::ref(found), std::ref(items)}) {
    EXPECT_EQ(each.sent, (Counts{0, 0}));
    EXPECT_EQ(each.received, (Counts{0, 0}));
  }
}

// Offsets of 2^62 quadrants are no mistake of their own; what they would take is no number.
TEST(P4estCounts, OfMoreThanAnyMemoryAreRefusedAndDoNotOverflow) {
  const std::int64_t most = std::int64_t{1} << 62;
  const Offsets src{0, most, most}, dest{0, 0, most};
  Found found(2, 0);
  const auto wrong = p4est::detail::count_fixed({{dest.data(), src.data()}, 1 << 20}, 64, found.of);
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->code, ErrorCode::infeasible);
  const Offsets three{0, 3};
  const std::vector<std::uint64_t> sizes{~std::uint64_t{0}, ~std::uint64_t{0}, 5};
  Found custom(1, 0);
  const auto too_large = p4est::detail::count_items({{three.data(), three.data()}, 1 << 20}, {},
                                                    sizes.data(), sizes.data(), custom.of);
  ASSERT_TRUE(too_large);
  EXPECT_EQ(too_large->code, ErrorCode::infeasible);
}

TEST(P4estCounts, FingerprintsTellOffsetsApart) {
  const Offsets a{0, 3, 9}, b{0, 4, 9};
  const auto print = [](const Offsets& dest, const Offsets& src) {
    return p4est::detail::fingerprint_of({dest.data(), src.data()}, 2);
  };
  EXPECT_EQ(print(a, b), print(Offsets(a), Offsets(b)));
  EXPECT_NE(print(a, b), print(b, a));
  EXPECT_NE(print(a, b), print(a, a));
  EXPECT_NE(print(a, a), print(b, b));
}

}  // namespace
}  // namespace valet::test
