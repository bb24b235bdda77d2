// SPDX-License-Identifier: BSD-3-Clause

// MPI_Alltoallv in one buffer: what goes to rank 0, to rank 1 and so on before the call, what comes
// from rank 0, from rank 1 and so on afterwards. Value 212 is number 2 from rank 2 to rank 1.
//
//   mpirun -n 4 09_alltoall
//   rank 0 sends    0 10 11 12 20 21 30
//   rank 0 receives 0 100 101 200 201 202 300

#include <valet/valet.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

static int count_of(int from, int to) { return (from + 2 * to) % 3 + 1; }

static void print(const char* what, const std::vector<double>& values, std::size_t count) {
  std::printf("rank 0 %s", what);
  for (std::size_t k = 0; k < count; ++k) std::printf(" %.0f", values[k]);
  std::printf("\n");
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  std::vector<std::int64_t> send_counts;
  std::vector<double> values, wanted;
  for (int other = 0; other < ranks; ++other) {
    send_counts.push_back(count_of(rank, other));
    for (int k = 0; k < count_of(rank, other); ++k) values.push_back(100 * rank + 10 * other + k);
    for (int k = 0; k < count_of(other, rank); ++k) wanted.push_back(100 * other + 10 * rank + k);
  }
  if (rank == 0) print("sends   ", values, values.size());
  if (values.size() < wanted.size()) values.resize(wanted.size());  // room for both

  const valet::AlltoallBuffer buffer{values.data(), values.size() * sizeof(double), sizeof(double)};
  valet::alltoallv_in_place(MPI_COMM_WORLD, buffer, send_counts);

  if (rank == 0) print("receives", values, wanted.size());
  values.resize(wanted.size());
  int right = values == wanted ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  MPI_Finalize();
  return right == 1 ? 0 : 1;
}
