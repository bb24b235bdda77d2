// SPDX-License-Identifier: BSD-3-Clause

// The last point on HSFC's curve, against the positions of all points as Zoltan computes them.

#include "rebalancer/last_on_curve.hpp"

#include "random_maps.hpp"
#include "seed.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

/// The curve, which has weak names only, would not make the linker keep Zoltan.
[[maybe_unused]] auto* const volatile zoltan_is_linked = &Zoltan_Create;

using Points = std::vector<Columns::Numbers>;

/// As HSFC computes it, for points in the unit cube with these margins.
double position(const rebalance::Box& range, std::size_t dimensions, Columns::Numbers point) {
  for (std::size_t d = 0; d < dimensions; ++d) {
    const double wider = (range.high[d] - range.low[d]) * 1.6e-7;
    const double extent = (range.high[d] + wider) - (range.low[d] - wider);
    point[d] = (point[d] - (range.low[d] - wider)) / (extent == 0 ? 1 : extent);
  }
  return zoltan::curve_in(dimensions)(nullptr, point.data());
}

rebalance::Box range_of(const Points& points, std::size_t dimensions) {
  rebalance::Box range{};
  for (std::size_t d = 0; d < dimensions; ++d) {
    range.low[d] = range.high[d] = points[0][d];
    for (const auto& point : points) {
      range.low[d] = std::min(range.low[d], point[d]);
      range.high[d] = std::max(range.high[d], point[d]);
    }
  }
  return range;
}

/// Anywhere, in a corner, on coarse places, in one place, or where cells meet when HSFC has scaled
/// the points.
Points random_points(std::mt19937_64& random, std::size_t dimensions) {
  const std::size_t kind = pick(random, 0, 4);
  Points points(pick(random, 2, 500));
  std::uniform_real_distribution<double> anywhere(-1, 3);
  for (auto& point : points)
    for (std::size_t d = 0; d < dimensions; ++d) {
      const auto sixteenths = static_cast<double>(pick(random, 0, 16)) / 16;
      point[d] = kind == 0   ? anywhere(random)
                 : kind == 1 ? anywhere(random) * anywhere(random) * 1e-3
                 : kind == 2 ? sixteenths
                 : kind == 3 ? 5
                             : sixteenths * (1 + 2 * 1.6e-7) - 1.6e-7;
    }
  if (kind != 4) return points;
  for (auto& point : points)
    for (double& x : point) x = std::clamp(x, 0.0, 1.0);
  points[0].fill(0);
  points[1].fill(1);
  return points;
}

TEST(LastOnCurve, IsTheLastOfAll) {
  if (zoltan::curve_in(3) == nullptr) GTEST_SKIP() << "Zoltan hides its curve here";
  for (int number = 0; number < 2000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    std::mt19937_64 random(seed() + static_cast<std::uint64_t>(number));
    const std::size_t dimensions = pick(random, 1, 3);
    const Points points = random_points(random, dimensions);
    const rebalance::Box range = range_of(points, dimensions);
    zoltan::LastOnCurve last(range, dimensions);
    EXPECT_LT(last.position(), 0);
    double expected = -1;
    for (const auto& point : points) {
      const double here = position(range, dimensions, point);
      ASSERT_EQ(last.is_last(point), here > expected);
      expected = std::max(expected, here);
      ASSERT_EQ(last.position(), expected);
    }
  }
}

}  // namespace
}  // namespace valet::test
