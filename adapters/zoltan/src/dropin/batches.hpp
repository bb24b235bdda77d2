// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Pure decisions about batches and messages: how scratch is divided, where a batch ends.

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet::zoltan {

/// Sizes are multiples of 8, so in the list of sizes that a source sends the lowest bit can say
/// "the last object of its message".
constexpr int last_of_message = 1;
[[nodiscard]] constexpr int plain_size(int entry) { return entry & ~7; }

/// Offsets in a batch are ints, as Zoltan's callbacks want them.
constexpr std::uint64_t largest_batch = 0x7FFFFFF8;

/// Packed bytes of objects.
[[nodiscard]] std::uint64_t sum_of(std::span<const int> sizes);

/// A batch holds as many objects as cost, size and `object_bytes` each, at most `limit`, and at
/// least one. Returns the place behind its last object.
[[nodiscard]] std::uint64_t batch_end(std::span<const int> sizes, std::uint64_t first,
                                      std::uint64_t limit, std::uint64_t object_bytes);

/// A page that the memory of arrivals may take besides, and the least that a node shares.
constexpr std::uint64_t held_page_bytes = 4096;

/// How the scratch of one rank is divided.
struct Scratch {
  std::uint64_t budget = 0;  ///< for data: MIGRATE_MEMORY less what the transport needs
  std::uint64_t batch = 0;   ///< HOLD: limit of a batch
  std::uint64_t chunk = 0;   ///< STEPS: limit of a message. The same on all ranks
  std::uint64_t step = 0;    ///< STEPS: limit of what arrives in a step
  std::uint64_t node = 0;    ///< for memory that destinations on the node share
};

struct ScratchWish {
  std::uint64_t memory = 0;           ///< MIGRATE_MEMORY
  std::uint64_t smallest_memory = 0;  ///< on any rank
  std::uint64_t transport = 0;        ///< bytes that do not hold objects
  std::uint64_t exported = 0;         ///< cost of all exports
  std::uint64_t destinations = 0;
  bool at_once = false;    ///< HOLD: all exports are one batch
  bool in_phases = false;  ///< PHASED, CYCLIC
};

/// What does not fit into `memory` at the very least is taken nevertheless; the report counts it.
[[nodiscard]] Scratch divide_scratch(const ScratchWish& wish);

/// Bytes of a message of metadata or of STEPS: 256 KiB stay in the second-level cache while they
/// are packed, sent and unpacked, or less where some rank has less scratch.
[[nodiscard]] std::uint64_t chunk_for(std::uint64_t smallest_memory);

}  // namespace valet::zoltan
