// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Leaves of an octree over the periodic unit cube, named by one number each. Pure; knows neither
/// p4est nor MPI.

#include <array>
#include <cstdint>

namespace amr {

/// Patches have this many cells along an edge.
constexpr int edge_cells = 8;
constexpr int patch_cells = edge_cells * edge_cells * edge_cells;
/// Cells of one layer of a patch.
constexpr int layer_cells = edge_cells * edge_cells;

/// Coordinates count in units of 2^-root_level of the cube's edge: as p4est 2.2 does, whose three
/// coordinates fit a LeafKey.
constexpr int root_level = 19;
constexpr std::uint32_t root_length = std::uint32_t{1} << root_level;

/// Place in the cube of the corner of a leaf with the least coordinates, and its level.
struct Leaf {
  std::array<std::uint32_t, 3> corner{};
  int level = 0;

  [[nodiscard]] bool operator==(const Leaf&) const = default;
  [[nodiscard]] std::uint32_t length() const { return root_length >> level; }
  /// Edge of a cell, in edges of the cube.
  [[nodiscard]] double cell_length() const {
    return 1.0 / static_cast<double>(std::uint64_t{edge_cells} << level);
  }
  /// Edges of the cube.
  [[nodiscard]] double centre(int axis) const {
    return (corner[static_cast<std::size_t>(axis)] + 0.5 * length()) / root_length;
  }
  /// Child 0 to 7; bit d of the number is the half along axis d.
  [[nodiscard]] Leaf child(int number) const;
  [[nodiscard]] Leaf parent() const;
  /// Which child of its parent this leaf is.
  [[nodiscard]] int child_number() const;
  /// The equally large leaf behind a face; the cube is periodic.
  [[nodiscard]] Leaf neighbour(int axis, int direction) const;
};

/// Bits of the coordinates interleaved (Morton order, the order of p4est's leaves), then the level.
/// Ascending keys are ascending along the space-filling curve.
using LeafKey = std::uint64_t;

[[nodiscard]] LeafKey key_of(const Leaf& leaf);
[[nodiscard]] Leaf leaf_of(LeafKey key);

}  // namespace amr
