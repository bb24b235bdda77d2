// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace valet {

/// An injective function that need not be defined everywhere, on the set {0, 1, ..., size-1}:
/// where each block goes, free slots being the points where it is undefined.
///
/// Source: S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution Engine",
/// section 2.1 and its appendix A. Local and without MPI; memory 8 bytes a point. This is the class
/// to reason and test with; plans keep the same knowledge in fewer bytes.
class VALET_EXPORT Transmutation {
 public:
  /// The image of a point on which the function is undefined.
  static constexpr std::int64_t undefined = -1;

  /// A factor of a transmutation (definitions 2.2 and 2.3): x_1 -> x_2 -> ... -> x_n, and for a
  /// cycle back to x_1, while a shift is undefined at x_n.
  struct Factor {
    enum class Kind { cycle, shift };
    Kind kind = Kind::cycle;
    std::vector<std::uint64_t> points;
    [[nodiscard]] bool operator==(const Factor&) const = default;
  };

  /// The identity on `size` points.
  explicit Transmutation(std::uint64_t size);
  /// images[x] is where x goes, or undefined.
  /// @throws Error slot_out_of_range or slot_taken_twice, naming the points.
  explicit Transmutation(std::vector<std::int64_t> images);

  [[nodiscard]] std::uint64_t size() const { return images_.size(); }
  [[nodiscard]] bool defined(std::uint64_t x) const { return images_[x] != undefined; }
  [[nodiscard]] std::int64_t operator()(std::uint64_t x) const { return images_[x]; }
  [[nodiscard]] std::span<const std::int64_t> images() const { return images_; }
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

}  // namespace valet
