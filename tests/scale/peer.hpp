// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "patterns.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace valet::scale {

/// MPI_Alltoallv from one array into a second one, the peer of every measurement. Blocks that stay
/// are copied into the second array, those that leave are packed first unless they stand in the
/// order of their ranks, and those that arrive land in the second array.
class Peer {
 public:
  /// Collective over MPI_COMM_WORLD.
  Peer(const Pattern& pattern, const Part& part, std::size_t block_bytes, double copy_bandwidth);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  /// One exchange, with the algorithm that smpirun was told (--cfg=smpi/alltoallv:NAME).
  /// Collective.
  void exchange();

 private:
  std::vector<int> send_counts_, send_displs_, receive_counts_, receive_displs_;
  std::uint64_t copied_bytes_ = 0;
  double copy_bandwidth_;
  std::size_t sent_bytes_ = 0;
  std::byte* memory_ = nullptr;  ///< what is sent, then what is received
};

}  // namespace valet::scale
