// SPDX-License-Identifier: BSD-3-Clause
#include "measure.hpp"

#include "mpi/check.hpp"

#include <numeric>
#include <utility>

namespace valet::bench {
namespace {

std::vector<int> as_counts(const std::vector<std::uint64_t>& blocks) {
  std::vector<int> counts(blocks.size());
  std::ranges::transform(blocks, counts.begin(), mpi::checked_count);
  return counts;
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
  double seconds = MPI_Wtime() - start;
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

Bytes allocate(std::uint64_t bytes) {
  return Bytes(static_cast<std::byte*>(::operator new(bytes, page)));
}

Counts::Counts(std::vector<int> of_ranks) : counts(std::move(of_ranks)), begins(counts.size()) {
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
}

Counts::Counts(const std::vector<std::uint64_t>& of_ranks) : Counts(as_counts(of_ranks)) {}

std::vector<std::uint64_t> count_by_rank(std::span<const int> destinations) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
  for (const int rank : destinations) ++counts[static_cast<std::size_t>(rank)];
  return counts;
}

Counts arriving(const Counts& leaving) {
  std::vector<int> counts(leaving.counts.size());
  MPI_Alltoall(leaving.counts.data(), 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return Counts(std::move(counts));
}

void alltoallv(const void* from, const Counts& leaving, void* to, const Counts& coming,
               MPI_Datatype type) {
  MPI_Alltoallv(from, leaving.counts.data(), leaving.begins.data(), type, to, coming.counts.data(),
                coming.begins.data(), type, MPI_COMM_WORLD);
}

BlockType::BlockType(std::size_t bytes) {
  MPI_Type_contiguous(mpi::checked_count(bytes), MPI_BYTE, &type_);
  MPI_Type_commit(&type_);
}

Alltoallv::Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes,
                     const void* blocks)
    : block_bytes_(block_bytes),
      blocks_(static_cast<const std::byte*>(blocks)),
      block_(block_bytes),
      leaving_(send_blocks),
      coming_(arriving(leaving_)) {}

Alltoallv::Alltoallv(std::span<const int> destinations, std::size_t block_bytes, const void* blocks)
    : Alltoallv(count_by_rank(destinations), block_bytes, blocks) {
  if (!on_all_ranks(std::ranges::is_sorted(destinations))) unpacked_ = destinations;
}

void Alltoallv::exchange(BlockBuffers& buffers) const {
  const std::byte* packed = blocks_;
  if (!unpacked_.empty()) {
    std::vector<int> next = leaving_.begins;
    for (std::size_t k = 0; k < unpacked_.size(); ++k) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(unpacked_[k])]++);
      std::memcpy(buffers.packed.get() + place * block_bytes_, blocks_ + k * block_bytes_,
                  block_bytes_);
    }
    packed = buffers.packed.get();
  }
  alltoallv(packed, leaving_, buffers.received.get(), coming_, block_.get());
}

}  // namespace valet::bench
