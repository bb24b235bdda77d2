// SPDX-License-Identifier: BSD-3-Clause
#include "operations/alltoall/chunks.hpp"

#include <algorithm>
#include <tuple>

namespace valet::operations {
namespace {

Chunk part_of(const Chunk& chunk, std::uint64_t skip, std::uint64_t count) {
  return {chunk.destination, chunk.origin, is_free(chunk) ? 0 : chunk.first + skip, count};
}

}  // namespace

bool precedes(const Chunk& a, const Chunk& b) {
  return std::tie(a.destination, a.origin, a.first) < std::tie(b.destination, b.origin, b.first);
}

void append(Chunks& chunks, const Chunk& chunk) {
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

std::uint64_t slots_of(std::span<const Chunk> chunks) {
  std::uint64_t slots = 0;
  for (const Chunk& chunk : chunks) slots += chunk.count;
  return slots;
}

std::uint64_t elements_of(std::span<const Chunk> chunks) {
  return elements_before(chunks, std::numeric_limits<std::uint64_t>::max());
}

std::uint64_t elements_before(std::span<const Chunk> chunks, std::uint64_t slots) {
  std::uint64_t elements = 0;
  for (const Chunk& chunk : chunks) {
    const std::uint64_t count = std::min(chunk.count, slots);
    if (!is_free(chunk)) elements += count;
    slots -= count;
    if (slots == 0) break;
  }
  return elements;
}

void keep(Chunks& chunks, SlotRange range) {
  remove(chunks, {range.begin + range.count, std::numeric_limits<std::uint64_t>::max() / 2});
  remove(chunks, {0, range.begin});
}

void remove(Chunks& chunks, SlotRange range) {
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

std::uint64_t lowest_in_second(std::span<const Chunk> low, std::span<const Chunk> high,
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
