// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>
#include <valet/options.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace valet::schedule {

/// What decides how Method::phased divides its scratch on one rank.
struct PhasedLimits {
  std::size_t budget_bytes = 0;
  std::size_t block_bytes = 1;
  std::size_t message_bytes = 0;     ///< wish of the user; 0 when there is none
  std::size_t pieces_per_block = 1;  ///< where blocks are sent from where they are
  bool reachable_by_mpi = true;
  std::uint64_t slots = 0;
  std::uint64_t neighbours = 0;  ///< flows in either direction
  std::uint64_t ranks = 1;       ///< in the communicator
  std::uint64_t slot_bytes = 0;  ///< promised for slots, and used by nothing else
  /// Blocks of this rank that leave, and that arrive.
  std::uint64_t leaving = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t arriving = std::numeric_limits<std::uint64_t>::max();
  bool blocks_wait = false;      ///< some wait on ranks where they do not belong
  std::size_t node_bytes = 0;    ///< memory that this rank offers on its node
  std::size_t shared_bytes = 0;  ///< in the budget, for this and that of others
};

/// What options and blocks say of them, before anything is known of the map.
/// @param leaving         As PhasedLimits::leaving.
/// @param reserved_bytes  Part of the budget, for something else.
[[nodiscard]] PhasedLimits phased_limits(const Options& options, const BlockTraits& blocks,
                                         std::uint64_t leaving, std::size_t reserved_bytes);

/// How Method::phased divides its scratch on one rank.
struct PhasedSizes {
  std::uint64_t send_blocks = 1;     ///< in a message at most
  std::size_t send_buffers = 0;      ///< send_blocks each; 0: blocks are sent from where they are
  std::uint64_t scratch_slots = 1;   ///< in the budget, for blocks beside the storage
  std::uint64_t node_slots = 0;      ///< the same in the memory offered inside the node
  std::uint64_t receive_blocks = 1;  ///< in a message that is asked for
  std::uint64_t most_waiting = 0;    ///< blocks of other ranks that may wait here
  [[nodiscard]] std::uint64_t extra_slots() const { return node_slots + scratch_slots; }
  [[nodiscard]] std::uint64_t scratch_blocks() const {
    return send_blocks * send_buffers + scratch_slots;
  }
};

/// Bytes of what is kept of a block that waits.
inline constexpr std::uint64_t waiting_block_bytes = 16;

/// Bytes at most of the lists that a rank keeps of those it negotiates and exchanges blocks with.
/// These are its neighbours, but where blocks wait any rank may become one. Pure.
[[nodiscard]] VALET_EXPORT std::uint64_t phased_list_bytes(const PhasedLimits& limits);

/// The part of these bytes that comes off the budget: all beyond the 64 bytes that are promised for
/// a neighbour and 24 KiB. Pure.
[[nodiscard]] VALET_EXPORT std::uint64_t phased_list_charge(const PhasedLimits& limits);

/// What a rank keeps of a schedule that a root made, for further executions: bytes without charge,
/// and a small part of the budget.
constexpr std::size_t free_for_schedule = std::size_t{2} << 10;
[[nodiscard]] constexpr std::size_t kept_schedule_charge(std::size_t budget_bytes) {
  return std::min(budget_bytes / 32, std::size_t{1} << 20);
}

/// A budget that holds that charge and a block beside it; one block where there is no charge. With
/// less, Method::phased must be refused. Pure; does not read the budget of the limits.
[[nodiscard]] VALET_EXPORT std::uint64_t phased_least_budget(const PhasedLimits& limits);

/// A quarter of the budget at most packs what is sent; the rest are extra slots, which count as
/// free memory. A budget of one block is one slot, and blocks are sent from where they are. What
/// comes off the slots: lists (phased_list_charge), the bookkeeping of extra slots that is more
/// than 8 KiB, and up to an eighth of the budget for the bookkeeping of blocks that wait, as far as
/// memory promised for slots does not hold it. No more than can be in it: a message is no longer
/// than what leaves, and there are no more extra slots than blocks that arrive, but where blocks of
/// others wait. Pure; the scratch fits the budget. send_blocks and send_buffers depend on the first
/// five limits, on what leaves and on whether blocks wait only.
[[nodiscard]] VALET_EXPORT PhasedSizes phased_sizes(const PhasedLimits& limits);

}  // namespace valet::schedule
