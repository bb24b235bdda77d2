// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The table of all leaves and the ranks that hold their patches.
///
/// Every rank has the whole table, as AMReX and Chombo do for their boxes: 16 bytes a leaf beside a
/// patch of 28 KiB. It is what lets a patch be anywhere: p4est keeps its leaves in contiguous
/// pieces of its curve, but a geometric or graph partitioner does not. So p4est owns the *mesh* (it
/// refines, coarsens, balances and cuts the curve), this table says who owns the *data*, and for
/// the partitioner `curve` the two agree whenever the mesh was cut by work.

#include "leaf.hpp"

#include <cstdint>
#include <vector>

namespace amr {

using LeafIndex = std::uint32_t;

/// The leaves in the order of the curve; a leaf's index is its place in that order.
struct Mesh {
  std::vector<LeafKey> keys;  ///< ascending; covers the cube
  std::vector<int> home;      ///< rank that holds the patch
  std::vector<float> work;    ///< cost of a step, as last measured

  [[nodiscard]] LeafIndex size() const { return static_cast<LeafIndex>(keys.size()); }
  /// The leaf that contains the corner of `place`.
  [[nodiscard]] LeafIndex at(const Leaf& place) const;
  /// The index of a leaf that exists. @throws std::logic_error otherwise.
  [[nodiscard]] LeafIndex find(LeafKey key) const;
};

/// The leaves behind one face: one of the same size, one twice as large or four of half the size.
struct FaceNeighbours {
  int count = 0;
  LeafIndex leaf[4] = {};  ///< with four: bits of the number are the halves along the other axes
};

/// @param direction  Below 0 for the face with the least coordinate, above 0 for the other.
/// Leaves behind a face differ by one level at most: the mesh is 2:1 balanced.
[[nodiscard]] FaceNeighbours face_neighbours(const Mesh& mesh, LeafIndex leaf, int axis,
                                             int direction);

/// The two axes other than `axis`, ascending.
[[nodiscard]] constexpr int first_other(int axis) { return axis == 0 ? 1 : 0; }
[[nodiscard]] constexpr int second_other(int axis) { return axis == 2 ? 1 : 2; }

}  // namespace amr
