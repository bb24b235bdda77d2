// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Maps as mathematics: injective partial functions, their factors and their inverses.

#include <cstdint>
#include <span>
#include <vector>

namespace valet::test {

/// An injective function that need not be defined everywhere, on the set {0, 1, ..., size-1}:
/// where each block goes, free slots being the points where it is undefined.
///
/// Source: S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 2.1 and its appendix A. The oracle of local redistribution: plans keep the same
/// knowledge in fewer bytes.
class Transmutation {
 public:
  /// The image of a point on which the function is undefined.
  static constexpr std::int64_t undefined = -1;

  /// A factor of a transmutation (definitions 2.2 and 2.3): x_1 -> x_2 -> ... -> x_n, and for a
  /// cycle back to x_1, while a shift is undefined at x_n.
  struct Factor {
    /// Whether the last point goes back to the first one.
    enum class Kind {
      cycle,  ///< it does
      shift,  ///< the function is undefined there
    };
    Kind kind = Kind::cycle;            ///< cycle or shift
    std::vector<std::uint64_t> points;  ///< x_1 to x_n
    /// The same points in the same order.
    [[nodiscard]] bool operator==(const Factor&) const = default;
  };

  /// The identity on `size` points.
  explicit Transmutation(std::uint64_t size);
  /// images[x] is where x goes, or undefined.
  /// @throws Error slot_out_of_range or slot_taken_twice, naming the points.
  explicit Transmutation(std::vector<std::int64_t> images);

  /// Points of the set.
  [[nodiscard]] std::uint64_t size() const { return images_.size(); }
  /// Whether point x, below size(), goes anywhere.
  [[nodiscard]] bool defined(std::uint64_t x) const { return images_[x] != undefined; }
  /// Where point x, below size(), goes, or undefined.
  [[nodiscard]] std::int64_t operator()(std::uint64_t x) const { return images_[x]; }
  /// The images of all points.
  [[nodiscard]] std::span<const std::int64_t> images() const { return images_; }
  /// The same function.
  [[nodiscard]] bool operator==(const Transmutation&) const = default;

  /// this after `first`, defined where the composition makes sense. Sizes must be equal.
  /// @throws Error invalid_argument.
  [[nodiscard]] Transmutation operator*(const Transmutation& first) const;
  /// Goes back from every image; undefined elsewhere.
  [[nodiscard]] Transmutation pseudo_inverse() const;
  /// The points that are moved or where the function is undefined, ascending (definition 2.4).
  [[nodiscard]] std::vector<std::uint64_t> support() const;
  /// Whether the supports do not intersect (definition 2.5). Sizes must be equal.
  [[nodiscard]] bool disjoint(const Transmutation& other) const;

  /// The unique factors into disjoint shifts and non-trivial cycles (theorem 2.7). Ordered by their
  /// smallest point; a cycle starts with its smallest point. A free point that nothing moves to is
  /// a shift of length one.
  [[nodiscard]] std::vector<Factor> factors() const;
  /// The transmutation that is one factor on `size` points.
  [[nodiscard]] static Transmutation of_factor(const Factor& factor, std::uint64_t size);
  /// The least number of block copies that carry this out in place (theorem 2.9): a shift of
  /// length n takes n-1, a cycle n+1.
  [[nodiscard]] std::uint64_t minimal_copies() const;

 private:
  std::vector<std::int64_t> images_;
};

}  // namespace valet::test
