// SPDX-License-Identifier: BSD-3-Clause
#include "regrid.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace amr {
namespace {

constexpr std::size_t siblings = 8;
using PatchValues = std::array<double, patch_cells>;

/// Calls action(cell of the parent, child, one of the eight cells of the child in it).
template <class Action>
void for_each_small_cell(Action&& action) {
  constexpr int half = edge_cells / 2;
  for (int cell = 0; cell < patch_cells; ++cell) {
    const std::array<int, 3> index{cell % edge_cells, cell / edge_cells % edge_cells,
                                   cell / layer_cells};
    int child = 0;
    int corner = 0;
    int stride = 1;
    for (std::size_t d = 0; d < 3; ++d) {
      child |= (index[d] / half) << d;
      corner += 2 * (index[d] % half) * stride;
      stride *= edge_cells;
    }
    for (int k = 0; k < 8; ++k) {
      const int small = corner + (k & 1) + (k >> 1 & 1) * edge_cells + (k >> 2) * layer_cells;
      action(static_cast<std::size_t>(cell), static_cast<std::size_t>(child),
             static_cast<std::size_t>(small));
    }
  }
}

void coarsen(Patches& patches, const std::array<std::uint32_t, siblings>& slots, LeafKey key) {
  PatchValues mean;
  for (const Patches::Cells& view : patches.cells) {
    mean.fill(0);
    for_each_small_cell([&](std::size_t cell, std::size_t child, std::size_t small) {
      mean[cell] += 0.125 * view(slots[child], small);
    });
    for (std::size_t c = 0; c < patch_cells; ++c) view(slots[0], c) = mean[c];
  }
  double work = 0;
  for (const std::uint32_t slot : slots) {
    work += patches.work(slot) / siblings;
    patches.occupied[slot] = 0;
  }
  patches.occupied[slots[0]] = 1;
  patches.key(slots[0]) = key;
  patches.work(slots[0]) = work;
}

/// The patch in slots[0] becomes eight.
void refine(Patches& patches, const std::array<std::uint32_t, siblings>& slots,
            std::span<const LeafKey> keys) {
  PatchValues whole;
  for (const Patches::Cells& view : patches.cells) {
    for (std::size_t c = 0; c < patch_cells; ++c) whole[c] = view(slots[0], c);
    for_each_small_cell([&](std::size_t cell, std::size_t child, std::size_t small) {
      view(slots[child], small) = whole[cell];
    });
  }
  for (std::size_t k = 0; k < siblings; ++k) {
    patches.occupied[slots[k]] = 1;
    patches.key(slots[k]) = keys[k];
    patches.work(slots[k]) = patches.work(slots[0]);
  }
}

/// Slots that units take on a rank: before and after the mesh changes.
struct Slots {
  std::uint64_t members = 0;
  std::uint64_t children = 0;

  [[nodiscard]] bool holds(const Unit& unit, std::uint64_t most) const {
    return members + unit.members <= most && children + unit.children <= most;
  }
  void add(const Unit& unit) {
    members += unit.members;
    children += unit.children;
  }
};

}  // namespace

Transition transition(const Mesh& old_mesh, std::span<const LeafKey> new_keys) {
  Transition result;
  result.old_of.reserve(new_keys.size());
  result.unit_of.resize(old_mesh.size());
  LeafIndex next = 0;
  for (std::size_t n = 0; n < new_keys.size();) {
    const Leaf new_leaf = leaf_of(new_keys[n]);
    const Leaf old_leaf = leaf_of(old_mesh.keys.at(next));
    const int finer = new_leaf.level - old_leaf.level;
    if (new_leaf.corner != old_leaf.corner || finer < -1 || finer > 1)
      throw std::logic_error("two meshes differ by more than one level");
    Unit unit;
    unit.first = next;
    unit.members = finer < 0 ? siblings : 1;
    unit.children = finer > 0 ? siblings : 1;
    unit.work = 0;
    for (std::uint32_t m = 0; m < unit.members; ++m) {
      unit.work += static_cast<double>(old_mesh.work[next + m]) * unit.children / unit.members;
      result.unit_of[next + m] = static_cast<LeafIndex>(result.units.size());
    }
    result.old_of.insert(result.old_of.end(), unit.children, next);
    result.units.push_back(unit);
    next += unit.members;
    n += unit.children;
  }
  return result;
}

