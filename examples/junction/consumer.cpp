// SPDX-License-Identifier: BSD-3-Clause

// An analysis on 3 ranks that takes the pressure of a simulation, in parts of its own: a general
// grid of 2 x 3 x 1 cells, of which rank 0 has two, rank 1 three and rank 2 one.

#include <valet/junction.hpp>

#include <algorithm>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  const valet::GridLayout mine{valet::BlockCyclic::cut_at({{0, 7, 60}, {0, 20, 21, 50}, {0, 40}}),
                               {0, 1, 1, 2, 0, 1}};
  std::size_t elements = 0;
  for (int cell = 0; cell < mine.layout.ranks(); ++cell)
    if (mine.ranks[static_cast<std::size_t>(cell)] == rank)
      elements += static_cast<std::size_t>(mine.layout.local_elements(cell));
  std::vector<double> pressure(elements);

  valet::Junction junction = valet::Junction::connect(MPI_COMM_WORLD, "pressure");
  int right = 0;
  for (int step = 0; step < 100; ++step) {
    junction.get(std::span(pressure), mine).wait();
    if (std::ranges::count(pressure, step) == std::ssize(pressure)) ++right;
  }
  junction.close();
  std::printf("consumer: rank %d has %zu elements of each step, right in %d\n", rank, elements,
              right);
  MPI_Finalize();
  return right == 100 ? 0 : 1;
}
