// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include "mpi/check.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace valet::bench {
namespace {

std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> displs(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, displs.begin() + 1);
  return displs;
}

}  // namespace

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

bool on_all_ranks(bool condition) {
  int mine = condition ? 1 : 0;
  int all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all == 1;
}

std::uint64_t sum_of_ranks(std::uint64_t value) {
  std::uint64_t sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

std::uint64_t largest_of_ranks(std::uint64_t value) {
  std::uint64_t largest = 0;
  MPI_Allreduce(&value, &largest, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

double slowest_seconds(const std::function<void()>& action) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  action();
  const double mine = MPI_Wtime() - start;
  double slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Alltoallv::Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes) {
  MPI_Type_contiguous(mpi::checked_count(block_bytes), MPI_BYTE, &block_);
  MPI_Type_commit(&block_);
  for (const std::uint64_t count : send_blocks) send_counts_.push_back(mpi::checked_count(count));
  receive_counts_.resize(send_counts_.size());
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  send_displs_ = displacements(send_counts_);
  receive_displs_ = displacements(receive_counts_);
}

Alltoallv::~Alltoallv() { MPI_Type_free(&block_); }

std::uint64_t Alltoallv::blocks_received() const {
  return std::accumulate(
      receive_counts_.begin(), receive_counts_.end(), std::uint64_t{0},
      [](std::uint64_t sum, int count) { return sum + static_cast<std::uint64_t>(count); });
}

void Alltoallv::run(const void* packed, void* received) const {
  MPI_Alltoallv(packed, send_counts_.data(), send_displs_.data(), block_, received,
                receive_counts_.data(), receive_displs_.data(), block_, MPI_COMM_WORLD);
}

Progress::Progress(std::string title, std::size_t steps) {
  if (world_rank() == 0) bar_ = ProgressBar({.title = std::move(title), .total = steps});
}

}  // namespace valet::bench