Mesh mesh_after(const Mesh& old_mesh, const Transition& transition, std::vector<LeafKey> new_keys,
                std::span<const int> home) {
  Mesh mesh;
  mesh.keys = std::move(new_keys);
  mesh.home.reserve(mesh.keys.size());
  mesh.work.reserve(mesh.keys.size());
  for (const LeafIndex old_leaf : transition.old_of) {
    mesh.home.push_back(home[old_leaf]);
    mesh.work.push_back(old_mesh.work[old_leaf]);
  }
  return mesh;
}

std::vector<Wish> wishes(const Mesh& mesh, std::span<const std::uint8_t> has_front, int least_level,
                         int most_level) {
  std::vector<Wish> result(mesh.size(), Wish::keep);
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf) {
    bool near_front = has_front[leaf] != 0;
    for (int axis = 0; axis < 3 && !near_front; ++axis)
      for (const int direction : {-1, 1}) {
        const FaceNeighbours behind = face_neighbours(mesh, leaf, axis, direction);
        for (int n = 0; n < behind.count; ++n) near_front |= has_front[behind.leaf[n]] != 0;
      }
    const int level = leaf_of(mesh.keys[leaf]).level;
    if (near_front && level < most_level) result[leaf] = Wish::refine;
    if (!near_front && level > least_level) result[leaf] = Wish::coarsen;
  }
  return result;
}

void change_patches(Patches& patches, const Mesh& new_mesh, const Transition& transition,
                    std::span<const std::uint32_t> slot_of, int rank) {
  std::array<std::uint32_t, siblings> slots{};
  const auto for_each_own_unit = [&](auto&& action) {
    LeafIndex first_new = 0;
    for (const Unit& unit : transition.units) {
      if (new_mesh.home[first_new] == rank) action(unit, first_new);
      first_new += unit.children;
    }
  };
  // Coarsening first: its slots are those that refining needs.
  for_each_own_unit([&](const Unit& unit, LeafIndex first_new) {
    if (unit.members == 1) return;
    for (std::uint32_t k = 0; k < siblings; ++k) slots[k] = slot_of[unit.first + k];
    coarsen(patches, slots, new_mesh.keys[first_new]);
  });
  std::uint32_t free = 0;
  for_each_own_unit([&](const Unit& unit, LeafIndex first_new) {
    if (unit.children == 1) return;
    slots[0] = slot_of[unit.first];
    for (std::size_t k = 1; k < siblings; ++k) {
      while (free < patches.occupied.size() && patches.occupied[free] != 0) ++free;
      if (free == patches.occupied.size()) throw std::logic_error("no free slot for a new patch");
      slots[k] = free++;
    }
    refine(patches, slots, std::span(new_mesh.keys).subspan(first_new, siblings));
  });
}

std::vector<int> cut_within_slots(const std::vector<Unit>& units, int ranks,
                                  std::uint64_t slots_per_rank) {
  // Filling the ranks from the end leaves as little as can be to those before: a rank may not stop
  // before the place where the ones behind it are full.
  std::vector<std::size_t> least_end(static_cast<std::size_t>(ranks), units.size());
  std::size_t begin = units.size();
  for (auto rank = static_cast<std::size_t>(ranks); --rank > 0;) {
    Slots used;
    while (begin > 0 && used.holds(units[begin - 1], slots_per_rank)) used.add(units[--begin]);
    least_end[rank - 1] = begin;
  }
  double work_left = 0;
  for (const Unit& unit : units) work_left += unit.work;
  std::vector<int> result(units.size(), ranks - 1);
  std::size_t next = 0;
  for (int rank = 0; rank + 1 < ranks; ++rank) {
    const double share = work_left / (ranks - rank);
    double work = 0;
    Slots used;
    for (; next < units.size() && used.holds(units[next], slots_per_rank); ++next) {
      const bool may_stop = next >= least_end[static_cast<std::size_t>(rank)];
      if (may_stop && work + units[next].work / 2 > share) break;
      result[next] = rank;
      used.add(units[next]);
      work += units[next].work;
    }
    work_left -= work;
  }
  return result;
}

}  // namespace amr
