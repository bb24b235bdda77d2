// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The particles and their physics. Nothing here knows of Valet or Zoltan.

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <cstdint>

namespace particles {

/// Sums over all particles, which do not depend on who owns them: equal before and after every
/// migration.
struct Checksum {
  std::uint64_t count = 0;
  std::uint64_t id_sum = 0;
  std::uint64_t id_hashes = 0;
  std::uint64_t constants = 0;   ///< hashes of (id, mass), which never change
  std::uint64_t everything = 0;  ///< hashes of all fields
  [[nodiscard]] bool operator==(const Checksum&) const = default;
  /// Whether the same particles are there, whatever they did in between.
  [[nodiscard]] bool same_particles(const Checksum& other) const {
    return count == other.count && id_sum == other.id_sum && id_hashes == other.id_hashes &&
           constants == other.constants;
  }
};

/// The particles of one rank: a structure of arrays in Kokkos Views, slots 0 to count-1 occupied.
struct Cloud {
  Kokkos::View<double* [3], Kokkos::LayoutRight> position;  ///< in the unit box
  Kokkos::View<double* [3], Kokkos::LayoutRight> velocity;
  Kokkos::View<std::uint64_t*> id;
  Kokkos::View<double*> work;  ///< what a step costs, from the density around the particle
  Kokkos::View<double*> mass;
  std::uint64_t count = 0;

  static constexpr std::size_t bytes_each = 9 * sizeof(double);

  explicit Cloud(std::uint64_t slots);
  /// In memory for that many, aligned for double, that outlives it: an array after the other.
  Cloud(std::uint64_t slots, double* memory);
  [[nodiscard]] std::uint64_t slots() const { return id.extent(0); }
  /// A particle to and from `bytes_each` bytes, where the host has the arrays.
  void pack(std::uint64_t slot, void* bytes) const;
  void unpack(std::uint64_t slot, const void* bytes);

  /// Puts particles first_id, first_id + 1, ... where their ids say: spread over the whole box.
  void fill(std::uint64_t first_id, std::uint64_t particles);
  /// One time step: two moving centres pull their particles together or let them go, and walls
  /// reflect. Local.
  void advance(double time, double time_step);
  /// Sets the work of every particle: 1 where it is alone, more in a crowd, `mean_work` on average
  /// over all particles. Collective.
  void weigh(MPI_Comm communicator, double mean_work);
  /// Largest over mean work of a rank. Collective.
  [[nodiscard]] double imbalance(MPI_Comm communicator) const;
  /// Collective.
  [[nodiscard]] Checksum checksum(MPI_Comm communicator) const;
};

}  // namespace particles
