// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>
#include <valet/options.hpp>
#include <valet/slots.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace valet::schedule {

/// Credits of one pair of ranks whose messages have not come: one is being answered, one is at hand
/// so that the next message follows at once, and one is on its way, which may take as long as a
/// message.
constexpr std::size_t credits_of_a_pair = 3;
constexpr std::size_t most_credits_of_a_pair = 16;  ///< of short messages, see asked_of()

/// The size of a message, and of a buffer inside a node, unless the user wishes otherwise.
constexpr std::size_t default_message_bytes = std::size_t{256} << 10;
/// The same where kernels pack and unpack: to start one and to wait for it takes some 10 us, in
/// which a bus moves 256 KiB and more.
constexpr std::size_t kernel_message_bytes = std::size_t{2} << 20;
/// A run of blocks this long is sent from where it is, a shorter one is packed.
constexpr std::size_t straight_bytes = std::size_t{16} << 10;
/// A run of final slots this long is worth a message of its own; blocks for a shorter one are
/// received in a buffer.
constexpr std::size_t worthwhile_bytes = std::size_t{64} << 10;
/// Bytes that leave a rank at once, at most, where messages that stay in the cache would do as well
/// and nothing has to be copied once more for them. Measured: below, messages for each credit take
/// up to twice the time; from three times as much on they take two thirds of it.
constexpr std::uint64_t most_bytes_at_once = std::uint64_t{8} << 20;

/// What moves at once where all of it goes to other nodes: what leaves a rank and twice what
/// arrives there is at most so much, and at most this part of the budget.
constexpr std::uint64_t little_bytes = std::uint64_t{128} << 10;
constexpr std::uint64_t little_part = 16;

/// The size of messages that is wished for; 0 where it is the default one.
[[nodiscard]] constexpr std::size_t wished_message_bytes(const Options& options,
                                                         const BlockTraits& blocks) {
  return options.message_bytes > 0 || blocks.reachable_by_host ? options.message_bytes
                                                               : kernel_message_bytes;
}
/// Blocks of a message: what the user wishes, or else Valet; credits are kept in 16 bits.
[[nodiscard]] constexpr std::uint64_t message_blocks(std::size_t wished_bytes,
                                                     std::size_t block_bytes) {
  return std::clamp<std::uint64_t>(
      (wished_bytes == 0 ? default_message_bytes : wished_bytes) / block_bytes, 1, 65535);
}
/// What a rank asks of another one.
struct Asked {
  std::uint64_t blocks = 1;  ///< in a message, at most
  std::size_t credits = credits_of_a_pair;
};
/// How a receiver asks for messages of `message_blocks`, where MPI sends `eager_bytes` at once and
/// lets a longer message wait for an answer of the receiver; 0: not known, or in shared memory.
///
/// Credits see to it that a receive is always posted, so that such an answer tells nothing; but it
/// waits, as everything does on a link that is full in both directions, behind the data of the
/// other direction, and so does what it lets go. A long message crosses a full link four times
/// (credit, announcement, answer, data), a short one twice. The links then stand still in turns:
/// by TCP long messages took 1.3 to 1.5 times as long, also with twice as many on their way. So
/// messages are cut to what leaves at once, in equal parts. Blocks that are longer themselves are
/// not: a message of one such block would wait as well.
///
/// Links stay full for as long as what is on its way lasts. That is to bridge the way of a credit
/// and of its answer, and the time in which another process has the core: a rank that sleeps 3 ms
/// leaves 375 KB undone at 1 Gbit/s. So the shorter messages are, the more credits are out, for as
/// many bytes as those of whole messages have.
[[nodiscard]] constexpr Asked asked_of(std::uint64_t message_blocks, std::size_t block_bytes,
                                       std::size_t eager_bytes) {
  const std::uint64_t most = eager_bytes / block_bytes;
  if (most == 0) return {message_blocks, credits_of_a_pair};
  const std::uint64_t parts = (message_blocks + most - 1) / most;
  const std::uint64_t blocks = (message_blocks + parts - 1) / parts;
  return {blocks, std::clamp<std::size_t>(
                      credits_of_a_pair * default_message_bytes / (blocks * block_bytes),
                      credits_of_a_pair, most_credits_of_a_pair)};
}
/// Blocks of a message that is sent from where they are: 14 KiB of lists for its pieces at most.
[[nodiscard]] constexpr std::uint64_t listed_blocks(std::size_t pieces_per_block) {
  return std::max<std::uint64_t>(1, 512 / pieces_per_block);
}

