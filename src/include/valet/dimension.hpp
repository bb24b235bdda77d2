// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One dimension of a layout, and a container with one value per dimension.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <vector>

namespace valet::layout {

/// One dimension of a block-cyclic layout: `extent` indices in blocks of `block_size`, assigned to
/// the coordinates 0 to ranks-1 in turn, starting with coordinate `first_rank`. The last block may
/// be shorter. All functions are local and O(1).
///
/// Or a dimension that is cut anywhere: coordinate c has the indices from one cut to the next. It
/// counts as one block, on as many ranks as there are intervals; owner() and local_index() are
/// O(log ranks).
///
///     extent 10, block_size 2, ranks 3, first_rank 1
///     global index   0 1 | 2 3 | 4 5 | 6 7 | 8 9
///     coordinate      1     2     0     1     2
///     local index    0 1   0 1   0 1   2 3   2 3
class VALET_EXPORT Dimension {
 public:
  /// An empty dimension on one rank.
  Dimension() = default;
  /// Makes a dimension. Local.
  /// @param extent      Number of indices.
  /// @param block_size  Indices per block.
  /// @param ranks       Number of coordinates.
  /// @param first_rank  Coordinate that owns index 0.
  /// @param number      The number of this dimension in the array, for error texts.
  /// @throws Error invalid_argument: negative extent; block size or ranks not positive; first_rank
  ///         not in 0 to ranks-1; min(block_size, extent) * ranks over BlockCyclic::most_elements.
  Dimension(std::int64_t extent, std::int64_t block_size, int ranks, int first_rank = 0,
            int number = 0);
  /// Cuts a dimension. Local.
  /// @param cuts    Coordinate c has the indices cuts[c] to cuts[c+1]-1: none where both are equal.
  ///                The first cut is 0, the last one the extent.
  /// @param number  As above.
  /// @throws Error invalid_argument: less than two cuts, cuts that descend or do not begin with 0.
  explicit Dimension(std::vector<std::int64_t> cuts, int number = 0);

  /// Number of indices.
  [[nodiscard]] std::int64_t extent() const noexcept { return extent_; }
  /// Indices per block.
  [[nodiscard]] std::int64_t block_size() const noexcept { return block_size_; }
  /// Number of coordinates.
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  /// Coordinate that owns index 0.
  [[nodiscard]] int first_rank() const noexcept { return first_rank_; }
  /// The cuts, shared by all copies; null where blocks are assigned in turn.
  [[nodiscard]] const std::shared_ptr<const std::vector<std::int64_t>>& cuts() const noexcept {
    return cuts_;
  }

  /// Distance of a coordinate from first_rank in the order in which blocks are assigned.
  [[nodiscard]] std::int64_t turn(int coordinate) const noexcept {
    return coordinate >= first_rank_ ? coordinate - first_rank_ : coordinate - first_rank_ + ranks_;
  }

  /// Coordinate that owns a global index in 0 to extent-1.
  [[nodiscard]] int owner(std::int64_t global) const noexcept {
    if (cuts_) return interval_of(global);
    return static_cast<int>((global / block_size_ + first_rank_) % ranks_);
  }
  /// Local index of a global index on its owner.
  [[nodiscard]] std::int64_t local_index(std::int64_t global) const noexcept {
    if (cuts_) return global - begin_of(interval_of(global));
    return global / block_size_ / ranks_ * block_size_ + global % block_size_;
  }
  /// The inverse: the global index of `local`, 0 to local_extent(coordinate)-1.
  [[nodiscard]] std::int64_t global_index(int coordinate, std::int64_t local) const noexcept {
    if (cuts_) return begin_of(coordinate) + local;
    return (local / block_size_ * ranks_ + turn(coordinate)) * block_size_ + local % block_size_;
  }
  /// Number of indices that a coordinate owns (ScaLAPACK's NUMROC).
  [[nodiscard]] std::int64_t local_extent(int coordinate) const noexcept;

  /// Compares the parameters.
  [[nodiscard]] bool operator==(const Dimension& other) const noexcept;

 private:
  [[nodiscard]] int interval_of(std::int64_t global) const noexcept;
  [[nodiscard]] std::int64_t begin_of(int coordinate) const noexcept {
    return (*cuts_)[static_cast<std::size_t>(coordinate)];
  }

  std::int64_t extent_ = 0;
  std::int64_t block_size_ = 1;
  int ranks_ = 1;
  int first_rank_ = 0;
  std::shared_ptr<const std::vector<std::int64_t>> cuts_;
};

/// Most dimensions of an array.
constexpr std::size_t most_dimensions = 6;

/// @throws Error invalid_argument: `given` is more than most_dimensions.
[[noreturn]] VALET_EXPORT void throw_too_many_dimensions(std::size_t given);

/// One value per dimension of an array, first dimension first; allocates no memory.
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
  /// `value` in each of `size` dimensions; a named function, because {2, 1} is a list of two
  /// values.
  /// @throws Error invalid_argument: more than most_dimensions.
  [[nodiscard]] static PerDimension filled(std::size_t size, const T& value) {
    if (size > most_dimensions) throw_too_many_dimensions(size);
    PerDimension filled;
    filled.size_ = size;
    for (std::size_t d = 0; d < size; ++d) filled.values_[d] = value;
    return filled;
  }

  /// @name Container interface
  /// @{

  /// As in std::array.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] T& operator[](std::size_t d) noexcept { return values_[d]; }
  [[nodiscard]] const T& operator[](std::size_t d) const noexcept { return values_[d]; }
  [[nodiscard]] const T* begin() const noexcept { return values_.data(); }
  [[nodiscard]] const T* end() const noexcept { return values_.data() + size_; }
  /// @}
  /// Same size and values.
  [[nodiscard]] bool operator==(const PerDimension&) const = default;

 private:
  std::array<T, most_dimensions> values_{};
  std::size_t size_ = 0;
};

}  // namespace valet::layout
