// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Chunks: what a rank knows about the order of its elements. Elements carry no keys, so methods
/// that sort them keep a table of runs of consecutive elements. Pure.

#include <valet/ledger.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <tuple>

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
[[nodiscard]] inline bool precedes(const Chunk& a, const Chunk& b) {
  return std::tie(a.destination, a.origin, a.first) < std::tie(b.destination, b.origin, b.first);
}

/// A range of slots of a table: elements and free slots counted alike.
struct SlotRange {
  std::uint64_t begin = 0;
  std::uint64_t count = 0;
};

using Chunks = Vector<Chunk>;

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

/// Appends a chunk, or makes the last one longer where it continues it.
inline void append(Chunks& chunks, const Chunk& chunk) {
  if (chunk.count == 0) return;
  if (!chunks.empty()) {
    Chunk& last = chunks.back();
    const bool same = last.destination == chunk.destination && last.origin == chunk.origin;
    if (same && (is_free(chunk) || last.first + last.count == chunk.first)) {
      last.count += chunk.count;
      return;
    }
  }
  chunks.push_back(chunk);
}

/// Slots; elements among the first `slots`; all elements.
[[nodiscard]] inline std::uint64_t slots_of(std::span<const Chunk> chunks) {
  std::uint64_t slots = 0;
  for (const Chunk& chunk : chunks) slots += chunk.count;
  return slots;
}
[[nodiscard]] inline std::uint64_t elements_before(std::span<const Chunk> chunks,
                                                   std::uint64_t slots) {
  std::uint64_t elements = 0;
  for (const Chunk& chunk : chunks) {
    const std::uint64_t count = std::min(chunk.count, slots);
    if (!is_free(chunk)) elements += count;
    slots -= count;
    if (slots == 0) break;
  }
  return elements;
}
[[nodiscard]] inline std::uint64_t elements_of(std::span<const Chunk> chunks) {
  return elements_before(chunks, std::numeric_limits<std::uint64_t>::max());
}

/// `count` slots of a chunk, behind the first `skip`.
[[nodiscard]] inline Chunk part_of(const Chunk& chunk, std::uint64_t skip, std::uint64_t count) {
  return {chunk.destination, chunk.origin, is_free(chunk) ? 0 : chunk.first + skip, count};
}

/// Removes the range, or everything else; two chunks more at the most.
inline void remove(Chunks& chunks, SlotRange range) {
  const std::uint64_t end = range.begin + range.count;
  std::uint64_t at = 0;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < chunks.size(); ++k) {
    const Chunk chunk = chunks[k];
    const std::uint64_t before = range.begin > at ? std::min(chunk.count, range.begin - at) : 0;
    const std::uint64_t behind =
        at + chunk.count > end ? std::min(chunk.count, at + chunk.count - end) : 0;
    at += chunk.count;
    if (before == chunk.count || behind == chunk.count) {
      chunks[kept++] = chunk;
      continue;
    }
    if (before > 0) chunks[kept++] = part_of(chunk, 0, before);
    if (behind == 0) continue;
    const Chunk rest = part_of(chunk, chunk.count - behind, behind);
    if (kept <= k)
      chunks[kept++] = rest;
    else
      chunks.insert(chunks.begin() + static_cast<std::ptrdiff_t>(kept++), rest), ++k;
  }
  chunks.resize(kept);
}
inline void keep(Chunks& chunks, SlotRange range) {
  remove(chunks, {range.begin + range.count, std::numeric_limits<std::uint64_t>::max() / 2});
  remove(chunks, {0, range.begin});
}

/// How many of the lowest `slots` slots of two tables, with `slots` each, are in `high`.
[[nodiscard]] inline std::uint64_t lowest_in_second(std::span<const Chunk> low,
                                                    std::span<const Chunk> high,
                                                    std::uint64_t slots) {
  std::uint64_t in_second = 0;
  merge_chunks(low, high, [&](const Chunk& chunk, bool of_first) {
    const std::uint64_t count = std::min(chunk.count, slots);
    slots -= count;
    if (!of_first) in_second += count;
  });
  return in_second;
}

}  // namespace valet::operations
