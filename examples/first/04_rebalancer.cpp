// SPDX-License-Identifier: BSD-3-Clause

// All particles are on rank 0, in Kokkos Views. The Rebalancer lets Zoltan cut space into parts of
// equal work, one for each rank, and moves the rows of every View in place.
//
//   mpirun -n 4 04_rebalancer
//   1000 particles are there, 250 of them on rank 0
//   most work of a rank, over the mean: 4.00 before, 1.00 after

#include <valet/zoltan/rebalancer.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const Kokkos::ScopeGuard kokkos(argc, argv);
  int rank = 0, right = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  // The points of a cube. Every rank has rows for all of them; those of rank 0 are in use.
  std::uint64_t count = rank == 0 ? 1000 : 0;
  const Kokkos::View<double* [3], Kokkos::HostSpace> position("position", 1000);
  const Kokkos::View<double*, Kokkos::HostSpace> id("id", 1000), work("work", 1000);
  for (int k = 0; k < static_cast<int>(count); ++k) {
    const int place[] = {k % 10, k / 10 % 10, k / 100};
    for (int d = 0; d < 3; ++d) position(k, d) = place[d];
    id(k) = k;
    work(k) = 1;
  }

  valet::RebalanceResult result;
  {
    valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "RCB"});
    rebalancer.coordinates(valet::ref(position));
    rebalancer.weights(valet::ref(work));
    result = rebalancer.rebalance(count, position, id, work);  // partitioned and moved
    count = result.count;
  }  // it ends before MPI does

  for (std::size_t k = 0; k < count; ++k)
    if (id(k) == position(k, 0) + 10 * position(k, 1) + 100 * position(k, 2)) ++right;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%d particles are there, %d of them on rank 0\n"
        "most work of a rank, over the mean: %.2f before, %.2f after\n",
        right, static_cast<int>(count), result.before.weight, result.after.weight);
  MPI_Finalize();
  return right == 1000 && result.after.weight < 1.1 ? 0 : 1;
}
