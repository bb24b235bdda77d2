// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure.hpp"
#include "patterns.hpp"
#include <valet/valet.hpp>

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

namespace valet::bench {

constexpr std::align_val_t page{4096};
struct Deallocate {
  void operator()(std::byte* memory) const { ::operator delete(memory, page); }
};
/// Whole pages, not initialised: the peers must not pay for first touches that their users avoid,
/// nor for a distance between two buffers that memcpy is slow at.
using Bytes = std::unique_ptr<std::byte, Deallocate>;

/// @throws Error invalid_argument where a block cannot hold the address that it starts at.
void require_room_for_address(std::size_t block_bytes);

/// One rank's blocks of a map and the three ways to bring them to their ranks. What returns seconds
/// or a verdict is collective over MPI_COMM_WORLD.
class BlockComparison {
 public:
  /// @param to_slots  Valet is given addresses; otherwise ranks.
  BlockComparison(const Map& map, std::size_t block_bytes, bool to_slots, const Options& options);

  /// Valet's options from now on.
  void use(const Options& options) { options_ = options; }
  /// Writes every block to the slot where it starts.
  void fill();

  double run_valet();
  /// Alltoallv into a second buffer, which is this rank's memory afterwards.
  double run_warm();
  /// The same when nothing is at hand: buffers are allocated, and given back.
  double run_cold();
  /// Bytes of the buffers that run_warm() keeps beside the blocks, on this rank.
  [[nodiscard]] std::uint64_t peer_bytes() const;

  /// Whether every block on this rank belongs here after run_valet(), is whole, and none was lost
  /// or doubled.
  [[nodiscard]] bool verified();
  /// What the last run_valet() did, for all ranks.
  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }

 private:
  std::byte* block(std::uint64_t slot) { return memory_.get() + slot * block_bytes_; }
  void prepare_peer();
  void exchange(std::byte* received, std::byte* packed);

  Map map_;
  std::size_t block_bytes_;
  bool to_slots_;
  Options options_;
  int rank_;
  std::uint64_t blocks_;
  Bytes memory_;
  std::vector<int> ranks_;  ///< destinations
  std::vector<Address> addresses_;
  bool packed_already_ = true;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<std::uint64_t> starts_;
  Bytes received_, packed_;
  Report report_;
};

}  // namespace valet::bench
