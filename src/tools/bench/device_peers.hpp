// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What codes do on a device without Valet: blocks out of place, into a second array.

#include "device_blocks.hpp"
#include "measure.hpp"
#include "mpi/check.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace valet::bench {

/// What a code without Valet knows before it sends: the slots of the blocks that leave, in the
/// order of their ranks, and of those that stay; how many go to and come from each rank.
/// Collective.
struct Shipment {
  explicit Shipment(const std::vector<int>& destinations)
      : sends(counts_of(destinations)), receives(arriving(sends)) {
    std::vector<std::uint32_t> leaves(sends.all()), stays;
    stays.reserve(destinations.size() - leaves.size());
    std::vector<int> next = sends.begins;
    for (std::uint32_t slot = 0; slot < destinations.size(); ++slot)
      if (destinations[slot] == world_rank())
        stays.push_back(slot);
      else
        leaves[static_cast<std::size_t>(next[static_cast<std::size_t>(destinations[slot])]++)] =
            slot;
    leaving = on_device(leaves);
    staying = on_device(stays);
  }

  Counts sends, receives;  ///< without those that stay
  SlotList leaving;
  SlotList staying;

 private:
  static Counts counts_of(const std::vector<int>& destinations) {
    std::vector<std::uint64_t> counts = count_by_rank(destinations);
    counts[static_cast<std::size_t>(world_rank())] = 0;
    return Counts(counts);
  }
  static SlotList on_device(const std::vector<std::uint32_t>& slots) {
    using HostSlots = Kokkos::View<const std::uint32_t*, Kokkos::HostSpace,
                                   Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
    SlotList list(Kokkos::view_alloc(Kokkos::WithoutInitializing, "valet_bench::slots"),
                  slots.size());
    Kokkos::deep_copy(list, HostSlots(slots.data(), slots.size()));
    return list;
  }
};

/// Memory for packed blocks; where kernels use the host's memory anyway, both parts are the same.
class PackedBlocks {
 public:
  PackedBlocks() = default;
  explicit PackedBlocks(std::uint64_t words) : staged_("valet_bench::staged", words) {
    if constexpr (is_shared)
      on_device_ = staged_;
    else
      on_device_ = DeviceWords("valet_bench::packed", words);
  }

  [[nodiscard]] std::uint64_t* staged() const { return staged_.data(); }
  [[nodiscard]] std::uint64_t* on_device() const { return on_device_.data(); }
  /// Queue copies of the first words.
  void to_host(const Space& space, std::uint64_t words) const {
    copy(space, staged_, on_device_, words);
  }
  void to_device(const Space& space, std::uint64_t words) const {
    copy(space, on_device_, staged_, words);
  }

 private:
  static constexpr bool is_shared = std::is_same_v<HostStaging, DeviceMemory>;

  template <class To, class From>
  static void copy(const Space& space, const To& to, const From& from, std::uint64_t words) {
    if (is_shared) return;
    const auto part = Kokkos::make_pair(std::uint64_t{0}, words);
    Kokkos::deep_copy(space, Kokkos::subview(to, part), Kokkos::subview(from, part));
  }

  StagedWords staged_;
  DeviceWords on_device_;
};

/// Blocks out of place through pinned memory, as such pipelines are written by hand: kernels gather
/// a chunk on the device, which is copied to the host while MPI sends the one before; what arrives
/// takes the same way back, into a second array. Two chunks in either direction.
class StagedPipeline {
 public:
  /// @param staging_bytes  Pinned memory of all four chunks.
  StagedPipeline(BlockKind kind, std::uint64_t staging_bytes)
      : block_words_(words_of(kind)),
        chunk_blocks_(std::max<std::uint64_t>(
            staging_bytes / (2 * chunks_a_way) / (block_words_ * sizeof(Word)), 1)),
        block_(block_words_ * sizeof(Word)) {
    for (auto* const way : {&out_, &in_})
      for (PackedBlocks& chunk : *way) chunk = PackedBlocks(chunk_blocks_ * block_words_);
#if KOKKOS_VERSION >= 40000
    // Two queues of the device, so that what leaves and what arrives do not wait for each other.
    if constexpr (!Kokkos::SpaceAccessibility<Kokkos::HostSpace, DeviceMemory>::accessible) {
      const auto queues = Kokkos::Experimental::partition_space(Space(), 1, 1);
      outward_ = queues[0];
      inward_ = queues[1];
    }
#endif
  }

