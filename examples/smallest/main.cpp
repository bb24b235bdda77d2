// SPDX-License-Identifier: BSD-3-Clause

// The smallest client: each rank gives its blocks to the next one and checks what it gets. Package
// managers build and run it to test an installed Valet.

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  constexpr std::uint64_t slots = 1000;
  std::vector<double> data(slots, rank);
  const std::vector<int> destinations(slots, (rank + 1) % ranks);
  valet::migrate(MPI_COMM_WORLD, {valet::field(data.data(), slots)}, slots, destinations);

  const double left = (rank + ranks - 1) % ranks;
  const int right = std::ranges::count(data, left) == slots ? 1 : 0;
  int all_right = 0;
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0 && all_right == 1)
    std::printf("Valet %s: %d ranks have the blocks of their left neighbours\n", VALET_VERSION_TEXT,
                ranks);
  MPI_Finalize();
  return all_right == 1 ? 0 : 1;
}
