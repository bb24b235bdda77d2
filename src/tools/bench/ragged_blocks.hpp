// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/names.hpp"
#include "benchmark.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace valet::bench {

enum class Lengths { uniform_4k, large, lognormal, one_giant };
constexpr std::array all_lengths{
    detail::Named{Lengths::uniform_4k, "uniform-4k"}, detail::Named{Lengths::large, "large"},
    detail::Named{Lengths::lognormal, "lognormal"}, detail::Named{Lengths::one_giant, "one-giant"}};

/// Blocks of different sizes, of which half leave: as many of each length come to a rank as leave
/// it, so that an arena is exactly full before and afterwards. On all ranks of MPI_COMM_WORLD.
class RaggedBlocks {
 public:
  /// Who comes first among the blocks of a rank afterwards. Those of one rank keep their order.
  enum class Sources {
    own_first,  ///< then by rank, as Valet has it
    by_rank,    ///< as MPI_Alltoallv has it
  };

  /// @param lengths      A name of all_lengths.
  /// @param arena_bytes  What the blocks of a rank fill: a multiple of the alignment.
  RaggedBlocks(const std::string& lengths, std::uint64_t arena_bytes, std::uint64_t alignment)
      : arena_bytes_(arena_bytes), alignment_(alignment) {
    const auto kind = detail::value_of(all_lengths, "lengths", lengths);
    std::mt19937_64 random(20261123);
    const auto others = static_cast<std::uint64_t>(world_size() - 1);
    std::uint64_t giant_bytes = kind == Lengths::one_giant ? arena_bytes / 2 : 0;
    for (std::uint64_t left = arena_bytes; left > 0;) {
      lengths_.push_back(std::min(left, next_length(kind, random, giant_bytes)));
      left -= padded(lengths_.back());
      const bool leaves = giant_bytes > 0 || random() % 2 == 0;
      distances_.push_back(leaves && others > 0 ? 1 + static_cast<int>(random() % others) : 0);
      giant_bytes = 0;
    }
    // A giant in the middle has neighbours on both sides.
    if (kind == Lengths::one_giant) {
      std::swap(lengths_.front(), lengths_[lengths_.size() / 2]);
      std::swap(distances_.front(), distances_[lengths_.size() / 2]);
    }
    for (std::uint64_t block = 0; block < lengths_.size(); ++block)
      ranks_.push_back(destination(world_rank(), block));
  }

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
  void fill(std::byte* arena) const {
    for (std::uint64_t block = 0; block < lengths_.size(); ++block) {
      content_of(world_rank(), block).write(arena, lengths_[block]);
      arena += padded(lengths_[block]);
    }
  }

  /// Whether all that come to this rank, and only those, are there with their lengths, in order,
  /// bit for bit.
  [[nodiscard]] bool arrived(const std::byte* arena, const std::uint64_t* lengths,
                             std::uint64_t count, Sources sources) const {
    std::vector<int> order;
    if (sources == Sources::own_first) order.push_back(world_rank());
    for (int rank = 0; rank < world_size(); ++rank)
      if (sources == Sources::by_rank || rank != world_rank()) order.push_back(rank);
    std::uint64_t found = 0;
    for (const int from : order)
      for (std::uint64_t block = 0; block < lengths_.size(); ++block) {
        if (destination(from, block) != world_rank()) continue;
        if (found == count || lengths[found] != lengths_[block] ||
            !content_of(from, block).matches(arena, lengths_[block]))
          return false;
        arena += padded(lengths_[block]);
        ++found;
      }
    return found == count;
  }

 private:
  /// The next length of a kind. The giant is the first block, so that dwarfs fill the rest.
  static std::uint64_t next_length(Lengths kind, std::mt19937_64& random,
                                   std::uint64_t giant_bytes) {
    const auto uniform = [&](std::uint64_t least, std::uint64_t most) {
      return std::uniform_int_distribution<std::uint64_t>(least, most)(random);
    };
    switch (kind) {
      case Lengths::uniform_4k: return uniform(0, 4096);
      case Lengths::large: return uniform(64 << 10, 1 << 20);
      case Lengths::lognormal:
        return static_cast<std::uint64_t>(
            std::lognormal_distribution<double>(std::log(200.0), 1.0)(random));
      case Lengths::one_giant: return giant_bytes > 0 ? giant_bytes : uniform(0, 4096);
    }
    return 0;
  }