  /// Collective. Blocks that stay come first in `to`, then those of the other ranks.
  void run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to) {
    const auto sends = chunks(shipment.sends, Way::out, 0);
    const auto receives = chunks(shipment.receives, Way::in, shipment.staying.extent(0));
    std::array<MPI_Request, chunks_a_way + 1> requests;
    requests.fill(MPI_REQUEST_NULL);
    constexpr std::size_t receive = chunks_a_way;  // the others are the buffers that are being sent
    std::size_t sent = 0, received = 0;
    if (!receives.empty()) start_receive(receives[0], in_[0], requests[receive]);
    keep(inward_, from, shipment.staying, to);
    for (;;) {
      for (std::size_t b = 0; b < out_.size(); ++b)
        if (requests[b] == MPI_REQUEST_NULL && sent < sends.size())
          start_send(from, shipment, sends[sent++], out_[b], requests[b]);
      int which = MPI_UNDEFINED;
      MPI_Waitany(static_cast<int>(requests.size()), requests.data(), &which, MPI_STATUS_IGNORE);
      if (which == MPI_UNDEFINED) break;
      if (which != static_cast<int>(receive)) continue;
      // The other buffer is free once its chunk is in the array; then it receives the next chunk
      // while this one is on its way there.
      inward_.fence();
      const std::size_t arrived = received++;
      if (received < receives.size())
        start_receive(receives[received], in_[received % chunks_a_way], requests[receive]);
      take_in(receives[arrived], in_[arrived % chunks_a_way], to);
    }
    inward_.fence();
  }

 private:
  /// Some of the blocks between this rank and another one.
  struct Chunk {
    int rank;
    std::uint64_t first;  ///< in the list of those that leave; the slot for those that arrive
    std::uint64_t blocks;
  };
  enum class Way { out, in };

  /// In the order of the distance between the ranks, so that no rank is everyone's first.
  [[nodiscard]] std::vector<Chunk> chunks(const Counts& blocks, Way way,
                                          std::uint64_t first_slot) const {
    const std::size_t ranks = blocks.counts.size();
    const auto self = static_cast<std::size_t>(world_rank());
    std::vector<Chunk> chunks;
    for (std::size_t distance = 1; distance < ranks; ++distance) {
      const std::size_t rank = (self + (way == Way::out ? distance : ranks - distance)) % ranks;
      const auto count = static_cast<std::uint64_t>(blocks.counts[rank]);
      const std::uint64_t first = first_slot + static_cast<std::uint64_t>(blocks.begins[rank]);
      for (std::uint64_t done = 0; done < count; done += chunk_blocks_)
        chunks.push_back(
            {static_cast<int>(rank), first + done, std::min(chunk_blocks_, count - done)});
    }
    return chunks;
  }

  void start_send(const BlockArrays& from, const Shipment& shipment, const Chunk& chunk,
                  const PackedBlocks& packed, MPI_Request& request) {
    gather(outward_, from, shipment.leaving, chunk.first, chunk.blocks, packed.on_device());
    packed.to_host(outward_, chunk.blocks * block_words_);
    outward_.fence();
    MPI_Isend(packed.staged(), mpi::checked_count(chunk.blocks), block_.get(), chunk.rank, 0,
              MPI_COMM_WORLD, &request);
  }
  void start_receive(const Chunk& chunk, const PackedBlocks& packed, MPI_Request& request) {
    MPI_Irecv(packed.staged(), mpi::checked_count(chunk.blocks), block_.get(), chunk.rank, 0,
              MPI_COMM_WORLD, &request);
  }
  void take_in(const Chunk& chunk, const PackedBlocks& packed, const BlockArrays& to) {
    packed.to_device(inward_, chunk.blocks * block_words_);
    scatter(inward_, packed.on_device(), chunk.blocks, to, chunk.first);
  }

  static constexpr std::size_t chunks_a_way = 2;

  std::size_t block_words_;
  std::uint64_t chunk_blocks_;
  std::array<PackedBlocks, chunks_a_way> out_, in_;
  Space outward_, inward_;  ///< queues of their own on a device
  BlockType block_;
};

/// Blocks out of place through one buffer for all of them: packed on the device, copied to the
/// host, exchanged by MPI_Alltoallv, copied back and unpacked into a second array.
class FullBuffers {
 public:
  FullBuffers(BlockKind kind, const Shipment& shipment)
      : block_words_(words_of(kind)),
        out_(shipment.leaving.extent(0) * block_words_),
        in_(shipment.receives.all() * block_words_),
        block_(block_words_ * sizeof(Word)) {}

  /// Collective. Blocks are where StagedPipeline::run() brings them, in the order of their ranks.
  void run(const BlockArrays& from, const Shipment& shipment, const BlockArrays& to) {
    const Space space;
    const std::uint64_t leaving = shipment.leaving.extent(0);
    gather(space, from, shipment.leaving, 0, leaving, out_.on_device());
    out_.to_host(space, leaving * block_words_);
    space.fence();
    keep(space, from, shipment.staying, to);
    alltoallv(out_.staged(), shipment.sends, in_.staged(), shipment.receives, block_.get());
    const std::uint64_t arriving = shipment.receives.all();
    in_.to_device(space, arriving * block_words_);
    scatter(space, in_.on_device(), arriving, to, shipment.staying.extent(0));
    space.fence();
  }

 private:
  std::size_t block_words_;
  PackedBlocks out_, in_;
  BlockType block_;
};

}  // namespace valet::bench
