// SPDX-License-Identifier: BSD-3-Clause

#include "schedule/stream_sizes.hpp"

#include "schedule/grains.hpp"
#include "schedule/proportional_queue.hpp"
#include "testing.hpp"

namespace valet::schedule {
namespace {

std::string text(const StreamLimits& limits) {
  return "budget " + std::to_string(limits.budget_bytes) + ", block " +
         std::to_string(limits.block_bytes) + ", message " + std::to_string(limits.message_bytes) +
         ", window " + std::to_string(limits.window) + ", pieces " +
         std::to_string(limits.pieces_per_block) + ", sent " + std::to_string(limits.blocks_sent) +
         ", received " + std::to_string(limits.blocks_received);
}

template <class Check>
void for_stream_limits(Check&& check) {
  for (const std::size_t block : {1, 8, 40, 1000, 16'000, 300'000})
    for (const std::size_t blocks : {1, 2, 3, 4, 5, 7, 64, 1000, 100'000})
      for (const std::size_t rest : {std::size_t{0}, block - 1})
        for (const std::size_t message : {0, 1, 1000, 100'000, 1 << 30})
          for (const std::size_t window : {1, 2, 32, 64})
            for (const std::size_t pieces : {std::size_t{1}, std::size_t{7}, std::size_t{5000}})
              for (const std::uint64_t sent : {0, 1, 5, 100'000})
                for (const std::uint64_t received : {0, 1, 5, 100'000})
                  check(StreamLimits{blocks * block + rest, block, message, window, pieces, sent,
                                     received});
}

TEST(StreamSizes, ScratchFitsTheBudgetAndHoldsABlock) {
  for_stream_limits([](const StreamLimits& limits) {
    const StreamSizes sizes = stream_sizes(limits);
    ASSERT_LE(sizes.scratch_blocks() * limits.block_bytes, limits.budget_bytes) << text(limits);
    ASSERT_GE(sizes.scratch_blocks(), 1U) << text(limits);
    ASSERT_GE(sizes.receive_buffers, 1U) << text(limits);
    ASSERT_GE(sizes.receive_blocks, 1U) << text(limits);
  });
}

TEST(StreamSizes, MessagesAreWithinTheirLimits) {
  for_stream_limits([](const StreamLimits& limits) {
    const StreamSizes sizes = stream_sizes(limits);
    ASSERT_GE(sizes.send_blocks, 1U) << text(limits);
    ASSERT_LE(sizes.send_blocks, 65535U) << "a credit has 16 bits: " << text(limits);
    ASSERT_LE(sizes.send_buffers, limits.window) << text(limits);
    ASSERT_LE(sizes.receive_buffers, limits.window) << text(limits);
    const bool more_than_wished = limits.message_bytes > 0 && sizes.send_blocks > 1 &&
                                  sizes.send_blocks * limits.block_bytes > limits.message_bytes;
    ASSERT_FALSE(more_than_wished) << text(limits);
  });
}

TEST(StreamSizes, SendSideDoesNotDependOnWhatIsReceived) {
  for_stream_limits([](StreamLimits limits) {
    const StreamSizes sizes = stream_sizes(limits);
    limits.blocks_received = 77;
    const StreamSizes other = stream_sizes(limits);
    ASSERT_EQ(sizes.send_blocks, other.send_blocks) << text(limits);
    ASSERT_EQ(sizes.send_buffers, other.send_buffers) << text(limits);
  });
}

TEST(StreamSizes, WithTwoBlocksOrMoreASenderStagesUnlessItSendsNothing) {
  for_stream_limits([](const StreamLimits& limits) {
    if (limits.budget_bytes < 2 * limits.block_bytes) {
      ASSERT_EQ(stream_sizes(limits).send_buffers, 0U) << text(limits);
    } else {
      ASSERT_EQ(stream_sizes(limits).send_buffers > 0, limits.blocks_sent > 0) << text(limits);
    }
  });
}

TEST(StreamSizes, NothingIsReservedBeyondWhatMoves) {
  for_stream_limits([](const StreamLimits& limits) {
    const StreamSizes sizes = stream_sizes(limits);
    const std::uint64_t received = std::max<std::uint64_t>(1, limits.blocks_received);
    ASSERT_LT(sizes.receive_blocks * (sizes.receive_buffers - 1), received) << text(limits);
    ASSERT_LE(sizes.receive_blocks, received) << text(limits);
  });
}

/// The limits of a rank that shares memory as much as it may; `peers` ranks write to it, and it
/// writes to as many.
StreamLimits shared(StreamLimits limits, std::size_t peers, bool is_kept = false) {
  limits.may_share = true;
  limits.node_bytes =
      std::min(node_memory_bytes(limits, peers), useful_node_bytes(limits, is_kept));
  limits.shares_memory = limits.node_bytes > 0;
  if (limits.shares_memory) limits.blocks_received_on_node = limits.blocks_received / 2;
  if (limits.shares_memory) limits.blocks_sent_on_node = limits.blocks_sent / 3;
  return limits;
}

TEST(StreamSizes, SegmentsOfAllPeersAndScratchFitTheBudget) {
  for_stream_limits([](const StreamLimits& alone) {
    for (const std::size_t peers : {0, 1, 7, 255}) {
      const StreamLimits limits = shared(alone, peers);
      const StreamSizes sizes = stream_sizes(limits);
      ASSERT_LE((1 + peers) * limits.node_bytes + sizes.scratch_blocks() * limits.block_bytes,
                limits.budget_bytes)
          << text(limits) << ", peers " << peers;
      ASSERT_LE(sizes.node_buffers * sizes.node_buffer_bytes, limits.node_bytes) << text(limits);
      ASSERT_LE(sizes.node_blocks * limits.block_bytes, sizes.node_buffer_bytes) << text(limits);
      ASSERT_LE(sizes.node_blocks, 65535U) << "a credit has 16 bits: " << text(limits);
    }
  });
}

TEST(StreamSizes, SegmentsAreSmallWhereLittleArrives) {
  StreamLimits limits;
  limits.budget_bytes = std::size_t{64} << 20;
  limits.block_bytes = 64;
  std::size_t before = useful_node_bytes(limits, false);
  EXPECT_EQ(before, std::size_t{256} << 10) << "to take turns in, even for one block";
  for (std::uint64_t blocks = 1; blocks < (std::uint64_t{1} << 30); blocks *= 2) {
    limits.blocks_received = blocks;
    const std::size_t bytes = useful_node_bytes(limits, false);
    EXPECT_GE(bytes, before);
    before = bytes;
  }
  EXPECT_EQ(before, std::size_t{1} << 20) << "more does not make it faster";
}

TEST(StreamSizes, ASegmentThatIsKeptHasRoomForAllInOneMessage) {
  StreamLimits limits;
  limits.budget_bytes = std::size_t{4} << 20;
  limits.block_bytes = 64;
  for (const std::uint64_t bytes : {10'000U, 100'000U, 262'144U, 10'000'000U}) {
    limits.blocks_sent = limits.blocks_received = bytes / limits.block_bytes;
    const std::uint64_t one =
        std::min(limits.blocks_received, (std::uint64_t{256} << 10) / limits.block_bytes);
    EXPECT_GE(stream_sizes(shared(limits, 1, true)).node_blocks, one) << bytes;
  }
}

TEST(StreamSizes, MessagesHaveAQuarterOfAMiBUnlessTheUserWishesOtherwise) {
  StreamLimits limits;
  limits.budget_bytes = std::size_t{64} << 20;
  limits.block_bytes = 64;
  limits.blocks_sent = limits.blocks_received = std::uint64_t{1} << 20;
  EXPECT_EQ(stream_sizes(limits).send_blocks * 64, std::uint64_t{256} << 10);
  EXPECT_EQ(stream_sizes(shared(limits, 1)).node_blocks * 64, std::uint64_t{256} << 10);
  limits.message_bytes = 6400;
  EXPECT_EQ(stream_sizes(limits).send_blocks, 100U);
}

TEST(StreamSizes, MessagesSuitManyDestinationsAndWhatTheyAreSent) {
  StreamLimits limits{.budget_bytes = std::size_t{4} << 20, .block_bytes = 1024};
  limits.blocks_sent = limits.blocks_received = 100'000;
  EXPECT_EQ(stream_sizes(limits).send_blocks, 256U) << "a quarter of a MiB";
  limits.destinations = 64;
  limits.largest_sent = 1000;
  EXPECT_EQ(stream_sizes(limits).send_blocks, 128U) << "16 at a time in half of the budget";
  limits.largest_sent = 100;
  EXPECT_EQ(stream_sizes(limits).send_blocks, 100U) << "the most for one of them";
  limits.announced_blocks = 7;
  EXPECT_EQ(stream_sizes(limits).send_blocks, 7U) << "whatever it would be";
  EXPECT_EQ(stream_sizes(limits).receive_blocks, 256U) << "from whom that is not known";
  limits.largest_message = 50;
  EXPECT_EQ(stream_sizes(limits).receive_blocks, 50U);
}

TEST(StreamSizes, MessagesToOtherNodesLeaveWithoutAnAnswerAndAsManyBytesAreOnTheirWay) {
  for (const std::size_t block : {1, 64, 1000, 16'384, 40'000, 65'000, 65'001, 1 << 20})
    for (const std::uint64_t message : {1, 2, 5, 16, 17, 4096, 65'535})
      for (const std::size_t eager : {0, 4000, 65'000}) {
        const Asked asked = asked_of(message, block, eager);
        const std::string which = std::to_string(message) + " blocks of " + std::to_string(block) +
                                  ", eager " + std::to_string(eager);
        ASSERT_GE(asked.credits, credits_of_a_pair) << which;
        if (eager < block) {
          ASSERT_EQ(asked.blocks, message) << "would wait all the same: " << which;
          ASSERT_EQ(asked.credits, credits_of_a_pair) << which;
          continue;
        }
        ASSERT_LE(asked.blocks * block, eager) << which;
        const std::uint64_t parts = (message + asked.blocks - 1) / asked.blocks;
        ASSERT_LE((parts - 1) * (eager / block), message)
            << "no more parts than it takes: " << which;
        ASSERT_LE(asked.credits, most_credits_of_a_pair) << which;
        if (asked.credits > credits_of_a_pair) {
          ASSERT_LE(asked.credits * asked.blocks * block, credits_of_a_pair * default_message_bytes)
              << which;
        }
        if (asked.credits < most_credits_of_a_pair) {
          ASSERT_GT((asked.credits + 1) * asked.blocks * block,
                    credits_of_a_pair * default_message_bytes)
              << which;
        }
      }
}

TEST(StreamSizes, EachKindOfMemoryThatIsNeededHasABuffer) {
  for_stream_limits([](StreamLimits alone) {
    alone.may_share = true;
    const StreamLimits limits = shared(alone, 3);
    const StreamSizes sizes = stream_sizes(limits);
    ASSERT_EQ(sizes.node_buffers > 0, limits.node_bytes > 0) << text(limits);
    ASSERT_GE(sizes.receive_buffers, 1U) << text(limits);
    ASSERT_EQ(sizes.send_blocks, stream_sizes(alone).send_blocks) << "as announced" << text(limits);
    if (limits.shares_memory) {
      ASSERT_EQ(sizes.send_buffers > 0, limits.blocks_sent > 0) << text(limits);
    }
  });
}

TEST(StreamSizes, BlocksThatWaitHaveRoomBesideMessagesAndSegments) {
  for_stream_limits([](StreamLimits limits) {
    for (const std::uint64_t waiting : {0, 1, 6, 40, 3000})
      for (const bool shares : {false, true}) {
        limits.waiting = waiting;
        const std::uint64_t aside = waiting / 2, in_wait = waiting - aside;
        constexpr std::size_t peers = 3;
        const StreamLimits here = shares ? shared(limits, peers) : limits;
        if (waiting >= room_to_wait(here)) continue;
        const OrderedSizes sizes = ordered_sizes(here, in_wait, aside);
        ASSERT_GT(sizes.waiting_blocks, in_wait) << text(limits) << ", waiting " << waiting;
        const std::uint64_t blocks = aside + sizes.waiting_blocks + sizes.send_blocks();
        ASSERT_LE((1 + peers) * here.node_bytes + blocks * here.block_bytes, here.budget_bytes)
            << text(limits) << ", waiting " << waiting;
      }
  });
}

TEST(StreamSizes, AShiftOfHalfOfTheBudgetHasRoomBesideSegments) {
  StreamLimits limits{.budget_bytes = std::size_t{1} << 20, .block_bytes = 16'000};
  limits.blocks_sent = limits.blocks_received = 16'384;
  limits.may_share = limits.shares_memory = true;
  limits.waiting = shift_blocks(limits.block_bytes, 16'384, 16'384, 1, 0);
  EXPECT_EQ(limits.waiting, 32U);
  EXPECT_LT(limits.waiting, room_to_wait(limits));
  EXPECT_GE(node_memory_bytes(limits, 1), std::size_t{128} << 10);
}

TEST(ProportionalQueue, ServesTheSmallestFractionFirst) {
  Ledger ledger;
  ProportionalQueue queue(ledger, 4);
  queue.push(0, 5, 10);
  queue.push(1, 1, 100);
  queue.push(2, 90, 100);
  queue.push(3, 2, 10);
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{1, 3, 0, 2}));
}

TEST(ProportionalQueue, TiesGoToTheLowerNumber) {
  Ledger ledger;
  ProportionalQueue queue(ledger, 5);
  for (const std::uint32_t peer : {3, 1, 4, 0, 2}) queue.push(peer, peer, 2 * peer + (peer == 0));
  std::vector<std::uint32_t> order;
  while (!queue.empty()) order.push_back(queue.pop());
  EXPECT_EQ(order, (std::vector<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(ProportionalQueue, PeersAdvanceTogether) {
  // Served one unit at a time, no peer is ahead of another by more than one of its own units.
  const std::vector<std::uint64_t> totals{10, 30, 7, 100};
  std::vector<std::uint64_t> served(totals.size(), 0);
  Ledger ledger;
  ProportionalQueue queue(ledger, totals.size());
  for (std::uint32_t p = 0; p < totals.size(); ++p) queue.push(p, 0, totals[p]);
  const std::size_t reserved = ledger.current_bytes();
  EXPECT_EQ(reserved, totals.size() * 8);
  while (!queue.empty()) {
    const std::uint32_t peer = queue.pop();
    for (std::size_t other = 0; other < totals.size(); ++other)
      ASSERT_LE(served[peer] * totals[other], served[other] * totals[peer]);
    if (++served[peer] < totals[peer]) queue.push(peer, served[peer], totals[peer]);
  }
  EXPECT_EQ(served, totals);
  EXPECT_EQ(ledger.current_bytes(), reserved) << "nothing is allocated while it is used";
}

}  // namespace
}  // namespace valet::schedule
