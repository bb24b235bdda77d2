// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Block-cyclic layouts and general grids of arrays of 1 to 6 dimensions: the owner of each element
/// and its local indices.

#include <valet/dimension.hpp>
#include <valet/export.hpp>

#include <cstdint>
#include <vector>

namespace valet {

/// Which of several indices varies fastest.
enum class IndexOrder {
  row_major,     ///< the last one
  column_major,  ///< the first one
};

/// The block-cyclic distribution of an array of 1 to 6 dimensions over a grid of ranks. It is a
/// pure description without data or communicator: any process can query any rank of any grid. BLOCK
/// (one block per rank) and CYCLIC (blocks of 1) are special cases.
///
/// A rank here is its number in the grid, 0 to ranks()-1. The code that moves data maps these
/// numbers to the ranks of a communicator.
///
/// cut_at() makes a general grid: every dimension is cut anywhere, and a cell takes the place of a
/// rank in all that follows. To which rank of a communicator each cell belongs says GridLayout.
class VALET_EXPORT BlockCyclic {
 public:
  /// Numbers of elements, or the indices of an element, per dimension.
  using Extents = layout::PerDimension<std::int64_t>;
  /// Numbers of ranks, or the grid coordinates of a rank, per dimension.
  using Coordinates = layout::PerDimension<int>;

  /// Most elements in an array, and most indices in one round over the grid.
  static constexpr std::int64_t most_elements = std::int64_t{1} << 60;

  /// Describes a distribution. Local.
  /// @param extents      Elements of the global array per dimension; 0 makes the array empty.
  /// @param block_sizes  Elements of a block per dimension; may exceed the extent.
  /// @param grid         Ranks per dimension.
  /// @param rank_order   How coordinates number the ranks: in row-major order the last one varies
  ///                     fastest.
  /// @param first_ranks  Coordinate that owns global index 0, per dimension (ScaLAPACK's RSRC and
  ///                     CSRC); empty means all 0.
  /// @throws Error invalid_argument naming the dimension and the number: not 1 to 6 dimensions,
  ///         arguments of different lengths, a negative extent, a block size or grid size that is
  ///         not positive, a first rank outside the grid, more than most_elements elements, more
  ///         than 2^31-1 ranks.
  BlockCyclic(const Extents& extents, const Extents& block_sizes, const Coordinates& grid,
              IndexOrder rank_order = IndexOrder::row_major, const Coordinates& first_ranks = {});

  /// One block per rank and dimension, of length ceil(extent / ranks). Errors as the constructor.
  [[nodiscard]] static BlockCyclic block(const Extents& extents, const Coordinates& grid,
                                         IndexOrder rank_order = IndexOrder::row_major);
  /// Blocks of one element. Errors as the constructor.
  [[nodiscard]] static BlockCyclic cyclic(const Extents& extents, const Coordinates& grid,
                                          IndexOrder rank_order = IndexOrder::row_major);
  /// A general grid, for valet::redistribute() and valet::intersect(). Local.
  /// @param cuts        Per dimension, ascending from 0 to the extent: coordinate c of the cells
  ///                    has the indices cuts[c] to cuts[c+1]-1. Equal cuts make empty cells.
  /// @param rank_order  How coordinates number the cells.
  /// @throws Error invalid_argument naming the dimension and the number: not 1 to 6 dimensions,
  ///         less than two cuts, cuts that descend or do not begin with 0, more than most_elements
  ///         elements, more than 2^31-1 cells.
  [[nodiscard]] static BlockCyclic cut_at(
      const layout::PerDimension<std::vector<std::int64_t>>& cuts,
      IndexOrder rank_order = IndexOrder::row_major);

  /// Whether it is a general grid.
  [[nodiscard]] bool is_cut() const noexcept { return dimensions_[0].cuts() != nullptr; }
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

  /// Grid coordinates of a rank, 0 to ranks()-1. O(dimensions), as are the functions below; times
  /// O(log cells) to find the cell of a general grid.
  [[nodiscard]] Coordinates coordinates(int rank) const;
  /// The inverse: the rank at these coordinates, each 0 to its grid size - 1.
  [[nodiscard]] int rank(const Coordinates& coordinates) const noexcept;

  /// Rank that owns the element with these global indices.
  [[nodiscard]] int owner(const Extents& global) const;
  /// Local indices of an element on its owner.
  [[nodiscard]] Extents local_indices(const Extents& global) const;
  /// The inverse: global indices, given local indices below local_extents(rank).
  [[nodiscard]] Extents global_indices(int rank, const Extents& local) const;
  /// Shape of a rank's part.
  [[nodiscard]] Extents local_extents(int rank) const;
  /// Elements of a rank's part.
  [[nodiscard]] std::int64_t local_elements(int rank) const;

  /// Compares descriptions: different descriptions of the same distribution compare unequal.
  [[nodiscard]] bool operator==(const BlockCyclic&) const = default;

 private:
  BlockCyclic(std::size_t dimensions, IndexOrder rank_order);
  void set(std::size_t d, layout::Dimension dimension);
  void count_elements();

  layout::PerDimension<layout::Dimension> dimensions_;
  IndexOrder rank_order_ = IndexOrder::row_major;
  int ranks_ = 1;
  std::int64_t elements_ = 0;
};

}  // namespace valet
