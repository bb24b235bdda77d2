// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// One dimension of a block-cyclic layout.

#include <valet/export.hpp>

#include <cstdint>

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
  /// @param ranks       Coordinates to deal to.
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

}  // namespace valet::layout
