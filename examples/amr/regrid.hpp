// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// From one mesh to the next: which leaves come from which, and the patches that follow.

#include "forest.hpp"
#include "patches.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace amr {

/// Leaves of the old mesh that must be on one rank when the mesh changes there, and so are
/// partitioned as one: eight siblings that become one leaf, or a single leaf.
struct Unit {
  LeafIndex first = 0;         ///< first of the old leaves
  std::uint32_t members = 1;   ///< old leaves: 8 or 1
  std::uint32_t children = 1;  ///< new leaves: 1, or 8 where the leaf is refined
  double work = 1;             ///< that the new leaves will probably be

  /// Slots that the unit takes while the mesh changes.
  [[nodiscard]] std::uint32_t most_patches() const {
    return members > children ? members : children;
  }
};

/// How an old and a new mesh belong together.
struct Transition {
  std::vector<Unit> units;         ///< in the order of the curve
  std::vector<LeafIndex> old_of;   ///< per new leaf, (first) old leaf that it comes from
  std::vector<LeafIndex> unit_of;  ///< per old leaf
};

/// Local. @throws std::logic_error when a leaf changes by more than one level.
[[nodiscard]] Transition transition(const Mesh& old_mesh, std::span<const LeafKey> new_keys);

/// The mesh after the transition, when the patches are at `home` (per old leaf).
[[nodiscard]] Mesh mesh_after(const Mesh& old_mesh, const Transition& transition,
                              std::vector<LeafKey> new_keys, std::span<const int> home);

/// What the front asks of the mesh: refine where it is and one leaf around it, coarsen elsewhere.
/// @param has_front  Per leaf, not zero where the front goes through it. [global]
[[nodiscard]] std::vector<Wish> wishes(const Mesh& mesh, std::span<const std::uint8_t> has_front,
                                       int least_level, int most_level);

/// Cuts units in the order of the curve into pieces of nearly equal work that need at most
/// `slots_per_rank` slots each, wherever that is possible at all. Pure.
/// @return A rank per unit. Where it is not possible, the last rank gets too much.
[[nodiscard]] std::vector<int> cut_within_slots(const std::vector<Unit>& units, int ranks,
                                                std::uint64_t slots_per_rank);

/// Turns the patches of the old mesh into those of the new one, in place: siblings become their
/// means in the first one's slot, children take free slots, the rest stays where it is. Local; the
/// siblings must be here, and slots for all new patches.
/// @param slot_of  Slot of each old leaf that is here.
void change_patches(Patches& patches, const Mesh& new_mesh, const Transition& transition,
                    std::span<const std::uint32_t> slot_of, int rank);

}  // namespace amr
