// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include <valet/mpi.hpp>

#include <algorithm>
#include <numeric>

namespace valet::bench {

int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int world_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

bool on_all_ranks(bool condition) { return largest_of_ranks(condition ? 0 : 1) == 0; }

std::uint64_t sum_of_ranks(std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return value;
}

std::uint64_t largest_of_ranks(std::uint64_t value) {
  MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

double slowest_seconds(const std::function<void()>& action) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  action();
  return slowest(MPI_Wtime() - start);
}

double slowest(double seconds) {
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::size_t middle_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t k) { return values[k]; });
  return order[(order.size() - 1) / 2];
}

}  // namespace valet::bench
