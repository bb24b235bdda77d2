// SPDX-License-Identifier: BSD-3-Clause

#include "pages/page_cut.hpp"

#include "testing.hpp"

namespace valet::pages {
namespace {

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
