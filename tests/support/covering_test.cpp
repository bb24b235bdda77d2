// SPDX-License-Identifier: BSD-3-Clause
#include "covering.hpp"

#include "testing.hpp"

namespace valet::test {
namespace {

TEST(Pairwise, LetsEachTwoLevelsMeetInFewChoices) {
  const Levels counts{3, 5, 6, 2, 3, 12, 1, 16};
  const std::vector<Levels> all = pairwise(counts);
  EXPECT_LE(all.size(), 16U * 12U * 5 / 4);
  for (std::size_t f = 0; f < counts.size(); ++f)
    for (std::size_t g = 0; g < f; ++g) {
      std::set<std::pair<std::size_t, std::size_t>> met;
      for (const Levels& levels : all) met.emplace(levels.at(f), levels.at(g));
      EXPECT_EQ(met.size(), counts[f] * counts[g]) << f << " and " << g;
    }
}

}  // namespace
}  // namespace valet::test
