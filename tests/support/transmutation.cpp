// SPDX-License-Identifier: BSD-3-Clause
#include "transmutation.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

namespace valet::test {
namespace {

std::uint64_t point(std::int64_t image) { return static_cast<std::uint64_t>(image); }

std::vector<std::int64_t> inverse_of(std::span<const std::int64_t> images) {
  std::vector<std::int64_t> inverse(images.size(), Transmutation::undefined);
  for (std::size_t x = 0; x < images.size(); ++x)
    if (images[x] != Transmutation::undefined)
      inverse[point(images[x])] = static_cast<std::int64_t>(x);
  return inverse;
}

void require_equal_sizes(const Transmutation& a, const Transmutation& b) {
  if (a.size() != b.size())
    throw Error(ErrorCode::invalid_argument, "transmutations of " + std::to_string(a.size()) +
                                                 " and " + std::to_string(b.size()) +
                                                 " points cannot be combined");
}

}  // namespace

Transmutation::Transmutation(std::uint64_t size) : images_(size) {
  std::iota(images_.begin(), images_.end(), std::int64_t{0});
}

Transmutation::Transmutation(std::vector<std::int64_t> images) : images_(std::move(images)) {
  std::vector<std::int64_t> taken_by(images_.size(), undefined);
  for (std::size_t x = 0; x < images_.size(); ++x) {
    const std::int64_t image = images_[x];
    if (image == undefined) continue;
    if (image < 0 || point(image) >= images_.size())
      throw Error(ErrorCode::slot_out_of_range, "block " + std::to_string(x) + " is sent to slot " +
                                                    std::to_string(image) + ", but there are " +
                                                    std::to_string(images_.size()) + " slots");
    if (taken_by[point(image)] != undefined)
      throw Error(ErrorCode::slot_taken_twice,
                  "blocks " + std::to_string(taken_by[point(image)]) + " and " + std::to_string(x) +
                      " are both sent to slot " + std::to_string(image));
    taken_by[point(image)] = static_cast<std::int64_t>(x);
  }
}

Transmutation Transmutation::operator*(const Transmutation& first) const {
  require_equal_sizes(*this, first);
  Transmutation product(size());
  for (std::size_t x = 0; x < size(); ++x)
    product.images_[x] = first.defined(x) ? images_[point(first.images_[x])] : undefined;
  return product;
}

Transmutation Transmutation::pseudo_inverse() const {
  Transmutation result(0);
  result.images_ = inverse_of(images_);
  return result;
}

std::vector<std::uint64_t> Transmutation::support() const {
  std::vector<std::uint64_t> points;
  for (std::size_t x = 0; x < size(); ++x)
    if (!defined(x) || point(images_[x]) != x) points.push_back(x);
  return points;
}

bool Transmutation::disjoint(const Transmutation& other) const {
  require_equal_sizes(*this, other);
  for (std::size_t x = 0; x < size(); ++x) {
    const bool fixed_here = defined(x) && point(images_[x]) == x;
    const bool fixed_there = other.defined(x) && point(other.images_[x]) == x;
    if (!fixed_here && !fixed_there) return false;
  }
  return true;
}

std::vector<Transmutation::Factor> Transmutation::factors() const {
  const std::vector<std::int64_t> inverse = inverse_of(images_);
  std::vector<bool> seen(size(), false);
  std::vector<Factor> result;
  for (std::size_t x = 0; x < size(); ++x) {
    if (seen[x] || (defined(x) && point(images_[x]) == x)) continue;
    // Walk back to where the shift begins, or once around the cycle.
    std::int64_t first = static_cast<std::int64_t>(x);
    while (inverse[point(first)] != undefined &&
           inverse[point(first)] != static_cast<std::int64_t>(x))
      first = inverse[point(first)];
    Factor factor;
    const bool is_cycle = inverse[point(first)] != undefined;
    factor.kind = is_cycle ? Factor::Kind::cycle : Factor::Kind::shift;
    if (is_cycle) first = static_cast<std::int64_t>(x);
    for (std::int64_t y = first; y != undefined && !seen[point(y)]; y = images_[point(y)]) {
      seen[point(y)] = true;
      factor.points.push_back(point(y));
    }
    result.push_back(std::move(factor));
  }
  return result;
}

Transmutation Transmutation::of_factor(const Factor& factor, std::uint64_t size) {
  Transmutation result(size);
  for (std::size_t k = 0; k < factor.points.size(); ++k) {
    const bool last = k + 1 == factor.points.size();
    const std::uint64_t next = factor.points[last ? 0 : k + 1];
    result.images_[factor.points[k]] =
        last && factor.kind == Factor::Kind::shift ? undefined : static_cast<std::int64_t>(next);
  }
  return result;
}

std::uint64_t Transmutation::minimal_copies() const {
  std::uint64_t copies = 0;
  for (const Factor& factor : factors())
    copies +=
        factor.kind == Factor::Kind::shift ? factor.points.size() - 1 : factor.points.size() + 1;
  return copies;
}

}  // namespace valet::test
