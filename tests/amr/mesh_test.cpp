// SPDX-License-Identifier: BSD-3-Clause

// Leaves, neighbours and transitions, on one process.

#include "random_mesh.hpp"
#include "regrid.hpp"
#include "test_comm.hpp"

namespace amr::test {
namespace {

using valet::test::seed;
using valet::test::seed_note;

TEST(Leaf, KeyNamesIt) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  for (int round = 0; round < 1000; ++round) {
    Leaf leaf;
    leaf.level = static_cast<int>(random() % 19);
    for (std::uint32_t& x : leaf.corner)
      x = static_cast<std::uint32_t>(random()) % root_length & ~(leaf.length() - 1);
    EXPECT_EQ(leaf_of(key_of(leaf)), leaf);
    if (leaf.level == 0) continue;
    EXPECT_EQ(leaf.parent().child(leaf.child_number()), leaf);
  }
}

TEST(Leaf, KeysAscendAlongTheCurve) {
  const Leaf root;
  LeafKey last = 0;
  for (int first = 0; first < 8; ++first)
    for (int second = 0; second < 8; ++second) {
      const LeafKey key = key_of(root.child(first).child(second));
      EXPECT_GT(key, last) << "in the order of child numbers, x first";
      last = key;
    }
}

TEST(Leaf, NeighboursAreMutualAndPeriodic) {
  const Leaf leaf = leaf_of(uniform_mesh(2).keys[0]);
  for (int axis = 0; axis < 3; ++axis) {
    Leaf walker = leaf;
    for (int step = 0; step < 4; ++step) {
      EXPECT_EQ(walker.neighbour(axis, 1).neighbour(axis, -1), walker);
      walker = walker.neighbour(axis, 1);
    }
    EXPECT_EQ(walker, leaf);
  }
}

/// Whether the faces of two leaves touch across `axis`, from the geometry alone.
bool touch(const Leaf& self, const Leaf& other, int axis, int direction) {
  for (int d = 0; d < 3; ++d) {
    const auto k = static_cast<std::size_t>(d);
    const std::uint32_t begin = self.corner[k];
    const std::uint32_t end = begin + self.length();
    const std::uint32_t other_end = other.corner[k] + other.length();
    if (d != axis && (other.corner[k] >= end || other_end <= begin)) return false;
    if (d == axis && direction > 0 && other.corner[k] != end % root_length) return false;
    if (d == axis && direction < 0 && other_end % root_length != begin) return false;
  }
  return true;
}

TEST(Mesh, FaceNeighboursAreThoseThatTouch) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  const Mesh mesh = refined_mesh(uniform_mesh(2), random, 0.3);
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf)
    for (int axis = 0; axis < 3; ++axis)
      for (const int direction : {-1, 1}) {
        const FaceNeighbours behind = face_neighbours(mesh, leaf, axis, direction);
        std::set<LeafIndex> expected;
        for (LeafIndex other = 0; other < mesh.size(); ++other)
          if (touch(leaf_of(mesh.keys[leaf]), leaf_of(mesh.keys[other]), axis, direction))
            expected.insert(other);
        EXPECT_EQ(std::set<LeafIndex>(behind.leaf, behind.leaf + behind.count), expected);
      }
}

TEST(Mesh, LeafThatIsMissingIsAnError) {
  const Mesh mesh = uniform_mesh(1);
  EXPECT_EQ(mesh.find(mesh.keys[5]), 5U);
  EXPECT_THROW(static_cast<void>(mesh.find(mesh.keys[5] + 1)), std::logic_error);
}

TEST(Transition, GroupsWhatMustBeOnOneRank) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  const Mesh coarse = uniform_mesh(2);
  const Mesh fine = refined_mesh(coarse, random, 0.4);
  for (const auto& [before, after] : {std::pair(coarse, fine), std::pair(fine, coarse)}) {
    const Transition change = transition(before, after.keys);
    std::size_t members = 0;
    std::size_t children = 0;
    for (std::size_t u = 0; u < change.units.size(); ++u) {
      const Unit& unit = change.units[u];
      EXPECT_EQ(unit.first, members) << "along the curve, without a gap";
      EXPECT_DOUBLE_EQ(unit.work, unit.children);
      for (std::uint32_t m = 0; m < unit.members; ++m) EXPECT_EQ(change.unit_of[unit.first + m], u);
      for (std::uint32_t c = 0; c < unit.children; ++c)
        EXPECT_EQ(change.old_of[children + c], unit.first);
      members += unit.members;
      children += unit.children;
    }
    EXPECT_EQ(members, before.size());
    EXPECT_EQ(children, after.size());
  }
}

