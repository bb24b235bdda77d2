// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "alltoallv.hpp"
#include "device_blocks.hpp"
#include <valet/mpi.hpp>

#include <array>
#include <cstdint>
#include <vector>

namespace valet::bench {

/// What a code without Valet knows before it sends: the slots of the blocks that leave, in the
/// order of their ranks, and of those that stay; how many go to and come from each rank.
/// Collective.
struct Shipment {
  explicit Shipment(const std::vector<int>& destinations);

  SlotList leaving;
  SlotList staying;
  std::vector<std::uint64_t> send_counts;     ///< by rank
  std::vector<std::uint64_t> receive_counts;  ///< by rank
};

/// Blocks out of place through pinned memory, as such pipelines are written by hand: kernels gather
/// a chunk on the device, which is copied to the host while MPI sends the one before; what arrives
/// takes the same way back, into a second array. Two chunks in either direction.
class StagedPipeline {
 public:
  /// @param staging_bytes  Pinned memory of all four chunks.
  StagedPipeline(BlockKind kind, std::uint64_t staging_bytes);

  /// Collective. Blocks that stay come first in `to`, then those of the other ranks.
  void run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to);

 private:
  /// Memory for one chunk; where kernels reach the host's memory, both parts are the same.
  struct Buffer {
    StagedWords staged;
    DeviceWords on_device;
  };
  /// Some of the blocks between this rank and another one.
  struct Chunk {
    int rank;
    std::uint64_t first;  ///< in the list of those that leave; the slot for those that arrive
    std::uint64_t blocks;
  };
  enum class Way { out, in };

  [[nodiscard]] std::vector<Chunk> chunks(const std::vector<std::uint64_t>& counts, Way way,
                                          std::uint64_t first_slot) const;
  void start_send(const BlockArrays& from, const Shipment& shipment, const Chunk& chunk,
                  Buffer& buffer, MPI_Request& request);
  void start_receive(const Chunk& chunk, Buffer& buffer, MPI_Request& request);
  void take_in(const Chunk& chunk, const Buffer& buffer, const BlockArrays& to);

  static constexpr std::size_t chunks_a_way = 2;

  std::size_t block_words_;
  std::uint64_t chunk_blocks_;
  std::array<Buffer, chunks_a_way> out_, in_;
  Space outward_, inward_;  ///< queues of their own on a device
  BlockType block_;
};

/// Blocks out of place through one buffer for all of them: packed on the device, copied to the
/// host, exchanged by MPI_Alltoallv, copied back and unpacked into a second array.
class FullBuffers {
 public:
  FullBuffers(BlockKind kind, const Shipment& shipment);

  /// Collective. Blocks are where StagedPipeline::run() brings them, in the order of their ranks.
  void run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to);

 private:
  std::size_t block_words_;
  StagedWords sent_, received_;
  DeviceWords packed_, arrived_;
  BlockType block_;
};

}  // namespace valet::bench
