// SPDX-License-Identifier: BSD-3-Clause

// Particles in Kokkos Views go to the ranks that own them, wherever the Views have their memory.
// Only the map is read on the host.
//
//   mpirun -n 4 02_views
//   400 particles are on their ranks
//   rank 0 had 100 of them, and has 160 in the same Views

#include <valet/kokkos/blocks.hpp>
#include <valet/plan.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdio>
#include <numeric>
#include <vector>

// The first rank owns twice as many particles as the others.
KOKKOS_INLINE_FUNCTION int owner_of(int id, int ranks) { return id % (ranks + 1) % ranks; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  int rank = 0, ranks = 1, right = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Room for 200 particles, which have a row of each View. The first 100 rows are in use.
  const Kokkos::View<double* [3]> position("position", 200);
  const Kokkos::View<int*> id("id", 200);
  Kokkos::parallel_for(
      "make", 100, KOKKOS_LAMBDA(const int k) {
        id(k) = 100 * rank + k;
        for (int d = 0; d < 3; ++d) position(k, d) = id(k) + 0.25 * d;
      });
  std::vector<int> destination(100);
  std::iota(destination.begin(), destination.end(), 100 * rank);
  for (int& to : destination) to = owner_of(to, ranks);

  const valet::BlockStorage particles = valet::kokkos::blocks(position, id);
  const valet::Report report = valet::migrate(MPI_COMM_WORLD, particles, 100, destination);
  const std::size_t count = report.blocks_after;

  Kokkos::parallel_reduce(
      "check", count,
      KOKKOS_LAMBDA(const int k, int& sum) {
        if (owner_of(id(k), ranks) == rank && position(k, 2) == id(k) + 0.5) ++sum;
      },
      right);
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%d particles are on their ranks\nrank 0 had 100 of them, and has %zu in the same Views\n",
        right, count);
  MPI_Finalize();
  return right == 100 * ranks ? 0 : 1;
}
