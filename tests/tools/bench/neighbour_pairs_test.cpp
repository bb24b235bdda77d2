// SPDX-License-Identifier: BSD-3-Clause

// The nearest neighbours of points, against all distances.

#include "bench/neighbour_pairs.hpp"

#include "testing.hpp"

namespace valet::bench {
namespace {

double distance(const Point& a, const Point& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); ++d) sum += (a[d] - b[d]) * (a[d] - b[d]);
  return sum;
}

TEST(NeighbourPairs, AreThoseOfTheNearest) {
  constexpr std::size_t each = 5;
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> place(0, 1);
  std::vector<Point> points(700);
  for (Point& point : points) point = {place(random), place(random), place(random) / 50};
  const std::vector<NeighbourPair> pairs = neighbour_pairs(points, each);
  ASSERT_EQ(pairs.size(), each * points.size());
  for (std::uint32_t point = 0; point < points.size(); ++point) {
    std::vector<double> all, found;
    for (std::uint32_t other = 0; other < points.size(); ++other)
      if (other != point) all.push_back(distance(points[point], points[other]));
    std::ranges::sort(all);
    for (std::size_t k = 0; k < each; ++k) {
      const NeighbourPair& pair = pairs[each * point + k];
      EXPECT_EQ(pair.first, point);
      found.push_back(distance(points[pair.first], points[pair.second]));
    }
    all.resize(each);
    EXPECT_EQ(found, all) << "point " << point;
  }
}

TEST(NeighbourPairs, OfFewPointsAreAllOthers) {
  const std::vector<Point> points{{0, 0, 0}, {0, 0, 0}, {1, 0, 0}};
  EXPECT_EQ(neighbour_pairs(points, 6).size(), 6U);
  EXPECT_TRUE(neighbour_pairs({}, 6).empty());
  EXPECT_TRUE(neighbour_pairs(points, 0).empty());
}

}  // namespace
}  // namespace valet::bench