  static Content content_of(int from, std::uint64_t block) {
    return Content(mixed((static_cast<std::uint64_t>(from) << 40) + block));
  }

  [[nodiscard]] int destination(int from, std::uint64_t block) const {
    return (from + distances_[block]) % world_size();
  }

  std::uint64_t arena_bytes_, alignment_;
  std::vector<std::uint64_t> lengths_;
  std::vector<int> distances_;  ///< to where blocks go, on every rank alike
  std::vector<int> ranks_;
};

struct RaggedBuffers {
  Bytes packed, received;
  std::unique_ptr<std::uint64_t[]> packed_lengths, received_lengths;
  std::uint64_t count = 0;  ///< of blocks that arrived
};

/// Blocks packed by destination, then MPI_Alltoallv of lengths and of bytes into a second arena:
/// what codes do without Valet.
class RaggedAlltoallv final : public OutOfPlace<RaggedBuffers> {
 public:
  /// @param arena  The blocks before; they and it must outlive this.
  RaggedAlltoallv(const RaggedBlocks& blocks, const std::byte* arena)
      : blocks_(blocks), arena_(arena) {}

  /// MPI_Alltoallv counts bytes, and where they begin, with int.
  /// @throws Error invalid_argument where they are more; the same on all ranks.
  static void require_countable(std::uint64_t arena_bytes) {
    if (arena_bytes > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
      refuse("--bytes is ", arena_bytes,
             ", but the MPI_Alltoallv to compare with counts bytes with int; give less than 2G");
  }

 private:
  [[nodiscard]] RaggedBuffers make_buffers() const override {
    const std::size_t count = blocks_.lengths().size();
    return {allocate(blocks_.arena_bytes()), allocate(blocks_.arena_bytes()),
            std::make_unique_for_overwrite<std::uint64_t[]>(count),
            std::make_unique_for_overwrite<std::uint64_t[]>(count), 0};
  }

  void exchange(RaggedBuffers& buffers) const override {
    const auto ranks = static_cast<std::size_t>(world_size());
    const std::vector<std::uint64_t>& lengths = blocks_.lengths();
    std::vector<int> block_counts(ranks, 0), byte_counts(ranks, 0);
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const auto to = static_cast<std::size_t>(blocks_.ranks()[k]);
      ++block_counts[to];
      byte_counts[to] += static_cast<int>(blocks_.padded(lengths[k]));
    }
    const Counts blocks(std::move(block_counts)), bytes(std::move(byte_counts));
    std::vector<int> next_block = blocks.begins, next_byte = bytes.begins;
    const std::byte* block = arena_;
    for (std::size_t k = 0; k < lengths.size(); ++k) {
      const auto to = static_cast<std::size_t>(blocks_.ranks()[k]);
      const std::uint64_t padded = blocks_.padded(lengths[k]);
      std::memcpy(buffers.packed.get() + next_byte[to], block, padded);
      buffers.packed_lengths[static_cast<std::size_t>(next_block[to]++)] = lengths[k];
      next_byte[to] += static_cast<int>(padded);
      block += padded;
    }
    const Counts blocks_in = arriving(blocks), bytes_in = arriving(bytes);
    alltoallv(buffers.packed_lengths.get(), blocks, buffers.received_lengths.get(), blocks_in,
              MPI_UINT64_T);
    alltoallv(buffers.packed.get(), bytes, buffers.received.get(), bytes_in, MPI_BYTE);
    buffers.count = blocks_in.all();
  }

  [[nodiscard]] bool verified(const RaggedBuffers& buffers) const override {
    return blocks_.arrived(buffers.received.get(), buffers.received_lengths.get(), buffers.count,
                           RaggedBlocks::Sources::by_rank);
  }

  const RaggedBlocks& blocks_;
  const std::byte* arena_;
};

}  // namespace valet::bench
