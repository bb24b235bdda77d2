// SPDX-License-Identifier: BSD-3-Clause

// The layer in front of a patch is the data behind its face, wherever that is.

#include "layers.hpp"

#include "flow.hpp"
#include "kokkos_environment.hpp"
#include "random_mesh.hpp"
#include "test_comm.hpp"

namespace amr::test {
namespace {

using namespace valet::test;

using Place = std::array<double, 3>;

/// Linear, so that the mean of a function over cells is its value in their middle.
double function(const Place& place) { return 1 + 2 * place[0] + 4 * place[1] + 8 * place[2]; }

Place cell_centre(const Leaf& leaf, const std::array<int, 3>& index) {
  Place place{};
  for (std::size_t d = 0; d < 3; ++d)
    place[d] =
        static_cast<double>(leaf.corner[d]) / root_length + (index[d] + 0.5) * leaf.cell_length();
  return place;
}

/// Where the value comes from that a leaf must see in front of cell (a, b) of its upstream face.
Place source_of(const Mesh& mesh, LeafIndex leaf, int axis, int a, int b) {
  const auto normal = static_cast<std::size_t>(axis);
  const auto first = static_cast<std::size_t>(first_other(axis));
  const auto second = static_cast<std::size_t>(second_other(axis));
  const bool from_below = velocity[normal] > 0;
  const Leaf self = leaf_of(mesh.keys[leaf]);
  const FaceNeighbours behind = face_neighbours(mesh, leaf, axis, from_below ? -1 : 1);
  std::array<int, 3> index{};
  index[first] = a;
  index[second] = b;
  Place place = cell_centre(self, index);
  const Leaf other = leaf_of(mesh.keys[behind.leaf[0]]);
  // A larger cell that contains the place, or the middle of four smaller ones around it.
  const double cell = other.cell_length();
  if (other.level < self.level)
    for (const std::size_t d : {first, second})
      place[d] = (std::floor(place[d] / cell) + 0.5) * cell;
  const double low = static_cast<double>(other.corner[normal]) / root_length;
  place[normal] = from_below ? low + (edge_cells - 0.5) * cell : low + 0.5 * cell;
  return place;
}

TEST(Layers, AreTheCellsBehindTheFace) {
  for (std::uint64_t number = 0; number < 4; ++number) {
    SCOPED_TRACE(seed_note(seed(), static_cast<long long>(number)));
    std::mt19937_64 random(seed() + number);
    Mesh mesh = refined_mesh(uniform_mesh(1), random, 0.4);
    scatter_homes(mesh, random, size());
    Patches patches(mesh.size());
    std::uint64_t slot = 0;
    for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf) {
      if (mesh.home[leaf] != rank()) continue;
      patches.key(slot) = mesh.keys[leaf];
      patches.occupied[slot] = 1;
      for (int c = 0; c < patch_cells; ++c)
        patches.cells[density](slot, c) =
            function(cell_centre(leaf_of(mesh.keys[leaf]),
                                 {c % edge_cells, c / edge_cells % edge_cells, c / layer_cells}));
      ++slot;
    }
    const std::vector<std::uint32_t> slot_of = patches.slots_by_leaf(mesh, rank());
    LayerExchange layers(MPI_COMM_WORLD, mesh, slot_of);
    for (int axis = 0; axis < 3; ++axis) {
      layers.exchange(axis, patches.cells[density], patches.inflow);
      long long wrong = 0;
      for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf) {
        if (mesh.home[leaf] != rank()) continue;
        for (int b = 0; b < edge_cells; ++b)
          for (int a = 0; a < edge_cells; ++a) {
            const double expected = function(source_of(mesh, leaf, axis, a, b));
            if (std::abs(patches.inflow(slot_of[leaf], a + edge_cells * b) - expected) > 1e-12)
              ++wrong;
          }
      }
      EXPECT_EQ(sum_over_ranks(wrong), 0) << "axis " << axis;
    }
  }
}

/// The sum of a variable over the cube.
double total(const Patches& patches, std::size_t variable) {
  ExactSum sum;
  for (std::size_t slot = 0; slot < patches.occupied.size(); ++slot)
    for (std::size_t c = 0; patches.occupied[slot] != 0 && c < patch_cells; ++c)
      sum.add(std::pow(leaf_of(patches.key(slot)).cell_length(), 3) *
              patches.cells[variable](slot, c));
  return sum.over_ranks(MPI_COMM_WORLD).value();
}

TEST(Flow, ConservesMassAcrossLevelsAndMovesTheFront) {
  std::mt19937_64 random(seed());
  SCOPED_TRACE(seed_note());
  Mesh mesh = refined_mesh(uniform_mesh(2), random, 0.4);
  scatter_homes(mesh, random, size());
  Patches patches(mesh.size());
  const Flow flow({}, 3);
  std::uint64_t slot = 0;
  for (LeafIndex leaf = 0; leaf < mesh.size(); ++leaf) {
    if (mesh.home[leaf] != rank()) continue;
    patches.key(slot) = mesh.keys[leaf];
    patches.occupied[slot] = 1;
    flow.fill(patches, slot++);
  }
  LayerExchange layers(MPI_COMM_WORLD, mesh, patches.slots_by_leaf(mesh, rank()));
  const Totals before = patches.totals(MPI_COMM_WORLD);
  const double phase_before = total(patches, phase);
  for (int step = 0; step < 5; ++step) flow.advance(patches, layers);
  const Totals after = patches.totals(MPI_COMM_WORLD);
  EXPECT_NEAR(after.mass.value(), before.mass.value(), 1e-13);
  EXPECT_NE(after.content, before.content);
  EXPECT_GT(total(patches, phase), 0.2 * phase_before);
  EXPECT_GT(total(patches, first_species), 0) << "the front reacts";
}

}  // namespace
}  // namespace amr::test
