// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/phased_sizes.hpp"

#include "base/promise.hpp"
#include "base/sizes.hpp"
#include "schedule/stream_sizes.hpp"

namespace valet::schedule {
namespace {

// Shares of the 64 KiB that no budget pays for: slots, lists, waiting blocks, and a schedule that
// is kept. Small budgets need 14 KiB of pieces in place of the first.
constexpr std::uint64_t free_for_extra_slots = std::uint64_t{8} << 10;
constexpr std::uint64_t free_for_lists = std::uint64_t{10} << 10;
constexpr std::uint64_t free_for_waiting = std::uint64_t{14} << 10;
constexpr std::uint64_t most_for_pieces = std::uint64_t{14} << 10;
static_assert(std::max(free_for_extra_slots, most_for_pieces) + free_for_lists + free_for_waiting +
                  free_for_schedule <=
              detail::promised_fixed - detail::promised_reserve);

std::uint64_t above(std::uint64_t value, std::uint64_t level) {
  return value > level ? value - level : 0;
}

/// Bytes off the budget for the bookkeeping of blocks that wait, of `all` at most.
std::uint64_t waiting_charge(const PhasedLimits& limits, std::uint64_t all) {
  return std::min<std::uint64_t>(
      limits.budget_bytes / 8,
      above(all * waiting_block_bytes, limits.slot_bytes + free_for_waiting));
}

}  // namespace

PhasedLimits phased_limits(const Options& options, const BlockTraits& blocks, std::uint64_t leaving,
                           std::size_t reserved_bytes) {
  return {.budget_bytes = options.budget_bytes - std::min(options.budget_bytes, reserved_bytes),
          .block_bytes = blocks.block_bytes,
          .message_bytes = wished_message_bytes(options, blocks),
          .pieces_per_block = blocks.pieces_per_block,
          .reachable_by_mpi = blocks.reachable_by_mpi,
          .leaving = leaving,
          .blocks_wait =
              options.phased.parking > 0 || options.phased.heuristic == Heuristic::continuous};
}

std::uint64_t phased_list_bytes(const PhasedLimits& limits) {
  // Flows, rows and columns, credits and their messages, and moves; where blocks wait lists grow by
  // doubling.
  const std::uint64_t peer_bytes = limits.blocks_wait ? 512U : 224U;
  const std::uint64_t peers =
      limits.blocks_wait ? std::max<std::uint64_t>(limits.ranks, 1) - 1 : limits.neighbours;
  constexpr std::uint64_t buffers = std::uint64_t{5} << 10;  // for messages and their requests
  return peers * peer_bytes + buffers;
}

std::uint64_t phased_list_charge(const PhasedLimits& limits) {
  return above(phased_list_bytes(limits),
               detail::promised_of_neighbour * limits.neighbours + free_for_lists);
}

std::uint64_t phased_least_budget(const PhasedLimits& limits) {
  const std::uint64_t charge = phased_list_charge(limits);
  if (charge == 0) return limits.block_bytes;
  const std::uint64_t blocks = charge / limits.block_bytes + 2;
  // A quarter packs what is sent, and two blocks at least.
  return (blocks + blocks / 3 + 4) * limits.block_bytes;
}

PhasedSizes phased_sizes(const PhasedLimits& limits) {
  const std::uint64_t message = schedule::message_blocks(limits.message_bytes, limits.block_bytes);
  // Where blocks wait those of others leave, too.
  const std::uint64_t wished =
      limits.blocks_wait ? message : std::clamp<std::uint64_t>(limits.leaving, 1, message);
  const std::uint64_t budget_blocks =
      std::max<std::uint64_t>(1, limits.budget_bytes / limits.block_bytes);
  PhasedSizes sizes;
  if (budget_blocks == 1 && limits.reachable_by_mpi) {
    sizes.send_blocks = std::min(wished, listed_blocks(limits.pieces_per_block));
  } else {
    sizes.send_blocks = std::clamp<std::uint64_t>(budget_blocks / 8, 1, wished);
    sizes.send_buffers = budget_blocks < 4 ? 1 : 2;
  }
  // Receivers know the messages from before memory was shared, so that comes off the rest.
  const std::uint64_t spent = sizes.send_blocks * sizes.send_buffers +
                              (limits.shared_bytes + limits.block_bytes - 1) / limits.block_bytes;
  const std::uint64_t rest = std::max<std::uint64_t>(1, above(budget_blocks, spent));
  // An extra slot takes a block, its final slot, and a bit and a little more in a set.
  const std::uint64_t lists = phased_list_charge(limits);
  // A block is left in any case.
  const std::uint64_t most_for_waiting =
      above(rest * limits.block_bytes, lists + limits.block_bytes);
  const std::uint64_t waiting =
      limits.blocks_wait ? std::min(waiting_charge(limits, limits.slots + rest), most_for_waiting)
                         : 0;
  const std::uint64_t bytes =
      above(rest * limits.block_bytes + free_for_extra_slots, lists + waiting);
  sizes.scratch_slots =
      std::clamp<std::uint64_t>(bytes / (limits.block_bytes + sizeof(SlotIndex) + 1), 1, rest);
  sizes.node_slots = limits.node_bytes / limits.block_bytes;
  // Extra slots are numbered as slots are.
  sizes.scratch_slots =
      std::clamp<std::uint64_t>(sizes.scratch_slots, 1, detail::most_slots - sizes.node_slots);
  sizes.receive_blocks = std::clamp<std::uint64_t>(sizes.extra_slots() / 4, 1, message);
  if (!limits.blocks_wait)
    sizes.scratch_slots = std::clamp<std::uint64_t>(limits.arriving, 1, sizes.scratch_slots);
  if (limits.blocks_wait)
    sizes.most_waiting =
        std::min(limits.slots + sizes.extra_slots(),
                 (limits.slot_bytes + free_for_waiting + waiting) / waiting_block_bytes);
  return sizes;
}

}  // namespace valet::schedule
