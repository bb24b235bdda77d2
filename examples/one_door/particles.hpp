// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <Kokkos_Core.hpp>
#include <mpi.h>

#include <array>
#include <cmath>
#include <cstdint>

constexpr std::uint64_t each = 200'000, slots = 300'000;  // particles of a rank, and its room

using Vectors = Kokkos::View<double* [3], Kokkos::HostSpace>;

struct Particles {
  Vectors position = Vectors("position", slots), velocity = Vectors("velocity", slots);
  Kokkos::View<double*, Kokkos::HostSpace> work{"work", slots};
  Kokkos::View<unsigned*, Kokkos::HostSpace> id{"id", slots};

  explicit Particles(std::uint64_t first) {
    for (std::uint64_t s = 0; s < each; ++s) {
      id(s) = static_cast<unsigned>(first + s);
      work(s) = 1 + id(s) % 3;
      for (unsigned d = 0; d < 3; ++d) velocity(s, d) = id(s) % (101 + d);
      for (unsigned d = 0; d < 3; ++d)
        position(s, d) = static_cast<double>((first + s) * (7919 + 96810 * d) % 1000003);
    }
  }
};

/// Sums over the particles of all ranks that nothing may change: their number, ids, and states.
inline std::array<long long, 4> sums_of(const Particles& particles, std::uint64_t count) {
  std::array<long long, 4> sums{static_cast<long long>(count)};
  for (std::uint64_t s = 0; s < count; ++s) {
    const long long id = particles.id(s);
    sums[1] += id;
    sums[2] += id * id;
    for (int d = 0; d < 3; ++d)
      sums[3] += (id + d) * std::lround(particles.position(s, d) + 7 * particles.velocity(s, d));
  }
  MPI_Allreduce(MPI_IN_PLACE, sums.data(), 4, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return sums;
}