/// What decides how STREAM divides its scratch on one rank.
struct StreamLimits {
  std::size_t budget_bytes = 0;
  std::size_t block_bytes = 1;
  std::size_t message_bytes = 0;     ///< wish of the user; 0 when there is none
  std::size_t window = 32;           ///< data messages in either direction
  std::size_t pieces_per_block = 1;  ///< where blocks are sent from where they are
  std::uint64_t blocks_sent = 0;
  std::uint64_t blocks_received = 0;
  /// Ranks that it sends to; 0 where that is not known when messages are announced.
  std::uint64_t destinations = 0;
  std::uint64_t largest_sent = 0;  ///< most blocks for one of them
  /// Blocks of a message, as receivers were told; 0 before that.
  std::uint64_t announced_blocks = 0;
  std::uint64_t largest_message = 0;  ///< most blocks of one that comes; 0: not known yet
  std::uint64_t waiting = 0;          ///< blocks that wait at once where they land in order
  /// The option says that memory is shared; messages are announced before anybody knows whether.
  bool may_share = false;
  bool shares_memory = false;             ///< it does
  bool pulls = false;                     ///< blocks may be taken without messages
  std::size_t node_bytes = 0;             ///< memory that this rank offers on its node
  std::uint64_t blocks_sent_on_node = 0;  ///< part of blocks_sent, through memory of other ranks
  std::uint64_t blocks_received_on_node = 0;
};

[[nodiscard]] VALET_EXPORT StreamLimits limits_of(const Options& options, const BlockTraits& blocks,
                                                  std::uint64_t blocks_sent,
                                                  std::uint64_t blocks_received);

/// How STREAM divides its scratch on one rank.
struct StreamSizes {
  std::uint64_t send_blocks = 1;  ///< blocks of a message; receivers are informed
  std::size_t send_buffers = 0;   ///< send_blocks each; 0: blocks are sent from where they are
  std::uint64_t receive_blocks = 1;
  std::size_t receive_buffers = 1;  ///< receive_blocks each
  std::uint64_t node_blocks = 0;    ///< in a buffer of the memory offered inside the node
  std::size_t node_buffers = 0;
  std::size_t node_buffer_bytes = 0;  ///< from one buffer to the next
  [[nodiscard]] std::uint64_t scratch_blocks() const {
    return send_blocks * send_buffers + receive_blocks * receive_buffers;
  }
};

/// Messages of 256 KiB, of 2 MiB where kernels pack them, or less where the budget does not hold a
/// few of them: large enough for bandwidth, small enough that what is staged stays in the cache.
/// With many destinations they are shorter, budget / (2 * min(destinations, 16)) but 32 KiB at
/// least, and never longer than the largest flow: then a buffer for each of as many messages fits
/// half of the budget, and latencies overlap. No receive buffer is larger than the largest message
/// that comes.
///
/// A budget of a single block is a receive buffer, and blocks are then sent without staging. Pure;
/// the scratch fits the budget and is at least one block, for the cycles of the local
/// redistribution. The send side depends on the limits but not on what is received, so it is known
/// before counts are exchanged.
///
/// Where ranks of a node share memory, half of the budget is for shared memory, or a quarter where
/// many blocks have to wait, and the rest for messages. Those are of one size whether memory is
/// shared in the end or not.
[[nodiscard]] VALET_EXPORT StreamSizes stream_sizes(const StreamLimits& limits);

/// How STREAM divides its scratch where blocks land in order (Order::any).
struct OrderedSizes {
  StreamSizes messages;              ///< but for the receive buffers: there are none
  std::uint64_t waiting_blocks = 1;  ///< room for those that are on their way, or wait
  [[nodiscard]] std::uint64_t send_blocks() const {
    return messages.send_blocks * messages.send_buffers;
  }
};

/// As stream_sizes(), with room for `in_wait` blocks that wait at once, and one more. Room for
/// `aside` others, which wait until the end, comes on top and is not part of what is returned.
[[nodiscard]] VALET_EXPORT OrderedSizes ordered_sizes(const StreamLimits& limits,
                                                      std::uint64_t in_wait, std::uint64_t aside);
/// Blocks that there can be room for. Pure.
[[nodiscard]] VALET_EXPORT std::uint64_t room_to_wait(const StreamLimits& limits);

/// The most memory that a rank that sends to `destinations` others may offer on its node, and that
/// each of those may offer to it: all that is mapped into its process then fits the part of its
/// budget that is for shared memory. 0 where two blocks do not fit it. Pure.
[[nodiscard]] std::size_t node_memory_bytes(const StreamLimits& limits, std::size_t destinations);

/// The most shared memory that pays for what a rank receives: mapping memory and touching it for
/// the first time takes as long as copying it twenty times, so where it is for one plan each buffer
/// is to be used often. Pure.
/// @param is_kept  For what comes next.
[[nodiscard]] std::size_t useful_node_bytes(const StreamLimits& limits, bool is_kept);

}  // namespace valet::schedule
