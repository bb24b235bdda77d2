// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pure decisions about batches and messages: how scratch is divided, where a batch ends.

#include "objects/sizes.hpp"

#include <algorithm>
#include <cstdint>

namespace valet::objects {

/// A batch holds as many objects as cost, size and `object_bytes` each, at most `limit`, and at
/// least one. Returns the place behind its last object.
[[nodiscard]] inline std::uint64_t batch_end(const ObjectSizes& sizes, std::uint64_t first,
                                             std::uint64_t limit, std::uint64_t object_bytes) {
  std::uint64_t cost = 0;
  std::uint64_t end = first;
  while (end < sizes.size()) {
    cost += sizes[end] + object_bytes;
    if (cost > limit && end > first) break;
    ++end;
  }
  return end;
}

/// No batch has more than 2 GiB of small objects; where callbacks want offsets as ints, as Zoltan's
/// do, no object is larger.
constexpr std::uint64_t largest_batch = 0x7FFFFFF8;

/// A page that the memory of arrivals may take besides, and the least that a node shares.
constexpr std::uint64_t held_page_bytes = 4096;

/// How the scratch of one rank is divided.
struct Scratch {
  std::uint64_t budget = 0;  ///< for data: the budget less what the transport needs
  std::uint64_t batch = 0;   ///< HOLD: limit of a batch
  std::uint64_t chunk = 0;   ///< STEPS: limit of a message. The same on all ranks
  std::uint64_t step = 0;    ///< STEPS: limit of what arrives in a step
  std::uint64_t node = 0;    ///< for memory that destinations on the node share
};

struct ScratchWish {
  std::uint64_t memory = 0;           ///< the budget
  std::uint64_t smallest_memory = 0;  ///< on any rank
  std::uint64_t transport = 0;        ///< bytes that do not hold objects
  std::uint64_t exported = 0;         ///< cost of all exports
  std::uint64_t destinations = 0;
  bool at_once = false;    ///< HOLD: all exports are one batch
  bool in_phases = false;  ///< PHASED, CYCLIC
};

inline constexpr std::uint64_t kibibyte = 1024;
/// Bytes of one message. A batch whose objects go to several ranks has as much for each of them,
/// because every wait for a message of a batch costs a change of the running process on a shared
/// core.
inline constexpr std::uint64_t cache_batch = 256 * kibibyte;
inline constexpr std::uint64_t least_data = 8 * kibibyte;

/// Bytes of a message of metadata or of STEPS: 256 KiB stay in the second-level cache while they
/// are packed, sent and unpacked, or less where some rank has less scratch.
[[nodiscard]] inline std::uint64_t chunk_for(std::uint64_t smallest_memory) {
  const std::uint64_t data = std::clamp(smallest_memory / 16, kibibyte, cache_batch);
  // The lists of objects count as well: without room for them, four objects of a quarter of the
  // data would be three. Whole cache lines, so that objects in shared slots are aligned.
  return (data + data / 32) / 64 * 64;
}

/// What a batch has for a destination should fit a slot of memory shared on a node, also where its
/// objects go to several ones by chance.
inline std::uint64_t hold_batch(std::uint64_t chunk, std::uint64_t destinations) {
  return destinations < 2 ? chunk : destinations * (chunk - chunk / 4);
}

/// What does not fit into `memory` at the very least is taken nevertheless; the report counts it.
[[nodiscard]] inline Scratch divide_scratch(const ScratchWish& wish) {
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

}  // namespace valet::objects
