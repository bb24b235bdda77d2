// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One dimension of a block-cyclic layout, and a value for each dimension of an array.

#include <valet/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>

namespace valet::layout {

/// One dimension of a block-cyclic layout: `extent` indices in blocks of `block_size`, cyclic to
/// the coordinates 0 to ranks-1 in turn, starting with coordinate `first_rank`. The last block may
/// be ragged. All functions are local and O(1).
///
///     extent 10, block_size 2, ranks 3, first_rank 1
///     global index   0 1 | 2 3 | 4 5 | 6 7 | 8 9
///     coordinate      1     2     0     1     2
///     local index    0 1   0 1   0 1   2 3   2 3
class VALET_EXPORT Dimension {
 public:
  /// No indices, on one rank.
  Dimension() = default;
  /// @param extent      Indices.
  /// @param block_size  Indices of a block.
  /// @param ranks       Coordinates to distribute over.
  /// @param first_rank  Coordinate that owns index 0.
  /// @param number      Which dimension of the array this is, for error texts.
  /// @throws Error invalid_argument: negative extent; block size or ranks not positive; first_rank
  ///         not in 0 to ranks-1; min(block_size, extent) * ranks over BlockCyclic::most_elements.
  Dimension(std::int64_t extent, std::int64_t block_size, int ranks, int first_rank = 0,
            int number = 0);

  /// Indices.
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
  /// Indices of a block.
  [[nodiscard]] std::int64_t block_size() const noexcept { return block_size_; }
  /// Coordinates that blocks are distributed over.
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  /// Coordinate that owns index 0.
  [[nodiscard]] int first_rank() const noexcept { return first_rank_; }

  /// How many turns after first_rank a coordinate gets its first block.
  [[nodiscard]] std::int64_t turn(int coordinate) const noexcept {
    return coordinate >= first_rank_ ? coordinate - first_rank_ : coordinate - first_rank_ + ranks_;
  }

  /// Coordinate that owns a global index in 0 to extent-1.
  [[nodiscard]] int owner(std::int64_t global) const noexcept {
    return static_cast<int>((global / block_size_ + first_rank_) % ranks_);
  }
  /// Where a global index stands on its owner.
  [[nodiscard]] std::int64_t local_index(std::int64_t global) const noexcept {
    return global / block_size_ / ranks_ * block_size_ + global % block_size_;
  }
  /// The inverse: `local` in 0 to local_extent(coordinate)-1.
  [[nodiscard]] std::int64_t global_index(int coordinate, std::int64_t local) const noexcept {
    return (local / block_size_ * ranks_ + turn(coordinate)) * block_size_ + local % block_size_;
  }
  /// Indices that a coordinate owns (ScaLAPACK's NUMROC).
  [[nodiscard]] std::int64_t local_extent(int coordinate) const noexcept;

  /// The same numbers.
  [[nodiscard]] bool operator==(const Dimension&) const = default;

 private:
  std::int64_t extent_ = 0;
  std::int64_t block_size_ = 1;
  int ranks_ = 1;
  int first_rank_ = 0;
};

/// Dimensions that an array may have.
constexpr std::size_t most_dimensions = 6;

/// @throws Error invalid_argument: `given` values for one array are too many.
[[noreturn]] VALET_EXPORT void throw_too_many_dimensions(std::size_t given);

/// One value per dimension of an array, first dimension first; no heap.
template <class T>
class PerDimension {
 public:
  /// No dimensions.
  PerDimension() = default;
  /// @throws Error invalid_argument: more than most_dimensions values.
  PerDimension(std::initializer_list<T> values) : PerDimension(std::span(values)) {}
  /// @throws Error invalid_argument: more than most_dimensions values.
  explicit PerDimension(std::span<const T> values) : size_(values.size()) {
    if (size_ > most_dimensions) throw_too_many_dimensions(size_);
    for (std::size_t d = 0; d < size_; ++d) values_[d] = values[d];
  }
  /// `value` in each of `size` dimensions. A name, because {2, 1} is a list of two values.
  /// @throws Error invalid_argument: more than most_dimensions.
  [[nodiscard]] static PerDimension filled(std::size_t size, const T& value) {
    if (size > most_dimensions) throw_too_many_dimensions(size);
    PerDimension filled;
    filled.size_ = size;
    for (std::size_t d = 0; d < size; ++d) filled.values_[d] = value;
    return filled;
  }

  /// @name Like a container of the standard library
  /// @{

  /// As of std::array.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t d) noexcept { return values_[d]; }
  [[nodiscard]] const T& operator[](std::size_t d) const noexcept { return values_[d]; }
  [[nodiscard]] const T* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const T* end() const noexcept { return values_.data() + size_; }
  /// @}
  /// As many dimensions with the same values.
  [[nodiscard]] bool operator==(const PerDimension&) const = default;

 private:
  std::array<T, most_dimensions> values_{};
  std::size_t size_ = 0;
};

}  // namespace valet::layout
