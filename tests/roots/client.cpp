// SPDX-License-Identifier: BSD-3-Clause

// What a user writes first: particles in Views, partitioned and moved; a column of theirs by a map.

#include <valet/kokkos/blocks.hpp>
#include <valet/valet.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

/// Whether particles that all begin on rank 0 are spread over the ranks.
bool rebalances(int rank, int size) {
  constexpr std::size_t slots = 1000;
  Kokkos::View<double* [3], Kokkos::HostSpace> position("position", slots);
  Kokkos::View<double*, Kokkos::HostSpace> work("work", slots);
  std::uint64_t count = rank == 0 ? slots : 0;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) position(i, axis) = static_cast<double>(i);
    work(i) = 1;
  }
  valet::zoltan::Rebalancer rebalancer(MPI_COMM_WORLD, {.method = "RCB"});
  rebalancer.coordinates(valet::ref(position));
  rebalancer.weights(valet::ref(work));
  count = rebalancer.rebalance(count, position, work).count;
  const std::uint64_t wanted = slots / static_cast<std::uint64_t>(size);
  return count + 1 >= wanted && count <= wanted + 1;
}

/// Whether a row moves to the next rank.
bool migrates(int rank, int size) {
  std::vector<int> numbers(10, rank);
  valet::BlockStorage storage{valet::field(numbers.data(), numbers.size())};
  const std::vector<int> ranks(numbers.size(), (rank + 1) % size);
  const valet::Report report = valet::migrate(MPI_COMM_WORLD, storage, ranks.size(), ranks);
  return report.blocks_after == numbers.size() && numbers[0] == (rank + size - 1) % size;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool right = false;
  {
    const Kokkos::ScopeGuard kokkos(argc, argv);
    right = migrates(rank, size) && rebalances(rank, size);
  }
  std::printf("rank %d of %d: %s\n", rank, size, right ? "right" : "WRONG");
  MPI_Finalize();
  return right ? 0 : 1;
}
