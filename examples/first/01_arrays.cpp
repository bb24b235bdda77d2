// SPDX-License-Identifier: BSD-3-Clause

// Particles in arrays of the application go to the ranks that own them. There is no second copy of
// the arrays: what leaves a rank makes room for what arrives.
//
//   mpirun -n 4 01_arrays
//   400 particles are on their ranks
//   rank 0 had 100 of them, and has 160 in the same arrays

#include <valet/valet.hpp>

#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

// The first rank owns twice as many particles as the others.
static int owner_of(int id, int ranks) { return id % (ranks + 1) % ranks; }

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Room for 200 particles, which have a row of each array. The first 100 rows are in use.
  std::uint64_t count = 100;
  std::vector<int> id(200), destination(count);
  std::vector<double> position(3 * id.size());
  std::iota(id.begin(), id.end(), 100 * rank);
  for (std::size_t k = 0; k < count; ++k) {
    position[3 * k] = 0.5 * id[k];
    destination[k] = owner_of(id[k], ranks);
  }

  valet::BlockStorage particles{valet::field(position, 3), valet::field(id)};
  valet::Report report = valet::migrate(MPI_COMM_WORLD, particles, count, destination);
  count = report.blocks_after;

  int right = 0;
  for (std::size_t k = 0; k < count; ++k)
    if (owner_of(id[k], ranks) == rank && position[3 * k] == 0.5 * id[k]) ++right;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf(
        "%d particles are on their ranks\nrank 0 had 100 of them, and has %d in the same arrays\n",
        right, static_cast<int>(count));
  MPI_Finalize();
  return right == 100 * ranks ? 0 : 1;
}
