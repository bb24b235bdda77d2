// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "storage/slot_set.hpp"
#include <valet/storage_backend.hpp>

#include <cstdint>
#include <span>

namespace valet::storage {

/// Where the content of each slot comes from: the pseudo-inverse of a local transmutation.
struct Origins {
  static constexpr SlotIndex none = static_cast<SlotIndex>(-1);  ///< the slot keeps what it has
  std::span<SlotIndex> of;                                       ///< one entry per slot
  std::uint64_t entries = 0;                                     ///< entries that are not none
};

/// Moves blocks between the slots of one rank with the least possible number of block copies, or
/// few more.
///
/// Source: MADRE (Siegel and Siegel), Figure 2 and theorem 2.9, in less memory. The published
/// algorithm keeps a transmutation and its pseudo-inverse; here the pseudo-inverse and the set of
/// free slots are enough: every shift ends in a free slot, so shifts run backwards from those, and
/// what is left then are cycles. Shifts go first, so that they need no temporary block.
///
/// Up to 16 chains are walked at a time, because each step of one waits for memory: one after
/// another a block of 64 bytes of a random cycle takes 52 ns. Where there are fewer and more than
/// 1,024 moves are left, long ones are divided at a block that waits in scratch, as
/// cycles are: a copy more for each division, some hundred in all.
///
/// Local; O(slots) time, however many fields a block has. The caller waits for what a storage goes
/// on with (StorageBackend::finish_all).
/// @param origins  In: the pseudo-inverse, with no entry for blocks that stay. Out: all none.
/// @param free     In: the free slots. Out: the free slots afterwards.
/// @param scratch  At least one block, two where the host does not reach the blocks; holds the
///                 temporary blocks of cycles. More than 64, or 128, are of no use.
/// @return The block copies made: the least there can be (theorem 2.9) and the divisions.
std::uint64_t redistribute_locally(StorageBackend& backend, Origins& origins, SlotSet& free,
                                   std::span<std::byte> scratch);

}  // namespace valet::storage
