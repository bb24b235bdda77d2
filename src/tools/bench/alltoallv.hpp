// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/mpi.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <vector>

namespace valet::bench {

constexpr std::align_val_t page{4096};
struct Deallocate {
  void operator()(std::byte* memory) const { ::operator delete(memory, page); }
};
/// Whole pages, not initialised: the peers must not pay for first touches that their users avoid,
/// nor for a distance between two buffers that memcpy is slow at.
using Bytes = std::unique_ptr<std::byte, Deallocate>;
[[nodiscard]] Bytes allocate(std::uint64_t bytes);

/// What MPI_Alltoallv is told of one side: how much for each rank, and where it begins.
struct Counts {
  explicit Counts(std::vector<int> of_ranks);
  explicit Counts(const std::vector<std::uint64_t>& of_ranks);
  [[nodiscard]] std::uint64_t all() const {
    return static_cast<std::uint64_t>(begins.back()) + static_cast<std::uint64_t>(counts.back());
  }
  std::vector<int> counts, begins;
};
/// What comes from each rank where this leaves. Collective over MPI_COMM_WORLD, as the next one.
[[nodiscard]] Counts arriving(const Counts& leaving);
void alltoallv(const void* from, const Counts& leaving, void* to, const Counts& coming,
               MPI_Datatype type);

/// The datatype of a block.
class BlockType {
 public:
  explicit BlockType(std::size_t bytes);
  BlockType(const BlockType&) = delete;
  BlockType& operator=(const BlockType&) = delete;
  ~BlockType() { MPI_Type_free(&type_); }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// MPI_Alltoallv of blocks into a second buffer, the peer of every measurement. What returns
/// seconds is collective over MPI_COMM_WORLD.
class Alltoallv {
 public:
  /// Blocks in the order of their ranks.
  /// @param send_blocks  For each rank, blocks that this rank sends to it, itself included.
  Alltoallv(const std::vector<std::uint64_t>& send_blocks, std::size_t block_bytes);
  /// Blocks in any order; packed first unless all ranks have them in the order of their ranks.
  /// @param destinations  Rank of each block; must outlive this.
  Alltoallv(std::span<const int> destinations, std::size_t block_bytes);

  /// Into a buffer that is at hand and has been touched.
  double run_warm(const std::byte* blocks);
  /// The same when nothing is at hand: buffers are allocated, and given back.
  double run_cold(const std::byte* blocks) const;
  /// Bytes of the buffers of run_warm() on this rank.
  [[nodiscard]] std::uint64_t bytes() const { return received_bytes() + packed_bytes(); }

 private:
  struct Buffers {
    Bytes received, packed;
  };
  [[nodiscard]] std::uint64_t received_bytes() const { return coming_.all() * block_bytes_; }
  [[nodiscard]] std::uint64_t packed_bytes() const { return unpacked_.size() * block_bytes_; }
  [[nodiscard]] Buffers make_buffers() const {
    return {allocate(received_bytes()), allocate(packed_bytes())};
  }
  void exchange(const std::byte* blocks, const Buffers& buffers) const;

  std::size_t block_bytes_;
  BlockType block_;
  Counts leaving_, coming_;
  std::span<const int> unpacked_;  ///< destinations of blocks in any order
  Buffers warm_;
};

}  // namespace valet::bench
