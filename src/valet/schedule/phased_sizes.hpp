// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstddef>
#include <cstdint>

namespace valet::schedule {

/// What decides how Method::phased divides its scratch on one rank.
struct PhasedLimits {
  std::size_t budget_bytes = 0;
  std::size_t block_bytes = 1;
  std::size_t message_bytes = 0;     ///< wish of the user; 0 when there is none
  std::size_t pieces_per_block = 1;  ///< of memory, where blocks are sent from where they are
  bool reachable_by_mpi = true;
  std::size_t index_bytes = 4;  ///< of a slot
  std::uint64_t slots = 0;
  std::uint64_t neighbours = 0;  ///< flows in either direction
  std::uint64_t slot_bytes = 0;  ///< promised for slots, and used by nothing else
  bool blocks_wait = false;      ///< some wait on ranks where they do not belong
};

/// How Method::phased divides its scratch on one rank.
struct PhasedSizes {
  std::uint64_t send_blocks = 1;     ///< of a message at most
  std::size_t send_buffers = 0;      ///< of send_blocks; 0: blocks are sent from where they are
  std::uint64_t scratch_places = 1;  ///< places for blocks beside the slots
  std::uint64_t receive_blocks = 1;  ///< of a message that is asked for
  std::uint64_t most_waiting = 0;    ///< blocks of other ranks that may wait here
  [[nodiscard]] std::uint64_t scratch_blocks() const {
    return send_blocks * send_buffers + scratch_places;
  }
};

/// A quarter of the budget at most packs what is sent; the rest are places for blocks, which count
/// as free memory. A budget of one block is one place, and blocks are sent from where they are.
/// The bookkeeping of places and neighbours that is more than 16 KiB comes off the places. Pure;
/// the scratch fits the budget. send_blocks and send_buffers depend on the first five limits only.
[[nodiscard]] VALET_EXPORT PhasedSizes phased_sizes(const PhasedLimits& limits);

}  // namespace valet::schedule
