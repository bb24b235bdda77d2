// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace valet::bench {

using Point = std::array<double, 3>;
using NeighbourPair = std::pair<std::uint32_t, std::uint32_t>;

/// A k-d tree without nodes: of a range of points the middle one splits the others, by the
/// dimensions in turn.
class PointTree {
 public:
  explicit PointTree(std::span<const Point> points) : points_(points), order_(points.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    build(0, order_.size(), 0);
  }

  /// The `each` points that are nearest to a point, without itself.
  const std::vector<std::pair<double, std::uint32_t>>& nearest(std::uint32_t point,
                                                               std::size_t each) {
    point_ = point;
    each_ = each;
    best_.clear();
    search(0, order_.size(), 0);
    return best_;
  }

 private:
  void build(std::size_t first, std::size_t last, std::size_t d) {
    if (last - first < 2) return;
    const std::size_t middle = first + (last - first) / 2;
    const auto at = [&](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
    std::nth_element(at(first), at(middle), at(last), [&](std::uint32_t a, std::uint32_t b) {
      return points_[a][d] < points_[b][d];
    });
    const std::size_t below = (d + 1) % Point().size();
    build(first, middle, below);
    build(middle + 1, last, below);
  }

  void search(std::size_t first, std::size_t last, std::size_t d) {
    if (first == last) return;
    const std::size_t middle = first + (last - first) / 2;
    consider(order_[middle]);
    const double beyond = points_[point_][d] - points_[order_[middle]][d];
    const std::size_t below = (d + 1) % Point().size();
    const bool is_below = beyond < 0;
    search(is_below ? first : middle + 1, is_below ? middle : last, below);
    if (best_.size() < each_ || beyond * beyond <= best_.back().first)
      search(is_below ? middle + 1 : first, is_below ? last : middle, below);
  }

  void consider(std::uint32_t other) {
    if (other == point_) return;
    double distance = 0;
    for (std::size_t d = 0; d < Point().size(); ++d) {
      const double along = points_[point_][d] - points_[other][d];
      distance += along * along;
    }
    if (best_.size() == each_ && distance >= best_.back().first) return;
    if (best_.size() == each_) best_.pop_back();
    const std::pair found(distance, other);
    best_.insert(std::ranges::upper_bound(best_, found), found);
  }

  std::span<const Point> points_;
  std::vector<std::uint32_t> order_;
  std::uint32_t point_ = 0;
  std::size_t each_ = 0;
  std::vector<std::pair<double, std::uint32_t>> best_;
};

/// Every point with the `each` points that are nearest to it, ties in any order: what a partition
/// should not cut. By a k-d tree; pure.
[[nodiscard]] inline std::vector<NeighbourPair> neighbour_pairs(std::span<const Point> points,
                                                                std::size_t each) {
  std::vector<NeighbourPair> pairs;
  if (each == 0) return pairs;
  PointTree tree(points);
  pairs.reserve(points.size() * each);
  for (std::uint32_t point = 0; point < points.size(); ++point)
    for (const auto& [distance, other] : tree.nearest(point, each))
      pairs.emplace_back(point, other);
  return pairs;
}

}  // namespace valet::bench
