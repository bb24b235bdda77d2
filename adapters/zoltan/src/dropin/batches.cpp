// SPDX-License-Identifier: BSD-3-Clause
#include "batches.hpp"

#include <algorithm>

namespace valet::zoltan {
namespace {

constexpr std::uint64_t kibibyte = 1024;
/// Bytes of one message. A batch whose objects go to several ranks has as much for each of them,
/// because every wait for a message of a batch costs a change of the running process on a shared
/// core.
constexpr std::uint64_t cache_batch = 256 * kibibyte;
constexpr std::uint64_t least_data = 8 * kibibyte;

/// What a batch has for a destination should fit a slot of memory shared on a node, also where its
/// objects go to several ones by chance.
std::uint64_t hold_batch(std::uint64_t chunk, std::uint64_t destinations) {
  return destinations < 2 ? chunk : destinations * (chunk - chunk / 4);
}

}  // namespace

std::uint64_t sum_of(std::span<const int> sizes) {
  std::uint64_t sum = 0;
  for (const int size : sizes) sum += static_cast<std::uint64_t>(plain_size(size));
  return sum;
}

std::uint64_t batch_end(std::span<const int> sizes, std::uint64_t first, std::uint64_t limit,
                        std::uint64_t object_bytes) {
  std::uint64_t cost = 0;
  std::uint64_t end = first;
  while (end < sizes.size()) {
    cost += static_cast<std::uint64_t>(plain_size(sizes[end])) + object_bytes;
    if (cost > limit && end > first) break;
    ++end;
  }
  return end;
}

std::uint64_t chunk_for(std::uint64_t smallest_memory) {
  const std::uint64_t data = std::clamp(smallest_memory / 16, kibibyte, cache_batch);
  // The lists of objects count as well: without room for them, four objects of a quarter of the
  // data would be three. Whole cache lines, so that objects in shared slots are aligned.
  return (data + data / 32) / 64 * 64;
}

Scratch divide_scratch(const ScratchWish& wish) {
  Scratch scratch;
  scratch.budget =
      std::max(least_data, wish.memory > wish.transport ? wish.memory - wish.transport : 0);
  scratch.chunk = chunk_for(wish.smallest_memory);
  const std::uint64_t half = scratch.budget / 2;
  const std::uint64_t messages = std::min(half, 2 * scratch.chunk + 2 * held_page_bytes);
  // What arrives in a step may be written there by the only source, which maps it: so an equal part
  // is left for what the only destination shares. Phases are few where they are large.
  const bool pairs = wish.destinations < 2 && !wish.in_phases;
  scratch.step = pairs ? (scratch.budget - messages) / 2 : scratch.budget - half;
  scratch.node = scratch.budget - messages - scratch.step;
  const std::uint64_t exported = std::max(wish.exported, std::uint64_t{1});
  scratch.batch = wish.at_once ? exported
                               : std::min({exported, (scratch.budget - scratch.node) / 2,
                                           hold_batch(scratch.chunk, wish.destinations)});
  scratch.batch = std::min(scratch.batch, largest_batch);
  return scratch;
}

}  // namespace valet::zoltan
