// SPDX-License-Identifier: BSD-3-Clause
#include <valet/schedule/stream_sizes.hpp>

#include <algorithm>

namespace valet::schedule {
namespace {

constexpr std::uint64_t default_message_bytes = std::uint64_t{256} << 10;
constexpr std::uint64_t most_message_blocks = 65535;  // grants are kept in 16 bits
constexpr std::uint64_t most_listed_pieces = 512;     // 14 KiB of lists for a message of pieces

/// Buffers of `size` blocks that are of use for `blocks`, at most `most`.
std::size_t buffers_for(std::uint64_t blocks, std::uint64_t size, std::uint64_t most) {
  return static_cast<std::size_t>(std::min(most, (blocks + size - 1) / size));
}

}  // namespace

StreamLimits limits_of(const Options& options, const BlockTraits& blocks, std::uint64_t blocks_sent,
                       std::uint64_t blocks_received) {
  return {.budget_bytes = options.budget_bytes,
          .block_bytes = blocks.block_bytes,
          .message_bytes = options.message_bytes,
          .window = static_cast<std::size_t>(options.window),
          .pieces_per_block = blocks.pieces_per_block,
          .blocks_sent = blocks_sent,
          .blocks_received = blocks_received};
}

StreamSizes stream_sizes(const StreamLimits& limits) {
  const std::uint64_t wish =
      limits.message_bytes == 0 ? default_message_bytes : limits.message_bytes;
  const std::uint64_t wished_blocks =
      std::clamp<std::uint64_t>(wish / limits.block_bytes, 1, most_message_blocks);
  const std::uint64_t budget_blocks =
      std::max<std::uint64_t>(1, limits.budget_bytes / limits.block_bytes);
  const std::uint64_t sent = std::max<std::uint64_t>(1, limits.blocks_sent);
  const std::uint64_t received = std::max<std::uint64_t>(1, limits.blocks_received);
  StreamSizes sizes;
  if (budget_blocks == 1) {
    const std::uint64_t listed =
        std::max<std::uint64_t>(1, most_listed_pieces / limits.pieces_per_block);
    sizes.send_blocks = std::min(wished_blocks, listed);
    return sizes;
  }
  // Four buffers let both directions overlap staging with the wire.
  const std::uint64_t message_blocks =
      std::clamp<std::uint64_t>(budget_blocks / 4, 1, wished_blocks);
  const std::uint64_t buffers = budget_blocks / message_blocks;
  const std::uint64_t window = limits.window;
  sizes.send_blocks = std::min(message_blocks, sent);
  sizes.send_buffers =
      buffers_for(limits.blocks_sent, sizes.send_blocks, std::min(buffers / 2, window));
  sizes.receive_blocks = std::min(message_blocks, received);
  sizes.receive_buffers =
      buffers_for(received, sizes.receive_blocks, std::min(buffers - buffers / 2, window));
  return sizes;
}

}  // namespace valet::schedule
