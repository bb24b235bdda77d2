// SPDX-License-Identifier: BSD-3-Clause

// Shares of ranks when their number changes, against the same found one block after the other.

#include "schedule/shares.hpp"

#include "fair_shares.hpp"
#include "seed.hpp"
#include "testing.hpp"

namespace valet::schedule {
namespace {

using Counts = std::vector<std::uint64_t>;
using valet::test::seed;

/// Ranks with blocks, of which the first ones are to hold them all.
struct Case {
  explicit Case(std::mt19937_64& random) : counts(1 + random() % 8), holders(1 + random() % 8) {
    if (counts.size() < holders.size()) counts.resize(holders.size(), 0);
    for (std::uint64_t& count : counts) total += count = random() % 5 == 0 ? 0 : random() % 20;
    for (RankLoad& holder : holders) holder.slots = random() % 30;
    std::uint64_t slots = sum_of(holders).slots;
    for (; slots < total; ++slots) ++holders[random() % holders.size()].slots;
  }

  /// The ranks as they are before.
  [[nodiscard]] std::vector<RankLoad> loads() const {
    std::vector<RankLoad> all;
    for (std::size_t r = 0; r < counts.size(); ++r)
      all.push_back({counts[r], r < holders.size() ? holders[r].slots : counts[r]});
    return all;
  }
  void keep(Counts& shares) const {
    const std::vector<RankLoad> all = loads();
    keep_leftovers(std::span(all).first(holders.size()), shares);
  }

  Counts counts;
  std::vector<RankLoad> holders;
  std::uint64_t total = 0;
};

template <class Check>
void for_random_cases(Check&& check) {
  std::mt19937_64 random(seed());
  for (int k = 0; k < 3000 && !testing::Test::HasFailure(); ++k) {
    SCOPED_TRACE("case " + std::to_string(k) + " of seed " + std::to_string(seed()));
    const Case c(random);
    Counts shares(c.counts.size(), 99);
    share_equally(c.holders, c.total, shares);
    check(c, shares, random);
  }
}

TEST(Shares, AreAsEqualAsSlotsPermit) {
  for_random_cases([](const Case& c, Counts& shares, std::mt19937_64&) {
    Counts slots;
    for (const RankLoad& holder : c.holders) slots.push_back(holder.slots);
    const Counts before = shares;
    c.keep(shares);
    for (const Counts& checked : {before, shares}) {
      EXPECT_EQ(std::accumulate(checked.begin(), checked.end(), std::uint64_t{0}), c.total);
      EXPECT_EQ(*std::ranges::max_element(checked),
                valet::test::least_largest_share(c.total, slots));
      for (std::size_t r = 0; r < checked.size(); ++r)
        EXPECT_LE(checked[r], r < c.holders.size() ? c.holders[r].slots : 0);
    }
  });
}

TEST(Shares, LeaveLeftoversWhereTheyAre) {
  Counts shares(4);
  const std::vector<RankLoad> holders(3, RankLoad{0, 9});
  share_equally(holders, 11, shares);
  EXPECT_EQ(shares, (Counts{4, 4, 3, 0}));
  keep_leftovers(std::vector<RankLoad>{{2, 9}, {5, 9}, {4, 9}}, shares);
  EXPECT_EQ(shares, (Counts{3, 4, 4, 0}));
}

TEST(FewestMoves, GiveEveryRankItsShare) {
  for_random_cases([](const Case& c, Counts& shares, std::mt19937_64&) {
    c.keep(shares);
    Counts after(shares.size(), 0);
    std::uint64_t moved = 0, beyond = 0;
    int last = 0;
    for (std::size_t r = 0; r < shares.size(); ++r) {
      std::vector<int> ranks(c.counts[r], -1);
      move_fewest(c.loads(), shares, static_cast<int>(r), ranks);
      beyond += c.counts[r] - std::min(c.counts[r], shares[r]);
      for (std::size_t k = 0; k < ranks.size(); ++k) {
        ASSERT_GE(ranks[k], 0);
        ++after[static_cast<std::size_t>(ranks[k])];
        if (ranks[k] == static_cast<int>(r)) continue;
        EXPECT_GE(k, shares[r]) << "the last blocks leave";
        EXPECT_GE(ranks[k], last) << "for ascending ranks";
        last = ranks[k];
        ++moved;
      }
    }
    EXPECT_EQ(after, shares);
    EXPECT_EQ(moved, beyond);
  });
}

TEST(SharesByWeight, HoldTheMiddlesOfTheirBlocks) {
  EXPECT_EQ(share_of(0, 1, 4, 2), 0U);
  EXPECT_EQ(share_of(1, 1, 4, 2), 0U);
  EXPECT_EQ(share_of(2, 1, 4, 2), 1U);
  EXPECT_EQ(share_of(1, 1.9, 4, 2), 0U) << "most of it is in the first half";
  EXPECT_EQ(share_of(1, 2.1, 4, 2), 1U);
  EXPECT_EQ(share_of(4, 0, 4, 2), 1U) << "there is none behind the last";
}

TEST(FittedBounds, MoveNoFurtherThanSlotsRequire) {
  for_random_cases([](const Case& c, Counts&, std::mt19937_64& random) {
    const std::size_t holders = c.holders.size();
    std::vector<std::int64_t> bounds(holders + 1, 0), fitted;
    for (std::int64_t& bound : bounds) bound = static_cast<std::int64_t>(random() % (c.total + 1));
    std::ranges::sort(bounds);
    bounds.front() = 0;
    bounds.back() = static_cast<std::int64_t>(c.total);
    fitted = bounds;
    fit_bounds(c.holders, fitted);
    EXPECT_EQ(fitted.front(), 0);
    EXPECT_EQ(fitted.back(), bounds.back());
    bool fits = true;
    for (std::size_t r = 0; r < holders; ++r) {
      const auto share = [&](const auto& all) { return all[r + 1] - all[r]; };
      EXPECT_GE(share(fitted), 0);
      EXPECT_LE(share(fitted), static_cast<std::int64_t>(c.holders[r].slots));
      fits = fits && share(bounds) <= static_cast<std::int64_t>(c.holders[r].slots);
    }
    EXPECT_EQ(fits, fitted == bounds);
  });
}

}  // namespace
}  // namespace valet::schedule
