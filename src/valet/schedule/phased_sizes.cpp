// SPDX-License-Identifier: BSD-3-Clause
#include <valet/schedule/phased_sizes.hpp>

#include <algorithm>
#include <limits>

namespace valet::schedule {
namespace {

constexpr std::uint64_t default_message_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t most_message_blocks = 65535;
constexpr std::uint64_t most_listed_pieces = 512;  // 14 KiB of lists for a message of pieces
constexpr std::uint64_t neighbour_bytes = 192;     // of lists for one, 64 of them promised
constexpr std::uint64_t free_of_charge = std::uint64_t{8} << 10;

std::uint64_t above(std::uint64_t value, std::uint64_t level) {
  return value > level ? value - level : 0;
}

}  // namespace

PhasedSizes phased_sizes(const PhasedLimits& limits) {
  const std::uint64_t wish =
      limits.message_bytes == 0 ? default_message_bytes : limits.message_bytes;
  const std::uint64_t wished =
      std::clamp<std::uint64_t>(wish / limits.block_bytes, 1, most_message_blocks);
  const std::uint64_t budget_blocks =
      std::max<std::uint64_t>(1, limits.budget_bytes / limits.block_bytes);
  PhasedSizes sizes;
  if (budget_blocks == 1 && limits.reachable_by_mpi) {
    const std::uint64_t listed =
        std::max<std::uint64_t>(1, most_listed_pieces / limits.pieces_per_block);
    sizes.send_blocks = std::min(wished, listed);
  } else {
    sizes.send_blocks = std::clamp<std::uint64_t>(budget_blocks / 8, 1, wished);
    sizes.send_buffers = budget_blocks < 4 ? 1 : 2;
  }
  const std::uint64_t rest =
      std::max<std::uint64_t>(1, budget_blocks - sizes.send_blocks * sizes.send_buffers);
  // A place takes a block, its final slot, and a bit and a little more in a set.
  const std::uint64_t bytes =
      above(rest * limits.block_bytes + free_of_charge,
            above(limits.neighbours * (neighbour_bytes - 64), free_of_charge));
  sizes.scratch_places =
      std::clamp<std::uint64_t>(bytes / (limits.block_bytes + limits.index_bytes + 1), 1, rest);
  if (limits.index_bytes == 4)  // places are numbered behind the slots
    sizes.scratch_places = std::clamp<std::uint64_t>(
        sizes.scratch_places, 1,
        std::max<std::uint64_t>(
            1, above(std::numeric_limits<std::uint32_t>::max() - 1, limits.slots)));
  sizes.receive_blocks = std::clamp<std::uint64_t>(sizes.scratch_places / 4, 1, wished);
  if (limits.blocks_wait)
    sizes.most_waiting = std::min(limits.slots + sizes.scratch_places,
                                  (limits.slot_bytes + free_of_charge) / limits.index_bytes);
  return sizes;
}

}  // namespace valet::schedule
