// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Random blocks of different sizes with a map, generated alike on all ranks, and what each rank
/// must hold afterwards. The bytes of a block follow from its name: the rank and the number that it
/// had before.

#include "guarded_bytes.hpp"
#include "oracle.hpp"
#include "random_maps.hpp"
#include "test_comm.hpp"

namespace valet::test {

/// A block of the whole problem.
struct RaggedBlock {
  std::uint64_t length = 0;
  int from = 0;
  std::uint64_t number = 0;  ///< on that rank
  int to = 0;

  [[nodiscard]] std::uint64_t name() const {
    return (static_cast<std::uint64_t>(from) << 32) + number;
  }
  [[nodiscard]] std::byte byte(std::uint64_t k) const {
    const std::uint64_t word = (name() * 0x9E3779B97F4A7C15U) ^ ((k / 8 + 1) * 0xD1B54A32D192ED03U);
    return static_cast<std::byte>(word >> (8 * (k % 8)));
  }
  void write(std::byte* to_bytes) const {
    for (std::uint64_t k = 0; k < length; ++k) to_bytes[k] = byte(k);
  }
  [[nodiscard]] bool is_at(const std::byte* bytes) const {
    for (std::uint64_t k = 0; k < length; ++k)
      if (bytes[k] != byte(k)) return false;
    return true;
  }
};

using RaggedBlocks = std::vector<RaggedBlock>;

[[nodiscard]] inline std::uint64_t padded(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

[[nodiscard]] inline std::uint64_t bytes_of(const RaggedBlocks& blocks, std::uint64_t alignment) {
  std::uint64_t bytes = 0;
  for (const RaggedBlock& block : blocks) bytes += padded(block.length, alignment);
  return bytes;
}

/// All blocks of all ranks.
struct RaggedCase {
  std::vector<RaggedBlocks> before;  ///< by rank
  std::uint64_t alignment = 1;

  /// What a rank must hold: blocks that stay in old order, then the others by rank and number.
  [[nodiscard]] RaggedBlocks after(int rank) const {
    std::vector<std::vector<int>> to;
    for (const RaggedBlocks& source : before) {
      to.emplace_back();
      for (const RaggedBlock& block : source) to.back().push_back(block.to);
    }
    const GlobalContent content = content_by_ranks(map_to(to), Order::stable, 1);
    RaggedBlocks blocks;
    for (const auto& from : row_of(content, rank))
      if (from) blocks.push_back(row_of(before, from->rank)[from->slot]);
    return blocks;
  }
};

/// The arrays of one rank.
struct RaggedArrays {
  RaggedArrays(const RaggedBlocks& blocks, std::uint64_t alignment_bytes, std::uint64_t capacity,
               std::uint64_t block_capacity)
      : alignment(alignment_bytes),
        arena(capacity),
        lengths(block_capacity),
        names(block_capacity) {
    fill(blocks);
    for (const RaggedBlock& block : blocks) ranks.push_back(block.to);
  }

  void fill(const RaggedBlocks& blocks) {
    std::byte* next = arena.bytes().data();
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      blocks[k].write(next);
      next += padded(blocks[k].length, alignment);
      lengths[k] = blocks[k].length;
      names[k] = blocks[k].name();
    }
  }

  [[nodiscard]] RaggedField field() {
    RaggedField result = ragged_field(arena.bytes(), std::span(lengths));
    result.alignment_bytes = alignment;
    return result;
  }
  /// With the names in a column.
  [[nodiscard]] RaggedStorage storage() { return {{field()}, {valet::field(names)}}; }

  /// RaggedBlocks that are not where they must be, and bytes of others that were written.
  [[nodiscard]] long long wrong(const RaggedBlocks& blocks) {
    long long count = arena.is_intact() ? 0 : 1;
    const std::byte* next = arena.bytes().data();
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      const bool is_right =
          lengths[k] == blocks[k].length && names[k] == blocks[k].name() && blocks[k].is_at(next);
      count += is_right ? 0 : 1;
      next += padded(blocks[k].length, alignment);
    }
    return count;
  }

  std::uint64_t alignment;
  GuardedBytes arena;
  std::vector<std::uint64_t> lengths, names;
  std::vector<int> ranks;
};

/// The blocks of this rank before and afterwards, and the room that both need.
struct OwnBlocks {
  explicit OwnBlocks(const RaggedCase& c)
      : before(row_of(c.before, rank())),
        after(c.after(rank())),
        alignment(c.alignment),
        bytes(std::max(bytes_of(before, alignment), bytes_of(after, alignment))),
        count(std::max(before.size(), after.size())) {}
  [[nodiscard]] RaggedArrays arrays() const { return {before, alignment, bytes, count}; }

  RaggedBlocks before, after;
  std::uint64_t alignment, bytes, count;
};

/// Lengths of a kind: tiny, mostly zero, a page and its neighbours, mixtures, a giant.
[[nodiscard]] inline std::uint64_t random_length(std::mt19937_64& random, std::uint64_t kind) {
  switch (kind) {
    case 0: return pick(random, 0, 40);
    case 1: return pick(random, 0, 3) == 0 ? pick(random, 0, 900) : 0;
    case 2: return 512 * pick(random, 1, 3) + pick(random, 0, 2) - 1;
    case 3: return pick(random, 0, 9) == 0 ? pick(random, 0, 20'000) : pick(random, 0, 100);
    case 4: return pick(random, 0, 3000);
    default: return 64 * pick(random, 0, 20);
  }
}

[[nodiscard]] inline RaggedCase random_case(std::mt19937_64& random, int ranks) {
  RaggedCase result;
  result.alignment = std::uint64_t{1} << pick(random, 0, 6);
  const std::uint64_t kind = pick(random, 0, 5), pattern = pick(random, 0, 4),
                      most = pick(random, 0, 2) == 0 ? 6 : 120;
  const auto all = static_cast<std::uint64_t>(ranks);
  for (std::uint64_t r = 0; r < all; ++r) {
    RaggedBlocks blocks;
    const std::uint64_t count = pick(random, 0, 4) == 0 ? 0 : pick(random, 0, most);
    for (std::uint64_t k = 0; k < count; ++k) {
      const std::uint64_t to = pattern == 0              ? pick(random, 0, all - 1)
                               : pattern == 1            ? (r + 1) % all
                               : pattern == 2            ? 0
                               : pattern == 3            ? r
                               : pick(random, 0, 1) == 0 ? r
                                                         : pick(random, 0, all - 1);
      blocks.push_back({random_length(random, kind), static_cast<int>(r), k, static_cast<int>(to)});
    }
    result.before.push_back(std::move(blocks));
  }
  if (pick(random, 0, 9) == 0)  // one giant among dwarfs
    for (RaggedBlocks& blocks : result.before)
      if (!blocks.empty()) {
        blocks[pick(random, 0, blocks.size() - 1)].length =
            pick(random, 100'000, std::uint64_t{1} << 20);
        break;
      }
  return result;
}

}  // namespace valet::test
