// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Objects of one rank, binned into cells: what a partitioner is given in place of every object.
///
/// A cell is what this rank has in a box of one octree that all ranks share (or, where objects
/// share a place, a piece of it): so of two cells, on any ranks, either the boxes are disjoint or
/// one is inside the other. Heavy cells are split into a grid of smaller ones until none is above
/// the limits, the heaviest first, for as long as there is memory for cells. While this goes on the
/// map of the objects to ranks holds the cell of each object: there is no other memory per object.
///
/// A cell is where one of its objects is, drawn by lot. Then a plane has the same share of the
/// cells that it cuts on either side as of their objects: a cut between cells may be made between
/// objects.

#include <valet/columns.hpp>
#include <valet/ledger.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace valet::rebalance {

using Point = std::array<double, Columns::most>;

/// A range of coordinates.
struct Box {
  Point low{};
  Point high{};
};

/// How the octree lies around the range of all objects.
enum class OctreeShape {
  cubes,    ///< in a cube, with margins that are no simple fractions
  hilbert,  ///< as HSFC has it, so that cells are intervals of Hilbert's curve
};

/// The place of the octree: the same on all ranks.
class Octree {
 public:
  /// Positions of one dimension have so many bits before the point, their key: what the mantissa
  /// of a double has.
  static constexpr int bits = 52;

  /// @param range  The range of all coordinates of all ranks; finite.
  Octree(const Box& range, std::size_t dimensions, OctreeShape shape);

  /// Coordinates of dimension d become positions, at least 0 and below 2^bits.
  void to_positions(std::size_t d, std::span<double> coordinates) const;
  [[nodiscard]] std::int64_t key(std::size_t d, double coordinate) const;
  [[nodiscard]] double coordinate(std::size_t d, std::int64_t key) const;
  [[nodiscard]] std::size_t dimensions() const { return dimensions_; }

 private:
  std::size_t dimensions_;
  Point low_{};  // shrunk
  Point scale_{};
};

/// Above these a cell is split, where it can be.
struct CellLimits {
  static constexpr double none = std::numeric_limits<double>::infinity();

  double weight = none;                                          ///< above 0
  double count = none;                                           ///< at least 1
  std::size_t cells = std::numeric_limits<std::int32_t>::max();  ///< most cells, empty ones too
  double parts = 2;  ///< a cell n times above its limits is split into about parts * n
  /// What is still above the limits after two rounds, but not so many times, stays: another round
  /// is a pass over all objects.
  double tolerated = 1;
};

/// What this rank has in a box of the octree; nothing, where a grid was not filled.
struct Cell {
  double weight = 0;
  std::uint32_t count = 0;
  std::uint32_t object = 0;                                       ///< one of its objects
  std::uint32_t lot = std::numeric_limits<std::uint32_t>::max();  ///< that it drew
  std::int32_t shift = 0;  ///< the box has the keys that are the same without so many bits
};

/// The cells of one rank. Local.
class Cells {
 public:
  /// @param ledger       Counts the memory; must outlive this.
  /// @param coordinates  Columns of numbers in the octree, in its dimensions.
  /// @param range        The range of the coordinates of this rank's objects.
  /// @param weights      One column of numbers of at least 0, or none: all objects weigh 1.
  /// @param cell_of      Gets the cell of each object; there are below 2^31 of them.
  /// @throws std::bad_alloc, and what reading staged columns throws.
  Cells(Ledger& ledger, const Octree& octree, const Columns& coordinates, const Box& range,
        const Columns& weights, const CellLimits& limits, std::span<int> cell_of);

  [[nodiscard]] std::span<const Cell> all() const { return cells_; }
  /// The numbers of the cells that hold something, ascending.
  [[nodiscard]] std::span<const int> used() const { return used_; }
  [[nodiscard]] double heaviest() const;

 private:
  class Splitting;

  Vector<Cell> cells_;
  Vector<int> used_;
};

/// The box of a cell, whose objects are all inside.
/// @param point  Where one of them is.
[[nodiscard]] Box box_of(const Cell& cell, const Octree& octree, const Point& point);

}  // namespace valet::rebalance
