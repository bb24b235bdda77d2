// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/stream_sizes.hpp"

#include "base/sizes.hpp"

namespace valet::schedule {
namespace {

constexpr std::size_t node_buffers = 4;  // in the most memory that is shared
/// How often shared memory is to be filled: to map it costs as much as to copy it twenty times.
constexpr std::uint64_t uses_of_shared_memory = 32;
constexpr std::size_t least_node_message_bytes = std::size_t{64} << 10;
/// Destinations that have a message on the way at the same time, if the budget has room for them.
constexpr std::uint64_t at_once = 16;
/// A shorter message costs more for its latency than for its bytes.
constexpr std::size_t bandwidth_bytes = std::size_t{32} << 10;
/// What a rank takes before its holes are free, so that others can go on.
constexpr std::size_t pulled_bytes = std::size_t{128} << 10;

/// Buffers of `size` blocks that are of use for `blocks`, at most `most`.
std::size_t buffers_for(std::uint64_t blocks, std::uint64_t size, std::uint64_t most) {
  return static_cast<std::size_t>(std::min(most, (blocks + size - 1) / size));
}

std::uint64_t wished_blocks(const StreamLimits& limits) {
  return message_blocks(limits.message_bytes, limits.block_bytes);
}

std::uint64_t whole_lines(std::uint64_t bytes) {
  return detail::rounded_up(bytes, detail::cache_line_bytes);
}

/// Bytes of so many buffers for messages of the user's size, or that of Valet.
std::uint64_t shared_memory_of(const StreamLimits& limits, std::size_t buffers) {
  return buffers * whole_lines(wished_blocks(limits) * limits.block_bytes);
}

std::uint64_t least_node_bytes(const StreamLimits& limits) {
  // A message may be shorter than is wished for.
  StreamLimits shortest = limits;
  shortest.message_bytes =
      std::min(least_node_message_bytes,
               limits.message_bytes == 0 ? least_node_message_bytes : limits.message_bytes);
  return shared_memory_of(shortest, node_buffers);
}

/// The buffers in the shared memory: at least two, so that one is filled while another is emptied.
void divide_shared_memory(StreamSizes& sizes, const StreamLimits& limits) {
  std::uint64_t blocks =
      std::min(wished_blocks(limits), limits.node_bytes / node_buffers / limits.block_bytes);
  while (blocks > 1 && node_buffers * whole_lines(blocks * limits.block_bytes) > limits.node_bytes)
    --blocks;
  sizes.node_blocks = std::max<std::uint64_t>(1, blocks);
  sizes.node_buffer_bytes = whole_lines(sizes.node_blocks * limits.block_bytes);
  sizes.node_buffers =
      std::min(limits.node_bytes / sizes.node_buffer_bytes, std::min(node_buffers, limits.window));
}

std::uint64_t budget_blocks(const StreamLimits& limits) {
  return std::max<std::uint64_t>(1, limits.budget_bytes / limits.block_bytes);
}

/// A quarter of what shared memory leaves: four buffers let both directions overlap staging with
/// the wire.
std::uint64_t budgeted_message(const StreamLimits& limits) {
  return std::clamp<std::uint64_t>(budget_blocks(limits) / (limits.may_share ? 8 : 4), 1,
                                   wished_blocks(limits));
}

/// Blocks of a message that this rank sends: one to each of many destinations at a time takes as
/// long as the longest of their latencies, one after the other all of them.
std::uint64_t message_blocks(const StreamLimits& limits) {
  if (limits.announced_blocks > 0) return limits.announced_blocks;
  const std::uint64_t most = budgeted_message(limits);
  if (limits.destinations < 2) return most;
  const std::uint64_t share = budget_blocks(limits) / (2 * std::min(limits.destinations, at_once));
  const std::uint64_t blocks = std::max<std::uint64_t>(share, bandwidth_bytes / limits.block_bytes);
  return std::clamp<std::uint64_t>(std::min(blocks, limits.largest_sent), 1, most);
}

/// Blocks of the budget that are not for shared memory.
std::uint64_t own_blocks(const StreamLimits& limits) {
  const std::uint64_t blocks = budget_blocks(limits);
  if (!limits.shares_memory || blocks == 1) return blocks;
  const std::uint64_t half = blocks - (blocks + 1) / 2;
  if (limits.waiting == 0) return half;
  return std::max(half, std::min(blocks - blocks / 4, limits.waiting + 1 + message_blocks(limits)));
}

}  // namespace

StreamLimits limits_of(const Options& options, const BlockTraits& blocks, std::uint64_t blocks_sent,
                       std::uint64_t blocks_received) {
  return {.budget_bytes = options.budget_bytes,
          .block_bytes = blocks.block_bytes,
          .message_bytes = wished_message_bytes(options, blocks),
          .window = static_cast<std::size_t>(options.stream.window),
          .pieces_per_block = blocks.pieces_per_block,
          .blocks_sent = blocks_sent,
          .blocks_received = blocks_received,
          .may_share = options.share_memory,
          .pulls = blocks.in_node_memory};
}

StreamSizes stream_sizes(const StreamLimits& limits) {
  const std::uint64_t sent = std::max<std::uint64_t>(1, limits.blocks_sent);
  const std::uint64_t received =
      std::max<std::uint64_t>(1, limits.blocks_received - limits.blocks_received_on_node);
  StreamSizes sizes;
  if (budget_blocks(limits) == 1) {
    sizes.send_blocks = std::min(wished_blocks(limits), listed_blocks(limits.pieces_per_block));
    return sizes;
  }
  const std::uint64_t own = own_blocks(limits);
  const std::uint64_t window = limits.window;
  sizes.send_blocks = std::min(message_blocks(limits), sent);
  const std::uint64_t sends = own / (2 * sizes.send_blocks);
  sizes.send_buffers = buffers_for(limits.blocks_sent - limits.blocks_sent_on_node,
                                   sizes.send_blocks, std::min(sends, window));
  sizes.receive_blocks = std::min(budgeted_message(limits), received);
  if (limits.largest_message > 0)
    sizes.receive_blocks = std::min(sizes.receive_blocks, limits.largest_message);
  const std::uint64_t receives = (own - sends * sizes.send_blocks) / sizes.receive_blocks;
  sizes.receive_buffers = buffers_for(received, sizes.receive_blocks, std::min(receives, window));
  if (limits.node_bytes > 0) divide_shared_memory(sizes, limits);
  return sizes;
}

std::uint64_t room_to_wait(const StreamLimits& limits) {
  const StreamSizes sizes = stream_sizes(limits);
  return own_blocks(limits) - (sizes.send_buffers > 0 ? sizes.send_blocks : 0);
}

OrderedSizes ordered_sizes(const StreamLimits& limits, std::uint64_t in_wait, std::uint64_t aside) {
  OrderedSizes sizes{.messages = stream_sizes(limits)};
  StreamSizes& messages = sizes.messages;
  const std::uint64_t room = own_blocks(limits) - aside;
  const std::uint64_t least = std::max(in_wait + 1, room / 2);
  if (messages.send_buffers > 0)
    messages.send_buffers = std::clamp<std::uint64_t>(
        (room - std::min(room, least)) / messages.send_blocks, 1, messages.send_buffers);
  std::uint64_t wished = messages.receive_blocks * messages.receive_buffers;
  if (limits.pulls) wished = std::max<std::uint64_t>(wished, pulled_bytes / limits.block_bytes);
  sizes.waiting_blocks = std::min(room - sizes.send_blocks(), std::max(in_wait + 1, wished));
  return sizes;
}

std::size_t node_memory_bytes(const StreamLimits& limits, std::size_t destinations) {
  StreamLimits sharing = limits;
  sharing.shares_memory = true;
  const std::uint64_t left =
      limits.budget_bytes -
      std::min<std::uint64_t>(limits.budget_bytes, own_blocks(sharing) * limits.block_bytes);
  const std::uint64_t share =
      std::min<std::uint64_t>(limits.budget_bytes / 2, left) / (1 + destinations);
  const std::uint64_t bytes = std::min(share, shared_memory_of(limits, node_buffers));
  return bytes < 2 * whole_lines(limits.block_bytes) ? 0 : static_cast<std::size_t>(bytes);
}

std::size_t useful_node_bytes(const StreamLimits& limits, bool is_kept) {
  const std::uint64_t received = limits.blocks_received * limits.block_bytes;
  // Memory that is kept is large enough for all that arrives to be one message.
  const std::uint64_t useful =
      is_kept ? whole_lines(received) * node_buffers : received / uses_of_shared_memory;
  return std::clamp<std::uint64_t>(useful, least_node_bytes(limits),
                                   shared_memory_of(limits, node_buffers));
}

}  // namespace valet::schedule
