// SPDX-License-Identifier: BSD-3-Clause

// An application that uses what is installed: blocks go once around the ranks, in plain arrays, in
// Views, as p4est's offsets say, and as Zoltan decides; Fortran makes a storage and calls Zoltan.
// Prints a line and returns 0 only if none was lost.

#include <valet/valet.hpp>

#ifdef CONSUMER_USES_KOKKOS
#include <valet/kokkos/blocks.hpp>

#include <Kokkos_Core.hpp>
#endif
#ifdef CONSUMER_USES_P4EST
#include <valet/p4est/transfer.hpp>
#endif
#ifdef CONSUMER_USES_ZOLTAN
#include <valet/zoltan/rebalancer.hpp>
#endif

#include <cstdio>
#include <vector>

#ifdef CONSUMER_USES_FORTRAN
extern "C" int fortran_answers();
#endif
#ifdef CONSUMER_USES_ZOLTAN_FORTRAN
extern "C" int fortran_partitions(int communicator);
#endif

namespace {

constexpr std::uint64_t slots = 1000;

bool shift_array(int rank, int ranks) {
  std::vector<long> data(slots, rank);
  const std::vector<int> destinations(slots, (rank + 1) % ranks);
  const valet::Report report =
      valet::migrate(MPI_COMM_WORLD, {valet::field(data.data(), slots)}, slots, destinations);
  return report.blocks_after == slots && data[slots - 1] == (rank + ranks - 1) % ranks;
}

#ifdef CONSUMER_USES_KOKKOS
bool shift_views(int rank, int ranks) {
  Kokkos::View<double* [3], Kokkos::HostSpace> position("position", slots);
  Kokkos::View<long*, Kokkos::HostSpace> id("id", slots);
  Kokkos::deep_copy(position, 0.5 * rank);
  Kokkos::deep_copy(id, rank);
  const std::vector<int> destinations(slots, (rank + 1) % ranks);
  valet::migrate(MPI_COMM_WORLD, valet::kokkos::blocks(position, id), slots, destinations);
  const long from = (rank + ranks - 1) % ranks;
  bool good = id(slots - 1) == from && position(0, 2) == 0.5 * static_cast<double>(from);
#ifdef CONSUMER_USES_ZOLTAN
  for (std::uint64_t s = 0; s < slots; ++s) position(s, 0) = static_cast<double>(s);
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD);
  rebalancer.coordinates(valet::ref(position));
  const auto result = rebalancer.rebalance(slots / 2, position, id);
  good = good && result.count <= slots && result.after.count < 1.2;
#endif
  return good;
}
#endif

#ifdef CONSUMER_USES_P4EST
/// All quadrants of a forest go from the first rank to the last.
bool move_quadrants(int rank, int ranks) {
  std::vector<std::int64_t> src(static_cast<std::size_t>(ranks) + 1, slots), dest(src.size(), 0);
  src.front() = 0;
  dest.back() = slots;
  std::vector<long> data(slots, rank == 0 ? 7 : 0);
  valet::p4est::transfer_fixed(dest.data(), src.data(), MPI_COMM_WORLD, data.data(),
                               slots * sizeof(long), sizeof(long));
  return rank != ranks - 1 || data[slots - 1] == 7;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bool good = shift_array(rank, ranks);
#ifdef CONSUMER_USES_KOKKOS
  Kokkos::initialize();
  good = shift_views(rank, ranks) && good;
  Kokkos::finalize();
#endif
#ifdef CONSUMER_USES_P4EST
  good = move_quadrants(rank, ranks) && good;
#endif
#ifdef CONSUMER_USES_FORTRAN
  good = fortran_answers() == 1 && good;
#endif
#ifdef CONSUMER_USES_ZOLTAN_FORTRAN
  good = fortran_partitions(MPI_Comm_c2f(MPI_COMM_WORLD)) == 1 && good;
#endif
  if (rank == 0)
    std::printf("Valet %d.%d.%d on %d ranks\n", VALET_VERSION_MAJOR, VALET_VERSION_MINOR,
                VALET_VERSION_PATCH, ranks);
  MPI_Finalize();
  return good ? 0 : 1;
}
