// SPDX-License-Identifier: BSD-3-Clause
#include "peer.hpp"

#include "charged_blocks.hpp"
#include "folded_memory.hpp"
#include "mpi/check.hpp"
#include <valet/mpi.hpp>

#include <numeric>

namespace valet::scale {
namespace {

std::vector<int> displacements(const std::vector<int>& counts) {
  std::vector<int> displs(counts.size(), 0);
  std::partial_sum(counts.begin(), counts.end() - 1, displs.begin() + 1);
  return displs;
}

std::size_t sum(const std::vector<int>& counts) {
  return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0LL));
}

}  // namespace

Peer::Peer(const Pattern& pattern, const Part& part, std::size_t block_bytes, double copy_bandwidth)
    : send_counts_(static_cast<std::size_t>(part.ranks), 0),
      receive_counts_(static_cast<std::size_t>(part.ranks), 0),
      copy_bandwidth_(copy_bandwidth) {
  const int bytes = mpi::checked_count(block_bytes);
  std::uint64_t leave = 0;
  bool in_order = true;
  for (std::uint64_t slot = 0, last = 0; slot < part.blocks; ++slot) {
    const auto to = static_cast<std::size_t>(pattern.destination(part, slot).rank);
    in_order = in_order && to >= last;
    last = to;
    if (static_cast<int>(to) == part.rank) continue;
    send_counts_[to] += bytes;
    ++leave;
  }
  copied_bytes_ = (part.blocks - leave + (in_order ? 0 : leave)) * block_bytes;
  MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT, MPI_COMM_WORLD);
  send_displs_ = displacements(send_counts_);
  receive_displs_ = displacements(receive_counts_);
  sent_bytes_ = sum(send_counts_);
  memory_ = FoldedMemory::reserve(sent_bytes_ + sum(receive_counts_) + 1);
}

void Peer::exchange() {
  charge_copy(copied_bytes_, copy_bandwidth_);
  mpi::check(MPI_Alltoallv(memory_, send_counts_.data(), send_displs_.data(), MPI_BYTE,
                           memory_ + sent_bytes_, receive_counts_.data(), receive_displs_.data(),
                           MPI_BYTE, MPI_COMM_WORLD),
             "MPI_Alltoallv");
}

}  // namespace valet::scale
