// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Chunks: what a rank knows about the order of its elements. Elements carry no keys, so methods
/// that sort them keep a table of runs of consecutive elements. Pure.

#include <valet/ledger.hpp>

#include <cstdint>
#include <limits>
#include <span>

namespace valet::operations {

/// A run of elements, or of free slots, in the order of a sort: by destination, then origin, then
/// first. Free slots have destinations too and follow the elements that have the same one; they
/// take no memory.
struct Chunk {
  std::int32_t destination = 0;
  std::int32_t origin = 0;  ///< where these elements come from, or free_slot
  std::uint64_t first = 0;  ///< among the elements of that origin; 0 for free slots
  std::uint64_t count = 0;

  [[nodiscard]] bool operator==(const Chunk&) const = default;
};

constexpr std::int32_t free_slot = std::numeric_limits<std::int32_t>::max();

[[nodiscard]] inline bool is_free(const Chunk& chunk) { return chunk.origin == free_slot; }
[[nodiscard]] bool precedes(const Chunk& a, const Chunk& b);

/// A range of slots of a table: elements and free slots counted alike.
struct SlotRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

using Chunks = Vector<Chunk>;

/// Appends a chunk, or makes the last one longer where it continues it.
void append(Chunks& chunks, const Chunk& chunk);
/// Slots; elements among them; elements among the first `slots`.
[[nodiscard]] std::uint64_t slots_of(std::span<const Chunk> chunks);
[[nodiscard]] std::uint64_t elements_of(std::span<const Chunk> chunks);
[[nodiscard]] std::uint64_t elements_before(std::span<const Chunk> chunks, std::uint64_t slots);
/// Keeps the range, or everything else; two chunks more at the most.
void keep(Chunks& chunks, SlotRange range);
void remove(Chunks& chunks, SlotRange range);
/// How many of the lowest `slots` slots of two tables, with `slots` each, are in `high`.
[[nodiscard]] std::uint64_t lowest_in_second(std::span<const Chunk> low,
                                             std::span<const Chunk> high, std::uint64_t slots);

/// Calls each(chunk, of_first) for the chunks of two sorted tables, in order.
template <class Each>
void merge_chunks(std::span<const Chunk> first, std::span<const Chunk> second, Each&& each) {
  auto a = first.begin();
  auto b = second.begin();
  while (a != first.end() || b != second.end()) {
    const bool of_first = b == second.end() || (a != first.end() && !precedes(*b, *a));
    each(of_first ? *a : *b, of_first);
    ++(of_first ? a : b);
  }
}

}  // namespace valet::operations