TEST(Transition, MoreThanOneLevelIsAnError) {
  EXPECT_THROW(static_cast<void>(transition(uniform_mesh(1), uniform_mesh(3).keys)),
               std::logic_error);
}

TEST(Wishes, RefineTheFrontAndOneLeafAroundIt) {
  const Mesh mesh = uniform_mesh(2);
  std::vector<std::uint8_t> has_front(mesh.size(), 0);
  has_front[20] = 1;
  const std::vector<Wish> wish = wishes(mesh, has_front, 1, 3);
  EXPECT_EQ(std::count(wish.begin(), wish.end(), Wish::refine), 7);
  EXPECT_EQ(std::count(wish.begin(), wish.end(), Wish::coarsen), 64 - 7);
  const std::vector<Wish> bounded = wishes(mesh, has_front, 2, 2);
  EXPECT_EQ(std::count(bounded.begin(), bounded.end(), Wish::keep), 64);
}

/// Whether pieces of the curve within the slots exist: taking as much as fits is then enough.
bool can_be_cut(const std::vector<Unit>& units, int ranks, std::uint64_t slots) {
  std::uint64_t members = 0;
  std::uint64_t children = 0;
  int used = 1;
  for (const Unit& unit : units) {
    if (members + unit.members > slots || children + unit.children > slots) {
      ++used;
      members = children = 0;
    }
    members += unit.members;
    children += unit.children;
  }
  return used <= ranks;
}

TEST(CutWithinSlots, KeepsToThemWhereverThatIsPossible) {
  std::mt19937_64 random(seed());
  int possible = 0;
  for (int number = 0; number < 1000; ++number) {
    SCOPED_TRACE(seed_note(seed(), number));
    const int ranks = 1 + static_cast<int>(random() % 6);
    std::vector<Unit> units(20 + random() % 200);
    std::uint64_t most = 0;
    for (Unit& unit : units) {
      unit.members = random() % 5 == 0 ? 8 : 1;
      unit.children = unit.members == 1 && random() % 5 == 0 ? 8 : 1;
      unit.work = 1 + static_cast<double>(random() % 10);
      most += unit.members + unit.children;
    }
    const std::uint64_t slots = most / static_cast<std::uint64_t>(2 * ranks) + 8 + random() % 20;
    const std::vector<int> cut = cut_within_slots(units, ranks, slots);
    EXPECT_TRUE(std::is_sorted(cut.begin(), cut.end())) << "pieces of the curve";
    if (!can_be_cut(units, ranks, slots)) continue;
    ++possible;
    for (int rank = 0; rank < ranks; ++rank) {
      std::uint64_t before = 0;
      std::uint64_t after = 0;
      for (std::size_t u = 0; u < units.size(); ++u)
        if (cut[u] == rank) before += units[u].members, after += units[u].children;
      EXPECT_LE(before, slots);
      EXPECT_LE(after, slots);
    }
  }
  EXPECT_GT(possible, 300);
  EXPECT_LT(possible, 1000) << "cases at the limit must occur";
}

TEST(CutWithinSlots, IsByWorkWhereThereIsRoom) {
  std::vector<Unit> units(100);
  for (std::size_t u = 0; u < 50; ++u) units[u].work = 3;  // 200 in all: 100 in the first 33
  const std::vector<int> cut = cut_within_slots(units, 2, 100);
  EXPECT_EQ(std::count(cut.begin(), cut.end(), 0), 33);
  const std::vector<int> tight = cut_within_slots(units, 2, 58);
  EXPECT_EQ(std::count(tight.begin(), tight.end(), 1), 58) << "as near to that as the slots allow";
}

}  // namespace
}  // namespace amr::test
