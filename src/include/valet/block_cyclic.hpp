// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Block-cyclic layouts of arrays of 1 to 6 dimensions: which rank owns which element, and where.

#include <valet/dimension.hpp>
#include <valet/export.hpp>

#include <cstdint>

namespace valet {

/// Which of several indices varies fastest.
enum class IndexOrder {
  row_major,     ///< the last one
  column_major,  ///< the first one
};

/// How an array of 1 to 6 dimensions is distributed over a grid of ranks, block-cyclically in each
/// dimension. Pure description: no data, no communicator; any rank of any grid can be asked on any
/// process. BLOCK and CYCLIC are the cases with one block per rank and with blocks of 1.
///
/// A rank here is a number in the grid, 0 to ranks()-1; which rank of a communicator that is, is
/// the business of whoever moves data.
class VALET_EXPORT BlockCyclic {
 public:
  /// Numbers of elements, or indices of one, per dimension.
  using Extents = layout::PerDimension<std::int64_t>;
  /// Ranks, or the place of one in the grid, per dimension.
  using Coordinates = layout::PerDimension<int>;

  /// Elements that an array may have, and indices that one turn through the grid may span.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 60;

  /// @param extents      Elements of the global array per dimension; 0 is an empty array.
  /// @param block_sizes  Elements of a block per dimension; may exceed the extent.
  /// @param grid         Ranks per dimension.
  /// @param rank_order   How coordinates number the ranks: row-major has the last one vary fastest.
  /// @param first_ranks  Coordinate that owns global index 0 per dimension (ScaLAPACK's RSRC and
  ///                     CSRC); all 0 when empty.
  /// @throws Error invalid_argument that names the dimension and the number: not 1 to 6 dimensions,
  ///         arguments of different lengths, a negative extent, a block size or grid size that is
  ///         not positive, a first rank outside the grid, more than most_elements elements, more
  ///         than 2^31-1 ranks. Local.
  BlockCyclic(const Extents& extents, const Extents& block_sizes, const Coordinates& grid,
              IndexOrder rank_order = IndexOrder::row_major, const Coordinates& first_ranks = {});

  /// One block per rank and dimension, ceil(extent / ranks) long. Errors as the constructor.
  [[nodiscard]] static BlockCyclic block(const Extents& extents, const Coordinates& grid,
                                         IndexOrder rank_order = IndexOrder::row_major);
  /// Blocks of one element. Errors as the constructor.
  [[nodiscard]] static BlockCyclic cyclic(const Extents& extents, const Coordinates& grid,
                                          IndexOrder rank_order = IndexOrder::row_major);

  /// Dimensions of the array, 1 to 6.
  [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_.size(); }
  /// The layout along dimension d, below dimensions().
  [[nodiscard]] const layout::Dimension& dimension(std::size_t d) const noexcept {
    return dimensions_[d];
  }
  /// How coordinates number the ranks.
  [[nodiscard]] IndexOrder rank_order() const noexcept { return rank_order_; }
  /// Ranks of the grid.
  [[nodiscard]] int ranks() const noexcept { return ranks_; }
  /// Shape of the global array.
  [[nodiscard]] Extents extents() const;
  /// Elements of the global array.
  [[nodiscard]] std::int64_t elements() const noexcept { return elements_; }

  /// Place of a rank, 0 to ranks()-1, in the grid. O(dimensions), as are the functions below.
  [[nodiscard]] Coordinates coordinates(int rank) const;
  /// The inverse: each coordinate is in 0 to its grid size - 1.
  [[nodiscard]] int rank(const Coordinates& coordinates) const noexcept;

  /// Rank that owns an element, given its global indices in the array.
  [[nodiscard]] int owner(const Extents& global) const;
  /// Where an element stands on its owner.
  [[nodiscard]] Extents local_indices(const Extents& global) const;
  /// The inverse: indices below local_extents(rank).
  [[nodiscard]] Extents global_indices(int rank, const Extents& local) const;
  /// Shape of the part of a rank.
  [[nodiscard]] Extents local_extents(int rank) const;
  /// Elements of the part of a rank.
  [[nodiscard]] std::int64_t local_elements(int rank) const;

  /// The same description; layouts that distribute alike by other numbers compare unequal.
  [[nodiscard]] bool operator==(const BlockCyclic&) const = default;

 private:
  layout::PerDimension<layout::Dimension> dimensions_;
  IndexOrder rank_order_ = IndexOrder::row_major;
  int ranks_ = 1;
  std::int64_t elements_ = 0;
};

}  // namespace valet
