// SPDX-License-Identifier: BSD-3-Clause

// Cells with lists of different lengths lie one after the other in an array. They go to the next
// rank, and then all to rank 0, which first makes the room that the plan tells.
//
//   mpirun -n 4 07_ragged
//   rank 0 has 20 cells with 190 values, first those of rank 3
//   rank 0 has 80 cells with 760 values, first those of rank 3

#include <valet/valet.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, size = 1, wrong = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);

  std::uint64_t count = 20;
  std::vector<double> values(190);            // blocks, packed from the front
  std::vector<std::uint64_t> lengths(count);  // bytes of each block
  std::vector<int> from(count, rank);         // and a row for each
  const auto storage = [&] {
    return valet::RaggedStorage({valet::ragged_field(std::span(values), std::span(lengths))},
                                {valet::field(from)});
  };

  // Cell k of a rank has k values, which tell both.
  for (std::size_t k = 0, next = 0; k < count; next += k++) {
    lengths[k] = k * sizeof(double);
    std::fill_n(values.begin() + static_cast<int>(next), k, 100 * rank + static_cast<int>(k));
  }
  const auto check = [&] {
    std::size_t next = 0;
    for (std::size_t k = 0; k < count; next += k++ % 20) {
      if (lengths[k] != k % 20 * sizeof(double)) ++wrong;
      for (std::size_t v = 0; v < k % 20; ++v)
        if (values[next + v] != 100 * from[k] + static_cast<int>(k % 20)) ++wrong;
    }
    if (rank == 0)
      std::printf("rank 0 has %d cells with %d values, first those of rank %d\n",
                  static_cast<int>(count), static_cast<int>(next), from[0]);
  };

  std::vector<int> ranks(count, (rank + 1) % size);
  count = valet::migrate(comm, storage(), count, ranks).blocks_after;
  check();

  std::ranges::fill(ranks, 0);
  valet::RaggedPlan plan = valet::plan_to_ranks(comm, storage(), count, ranks);
  values.resize(std::max<std::size_t>(values.size(), plan.required_bytes() / sizeof(double)));
  lengths.resize(std::max<std::size_t>(lengths.size(), plan.blocks_after()));
  from.resize(lengths.size());
  count = valet::execute(plan, storage(), ranks).blocks_after;
  check();

  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, comm);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
