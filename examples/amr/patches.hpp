// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The patches of one rank: what Valet moves.

#include "exact_sum.hpp"
#include "mesh.hpp"
#include <valet/block_storage.hpp>
#include <valet/node_array.hpp>

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace amr {

/// The variables of a cell.
enum Variable : int {
  density,        ///< carried along, nothing else: its sum is the mass
  phase,          ///< 0 outside and 1 inside of the front
  first_species,  ///< made in the front, and they decay
  variables = 7
};

/// Sums over all cells of all ranks that do not depend on who owns what.
struct Totals {
  std::uint64_t patches = 0;
  std::uint64_t content = 0;  ///< sum of hashes of (leaf, every bit of every variable)
  ExactSum mass;
  [[nodiscard]] bool operator==(const Totals&) const = default;
};

/// A structure of arrays in Kokkos Views with one patch per slot, a View for each variable. So the
/// Views can be grown one by one, with a seventh of the memory on top instead of as much again.
struct Patches {
  using Cells = Kokkos::View<double* [patch_cells], Kokkos::LayoutRight, Kokkos::HostSpace>;
  using Layers = Kokkos::View<double* [layer_cells], Kokkos::LayoutRight, Kokkos::HostSpace>;

  std::array<Cells, variables> cells;  ///< x fastest, then y, then z
  Kokkos::View<LeafKey*, Kokkos::HostSpace> key;
  Kokkos::View<double*, Kokkos::HostSpace> work;
  /// What flows into a patch through one face, for one variable; does not migrate.
  Layers inflow;
  /// Not zero where a slot holds a patch.
  std::vector<std::uint8_t> occupied;

  /// Bytes that move with a patch, and bytes that a slot takes in all.
  static constexpr std::size_t block_bytes =
      variables * patch_cells * sizeof(double) + sizeof(LeafKey) + sizeof(double);
  static constexpr std::size_t slot_bytes = block_bytes + layer_cells * sizeof(double) + 1;

  /// Memory of the Views that migrate, if ranks of a node share it: cells, work and key.
  std::vector<valet::NodeArray<double>> node;

  Patches() = default;
  /// @param node_of  Ranks that share memory where they are on one node, then collective; none for
  ///                 ordinary Views.
  /// @throws std::bad_alloc.
  explicit Patches(std::uint64_t slots, MPI_Comm node_of = MPI_COMM_NULL);

  [[nodiscard]] std::uint64_t slots() const { return key.extent(0); }
  [[nodiscard]] std::uint64_t count() const;
  /// Bytes of the Views that the system lets others read.
  [[nodiscard]] std::uint64_t shared_bytes() const;
  /// At least so many slots, the patches where they were. @throws std::bad_alloc; the patches are
  /// as they were.
  void grow(std::uint64_t slots);
  /// The Views that migrate, as Valet sees them.
  [[nodiscard]] valet::BlockStorage storage() const;
  /// Every View that migrates is given to `action`.
  template <class Action>
  void for_each_view(Action&& action) const {
    for (const Cells& view : cells) action(view);
    action(key);
    action(work);
  }

  /// The slot of each leaf of `mesh` that is at home here, none elsewhere. @throws std::logic_error
  /// unless the occupied slots hold just those leaves.
  [[nodiscard]] std::vector<std::uint32_t> slots_by_leaf(const Mesh& mesh, int rank) const;
  static constexpr std::uint32_t none = ~std::uint32_t{0};

  /// Collective.
  [[nodiscard]] Totals totals(MPI_Comm communicator) const;
};

}  // namespace amr
