// SPDX-License-Identifier: BSD-3-Clause
#include "mesh.hpp"

#include <algorithm>
#include <stdexcept>

namespace amr {

LeafIndex Mesh::at(const Leaf& place) const {
  // Level 31 sorts behind every leaf that starts at this corner.
  const LeafKey last = key_of({place.corner, 31});
  const auto behind = std::upper_bound(keys.begin(), keys.end(), last);
  return static_cast<LeafIndex>(behind - keys.begin() - 1);
}

LeafIndex Mesh::find(LeafKey key) const {
  const auto place = std::lower_bound(keys.begin(), keys.end(), key);
  if (place == keys.end() || *place != key) throw std::logic_error("a leaf is not in the mesh");
  return static_cast<LeafIndex>(place - keys.begin());
}

FaceNeighbours face_neighbours(const Mesh& mesh, LeafIndex leaf, int axis, int direction) {
  const Leaf self = leaf_of(mesh.keys[leaf]);
  const Leaf behind = self.neighbour(axis, direction);
  FaceNeighbours result;
  const LeafIndex found = mesh.at(behind);
  if (leaf_of(mesh.keys[found]).level <= self.level) {
    result.count = 1;
    result.leaf[0] = found;
    return result;
  }
  result.count = 4;
  const int near_half = direction > 0 ? 0 : 1;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const int child =
        near_half << axis | (quarter & 1) << first_other(axis) | quarter >> 1 << second_other(axis);
    result.leaf[quarter] = mesh.at(behind.child(child));
  }
  return result;
}

}  // namespace amr
