// SPDX-License-Identifier: BSD-3-Clause

// All particles go to rank 0, which has too few rows for them. With arrays of a fixed size every
// rank gets an error, and nothing moves; those that may grow are first resized, on rank 0 alone.
//
//   mpirun -n 4 03_growing
//   arrays of a fixed size: infeasible
//   rank 0 has 100 slots and needs 400
//   400 particles are on rank 0

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  std::uint64_t count = 100;
  std::vector<int> id(count);
  std::iota(id.begin(), id.end(), 100 * rank);
  std::vector<double> position(3 * count, rank);
  const std::vector<int> ranks(count, 0);

  try {
    valet::migrate(comm, {valet::field(position, 3), valet::field(id)}, count, ranks);
  } catch (const valet::Error& error) {  // the same on all ranks; what() is a sentence
    if (rank == 0) std::printf("arrays of a fixed size: %s\n", valet::to_string(error.code()));
  }

  valet::BlockStorage particles{valet::growing(position, 3), valet::growing(id, 1)};
  valet::Plan plan = valet::plan_to_ranks(comm, particles, count, ranks);
  if (rank == 0)
    std::printf("rank 0 has %d slots and needs %d\n", static_cast<int>(particles.slots()),
                static_cast<int>(plan.required_slots()));
  valet::Report report = valet::execute(plan, particles);
  count = report.blocks_after;

  // Each particle has the position of the rank that it comes from, and rank 0 has all ids.
  for (std::size_t k = 0; k < count; ++k)
    wrong += static_cast<int>(position[3 * k]) == id[k] / 100 ? 0 : 1;
  if (rank == 0) std::ranges::sort(id);
  for (std::size_t k = 0; k < count; ++k) wrong += id[k] == static_cast<int>(k) ? 0 : 1;
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0 && wrong == 0) std::printf("%zu particles are on rank 0\n", id.size());
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
