// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "benchmark.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace valet::bench {

/// What parse_lengths() knows.
[[nodiscard]] std::vector<std::string> all_lengths();

/// Blocks of different sizes, of which half leave: as many of each length come to a rank as leave
/// it, so that an arena is exactly full before and afterwards. On all ranks of MPI_COMM_WORLD.
class RaggedBlocks {
 public:
  /// Who comes first among the blocks of a rank afterwards. Those of one rank keep their order.
  enum class Sources {
    own_first,  ///< then by rank, as Valet has it
    by_rank,    ///< as MPI_Alltoallv has it
  };

  /// @param lengths      One of all_lengths().
  /// @param arena_bytes  What the blocks of a rank fill: a multiple of the alignment.
  RaggedBlocks(const std::string& lengths, std::uint64_t arena_bytes, std::uint64_t alignment);

  [[nodiscard]] std::uint64_t arena_bytes() const { return arena_bytes_; }
  [[nodiscard]] std::uint64_t alignment() const { return alignment_; }
  /// The lengths of the blocks of this rank, and of every other, before.
  [[nodiscard]] const std::vector<std::uint64_t>& lengths() const { return lengths_; }
  /// Where the blocks of this rank go.
  [[nodiscard]] const std::vector<int>& ranks() const { return ranks_; }
  /// What a block of this length takes in an arena.
  [[nodiscard]] std::uint64_t padded(std::uint64_t length) const {
    return (length + alignment_ - 1) / alignment_ * alignment_;
  }

  /// Writes the blocks of this rank as they are before.
  void fill(std::byte* arena) const;
  /// Whether all that come to this rank, and only those, are there with their lengths, in order,
  /// bit for bit.
  [[nodiscard]] bool arrived(const std::byte* arena, const std::uint64_t* lengths,
                             std::uint64_t count, Sources sources) const;

 private:
  [[nodiscard]] int destination(int from, std::uint64_t block) const;

  std::uint64_t arena_bytes_, alignment_;
  std::vector<std::uint64_t> lengths_;
  std::vector<int> distances_;  ///< to where blocks go, on every rank alike
  std::vector<int> ranks_;
};

/// Blocks packed by destination, then MPI_Alltoallv of lengths and of bytes into a second arena:
/// what codes do without Valet. Collective over MPI_COMM_WORLD.
class RaggedAlltoallv {
 public:
  /// @param arena  The blocks before; they and it must outlive this.
  RaggedAlltoallv(const RaggedBlocks& blocks, const std::byte* arena)
      : blocks_(blocks), arena_(arena) {}
  /// MPI_Alltoallv counts bytes, and where they begin, with int.
  /// @throws Error invalid_argument where they are more; the same on all ranks.
  static void require_countable(std::uint64_t arena_bytes);

  /// Into buffers that are at hand and have been touched.
  Outcome run_warm();
  /// The same when nothing is at hand: buffers are allocated, and given back.
  [[nodiscard]] Outcome run_cold() const;

 private:
  struct Buffers {
    Bytes packed, received;
    std::unique_ptr<std::uint64_t[]> packed_lengths, received_lengths;
  };
  [[nodiscard]] Buffers make_buffers() const;
  /// @return Blocks that arrived.
  std::uint64_t exchange(const Buffers& buffers) const;
  /// On all ranks.
  [[nodiscard]] bool verified(const Buffers& buffers, std::uint64_t count) const;

  const RaggedBlocks& blocks_;
  const std::byte* arena_;
  Buffers warm_;
};

}  // namespace valet::bench
