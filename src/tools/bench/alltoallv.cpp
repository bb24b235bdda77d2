// SPDX-License-Identifier: BSD-3-Clause
#include "alltoallv.hpp"

#include "measure.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace valet::bench {
namespace {

std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> displs(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, displs.begin() + 1);
  return displs;
}

std::vector<std::uint64_t> count_by_rank(std::span<const int> destinations) {
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
  for (const int rank : destinations) ++counts[static_cast<std::size_t>(rank)];
  return counts;
}

}  // namespace

Bytes allocate(std::uint64_t bytes) {
  return Bytes(static_cast<std::byte*>(::operator new(bytes, page)));
}

Alltoallv::Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes)
    : block_bytes_(block_bytes), receive_counts_(send_blocks.size()) {
  MPI_Type_contiguous(mpi::checked_count(block_bytes), MPI_BYTE, &block_);
  MPI_Type_commit(&block_);
  for (const std::uint64_t count : send_blocks) send_counts_.push_back(mpi::checked_count(count));
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  send_displs_ = displacements(send_counts_);
  receive_displs_ = displacements(receive_counts_);
}

Alltoallv::Alltoallv(std::span<const int> destinations, std::size_t block_bytes)
    : Alltoallv(count_by_rank(destinations), block_bytes) {
  if (!on_all_ranks(std::ranges::is_sorted(destinations))) unpacked_ = destinations;
}

Alltoallv::~Alltoallv() { MPI_Type_free(&block_); }

double Alltoallv::run_warm(const std::byte* blocks) {
  if (warm_.received == nullptr) {
    warm_ = make_buffers();
    exchange(blocks, warm_);  // touches every page
  }
  return slowest_seconds([&] { exchange(blocks, warm_); });
}

double Alltoallv::run_cold(const std::byte* blocks) const {
  return slowest_seconds([&] { exchange(blocks, make_buffers()); });
}

void Alltoallv::exchange(const std::byte* blocks, const Buffers& buffers) const {
  const std::byte* packed = blocks;
  if (!unpacked_.empty()) {
    std::vector<int> next = send_displs_;
    for (std::size_t k = 0; k < unpacked_.size(); ++k) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(unpacked_[k])]++);
      std::memcpy(buffers.packed.get() + place * block_bytes_, blocks + k * block_bytes_,
                  block_bytes_);
    }
    packed = buffers.packed.get();
  }
  MPI_Alltoallv(packed, send_counts_.data(), send_displs_.data(), block_, buffers.received.get(),
                receive_counts_.data(), receive_displs_.data(), block_, MPI_COMM_WORLD);
}

}  // namespace valet::bench
