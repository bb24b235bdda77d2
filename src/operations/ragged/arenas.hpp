// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What moves under one map: the bytes of blocks, their lengths, and columns beside them, each an
/// arena of its own in which blocks follow each other.

#include "base/sizes.hpp"
#include "plan/map_counts.hpp"
#include <valet/ledger.hpp>
#include <valet/ragged_storage.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace valet::ragged {

/// @param alignment  A power of two.
[[nodiscard]] constexpr std::uint64_t aligned(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) & ~(alignment - 1);
}

/// An arena on this rank.
struct Arena {
  std::byte* data = nullptr;
  std::uint64_t capacity_bytes = 0;
  const std::uint64_t* lengths = nullptr;  ///< of the blocks; null where all have row_bytes
  std::uint64_t row_bytes = 0;
  std::uint64_t alignment_bytes = 1;
  bool has_offsets = false;  ///< in place of the lengths, until blocks move

  /// Bytes of a block alone.
  [[nodiscard]] std::uint64_t length_of(std::uint64_t block) const {
    if (lengths == nullptr) return row_bytes;
    return has_offsets ? lengths[block + 1] - lengths[block] : lengths[block];
  }
  /// The same with those that align the next one, to which rows and offsets are aligned as they
  /// are.
  [[nodiscard]] std::uint64_t bytes_of(std::uint64_t block) const {
    return aligned(length_of(block), alignment_bytes);
  }
};

/// That of a ragged field. Local.
[[nodiscard]] Arena arena_of(const RaggedField& field);
/// The arenas of a storage in the order in which they move: a ragged field before its lengths, by
/// which its blocks are found. @throws std::bad_alloc. Local.
[[nodiscard]] Vector<Arena> arenas_of(Ledger& ledger, const RaggedStorage& storage);

/// What is wrong with a storage that is to hold `count` blocks, if anything: before their lengths
/// are looked at. Local.
[[nodiscard]] std::optional<Diagnostic> check_ragged(const RaggedStorage& storage,
                                                     std::uint64_t count);

/// What is wrong with the lengths or offsets of `count` blocks, if anything. Local.
[[nodiscard]] std::optional<Diagnostic> check_lengths(const RaggedStorage& storage,
                                                      std::span<const Arena> arenas,
                                                      std::uint64_t count);

/// Makes lengths of the offsets of `count` blocks, which move as these do. Local.
void to_lengths(std::span<Arena> arenas, const RaggedStorage& storage, std::uint64_t count);
/// Makes offsets of the lengths again, which are of arenas that to_lengths() was called for. Local.
void to_offsets(std::span<const Arena> arenas, const RaggedStorage& storage, std::uint64_t count);

/// A number that is another, but for accidents, where a destination or a length is: in lengths or
/// offsets. Local.
[[nodiscard]] std::uint64_t fingerprint_of(std::span<const Arena> arenas,
                                           std::span<const int> ranks);

/// How messages call a ragged field.
[[nodiscard]] std::string name_of(const RaggedField& field, std::size_t number);

/// Blocks that go to a rank or come from it.
struct RankBlocks {
  int rank = 0;
  std::uint64_t blocks = 0;
};

/// The destinations of a map, ascending, and where a rank stands among them. No array over ranks.
class Destinations {
 public:
  explicit Destinations(Ledger& ledger) : peers_(ledger), entries_(ledger) {}

  /// Counts a block.
  void count(int rank) { ++entries_[rank].count; }
  /// To be called once, when all blocks are counted. @throws std::bad_alloc.
  void sort();
  /// Ascending by rank, this one included.
  [[nodiscard]] std::span<const RankBlocks> peers() const { return peers_; }
  /// Where a rank stands among the peers; their number where it does not.
  [[nodiscard]] std::size_t index_of(int rank) {
    const auto* const entry = entries_.known(rank);
    return entry == nullptr ? peers_.size() : static_cast<std::size_t>(entry->count);
  }

 private:
  Vector<RankBlocks> peers_;
  plan::DestinationCounts entries_;
};

/// Calls action(index, bytes) for the blocks of an arena from the first to the last; `index` as of
/// Destinations::index_of(), behind the last one for a block that is dropped. Block by block: where
/// neighbours go anywhere, to look for runs of them costs more.
template <class Action>
void for_each_block(const Arena& arena, std::span<const int> ranks, Destinations& destinations,
                    Action&& action) {
  for (std::size_t k = 0; k < ranks.size(); ++k)
    action(destinations.index_of(ranks[k]), arena.bytes_of(k));
}

}  // namespace valet::ragged
