// SPDX-License-Identifier: BSD-3-Clause
#include "alltoallv.hpp"

#include "measure.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

namespace valet::bench {
namespace {

std::vector<int> as_counts(const std::vector<std::uint64_t>& blocks) {
  std::vector<int> counts(blocks.size());
  std::ranges::transform(blocks, counts.begin(), mpi::checked_count);
  return counts;
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

Counts::Counts(std::vector<int> of_ranks) : counts(std::move(of_ranks)), begins(counts.size()) {
  std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), 0);
}

Counts::Counts(const std::vector<std::uint64_t>& of_ranks) : Counts(as_counts(of_ranks)) {}

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

Alltoallv::Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes)
    : block_bytes_(block_bytes),
      block_(block_bytes),
      leaving_(send_blocks),
      coming_(arriving(leaving_)) {}

Alltoallv::Alltoallv(std::span<const int> destinations, std::size_t block_bytes)
    : Alltoallv(count_by_rank(destinations), block_bytes) {
  if (!on_all_ranks(std::ranges::is_sorted(destinations))) unpacked_ = destinations;
}

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
    std::vector<int> next = leaving_.begins;
    for (std::size_t k = 0; k < unpacked_.size(); ++k) {
      const auto place = static_cast<std::size_t>(next[static_cast<std::size_t>(unpacked_[k])]++);
      std::memcpy(buffers.packed.get() + place * block_bytes_, blocks + k * block_bytes_,
                  block_bytes_);
    }
    packed = buffers.packed.get();
  }
  alltoallv(packed, leaving_, buffers.received.get(), coming_, block_.get());
}

}  // namespace valet::bench
