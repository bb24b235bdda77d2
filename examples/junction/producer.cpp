// SPDX-License-Identifier: BSD-3-Clause

// A simulation on 4 ranks that gives its pressure to whoever connects, in each of 100 steps. It
// knows nothing of the other job's layout.

#include <valet/junction.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  const valet::GridLayout mine{valet::BlockCyclic({60, 50, 40}, {4, 10, 40}, {2, 2, 1})};
  std::vector<double> pressure(static_cast<std::size_t>(mine.layout.local_elements(rank)));

  valet::Junction junction = valet::Junction::accept(MPI_COMM_WORLD, "pressure");
  for (int step = 0; step < 100; ++step) {
    for (double& value : pressure) value = step;
    valet::JunctionTransfer transfer = junction.put(std::span<const double>(pressure), mine);
    while (!transfer.is_ready()) {
      // The next step's forces are computed here; the pressure stays as it is.
    }
    transfer.wait();
  }
  junction.close();
  if (rank == 0) std::puts("producer: gave 100 steps");
  MPI_Finalize();
}
