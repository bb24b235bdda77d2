// SPDX-License-Identifier: BSD-3-Clause

#include "pages/page_sizes.hpp"

#include "pages/page_cut.hpp"
#include "testing.hpp"

namespace valet::pages {
namespace {

TEST(PageSize, IsAnElementTimesAPowerOfTwoAndLeavesHalfTheBudgetWherePossible) {
  for (const std::size_t element : {1, 3, 16, 64})
    for (const std::size_t budget : {1 << 10, 64 << 10, 4 << 20})
      for (const std::uint64_t bytes :
           {std::uint64_t{0}, std::uint64_t{1000}, std::uint64_t{1} << 36})
        for (const std::uint64_t segments : {0, 2, 100, 10'000}) {
          const PageLimits limits{budget, element, bytes, segments};
          const std::uint64_t page = choose_page_bytes(limits);
          const std::uint64_t elements = page / element;
          ASSERT_EQ(page % element, 0U);
          ASSERT_EQ(elements & (elements - 1), 0U);
          ASSERT_LE(page, std::uint64_t{64} << 10);
          bool possible = false;
          for (std::uint64_t other = element; other <= std::uint64_t{64} << 10; other *= 2)
            possible = possible ||
                       (page_overhead_bytes(limits, other) <= budget / 2 && other <= budget / 8);
          if (!possible) continue;
          ASSERT_LE(page_overhead_bytes(limits, page), budget / 2)
              << page << " for " << budget << ", " << bytes << ", " << segments;
        }
}

TEST(PageSize, EvenPowersOfTwoHaveNoFragments) {
  constexpr std::uint64_t bytes = std::uint64_t{64} << 20;
  const std::uint64_t page = choose_page_bytes({std::size_t{4} << 20, 16, bytes, 8});
  EXPECT_EQ(page, std::uint64_t{64} << 10);
  for (std::uint64_t segment = 0; segment < 4; ++segment)
    EXPECT_EQ(pages::cut_into_pages(segment * bytes / 4, bytes / 4, page).fragment_bytes(), 0U);
}

TEST(PageSize, CountsTheFragmentsOfWholeElementsAndNoMore) {
  for (const std::uint64_t element : {1, 3, 8, 4096})
    for (std::uint64_t page = element; page <= 8 * element; page *= 2) {
      std::uint64_t most = 0;
      for (std::uint64_t begin = 0; begin < 3 * page; begin += element)
        for (std::uint64_t bytes = 0; bytes < 5 * page; bytes += element)
          most = std::max(most, pages::cut_into_pages(begin, bytes, page).fragment_bytes());
      const PageLimits limits{1 << 20, element, 1000 * page, 10};
      const std::uint64_t counted = page_overhead_bytes(limits, page) - 20'000;
      EXPECT_EQ(counted, 10 * most);
    }
}

TEST(PageCut, PartsAddUpAndWholePagesAreAligned) {
  for (const std::uint64_t page : {1, 3, 8, 64})
    for (std::uint64_t begin = 0; begin < 3 * page; ++begin)
      for (std::uint64_t bytes = 0; bytes < 5 * page; ++bytes) {
        const PageCut cut = cut_into_pages(begin, bytes, page);
        ASSERT_EQ(cut.head_bytes + cut.pages * page + cut.tail_bytes, bytes);
        ASSERT_LT(cut.fragment_bytes(), std::max<std::uint64_t>(1, 2 * page - 1));
        if (cut.pages > 0) {
          ASSERT_EQ(begin + cut.head_bytes, cut.first_page * page);
          ASSERT_LT(cut.head_bytes, page);
          ASSERT_LT(cut.tail_bytes, page);
        }
      }
}

TEST(PageCut, TheSumOfOthersLeavesThisRankOut) {
  std::array<Segment, 3> segments;
  for (std::size_t s = 0; s < 3; ++s) {
    segments[s].rank = static_cast<int>(2 * s);
    segments[s].pages = 10 + s;
  }
  const auto sum = [&](int rank) {
    return sum_of_others(std::span<Segment>(segments), rank, &PageCut::pages);
  };
  EXPECT_EQ(sum(2), 22U);
  EXPECT_EQ(sum(3), 33U);
}

}  // namespace
}  // namespace valet::pages
