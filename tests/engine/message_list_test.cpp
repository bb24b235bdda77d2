// SPDX-License-Identifier: BSD-3-Clause

// The list of messages that wait never becomes so full that an exchange stops, in whatever order
// messages arrive, exports leave and sources of the node take turns with others.

#include "engine/ordered/message_list.hpp"

#include "engine/slots/ring_flows.hpp"
#include "testing.hpp"

#include <deque>

namespace valet::engine {
namespace {

using Into = MessageList::Into;

/// A receiver without MPI, whose imports all wait in one of two rooms. Blocks are of one byte.
class Receiver {
 public:
  Receiver(std::mt19937_64& random, std::uint64_t own_blocks, std::uint64_t node_blocks,
           std::uint64_t grain, std::size_t receives)
      : random_(random),
        grain_(grain),
        receives_(receives),
        own_memory_(own_blocks),
        node_memory_(node_blocks),
        own_room_(own_memory_.data(), own_blocks, 1),
        node_room_(node_memory_.data(), node_blocks, 1),
        messages_(ledger_,
                  MessageList::length(receives, 0, (own_blocks + node_blocks) / grain, true), 1) {}

  /// Credits the next imports where it can, all of which wait; false if it cannot.
  bool credit(bool sends) {
    const bool takes_less = on_their_way_.empty() && !sends;
    if (on_their_way_.size() == receives_ || detours_ || !messages_.takes_one(renumber()))
      return false;
    const std::optional<Into> into =
        is_on_node() ? messages_.choose_room(takes_less, node_room_.next(), renumber()) : Into::own;
    if (!into) return false;
    WaitingRoom& room = *into == Into::node ? node_room_ : own_room_;
    std::uint64_t count = std::min(1 + random_() % 7, grain_ - credited_ % grain_);
    if (!takes_less && room.left() < count) return false;
    count = std::min(count, room.next());
    if (count == 0) return false;
    detours_ = is_on_node() && *into == Into::own;
    on_their_way_.push_back(messages_.add(room.enter(count), count, *into));
    credited_ += count;
    return true;
  }
  /// One of the messages on their way arrives; false if there is none.
  bool arrive() {
    if (on_their_way_.empty()) return false;
    const std::size_t which = random_() % on_their_way_.size();
    messages_[on_their_way_[which]].arrived = true;
    on_their_way_.erase(on_their_way_.begin() + static_cast<std::ptrdiff_t>(which));
    if (on_their_way_.empty()) detours_ = false;
    return true;
  }
  /// So many of the blocks that wait are brought to holes, if they have arrived.
  void land(std::uint64_t blocks) {
    while (blocks > 0 && !messages_.empty() && messages_.front().arrived) {
      MessageList::CreditedMessage& next = messages_.front();
      const std::uint64_t count = std::min(blocks, next.count);
      (next.into == Into::node ? node_room_ : own_room_).leave(count);
      next.memory += count;
      next.count -= count;
      blocks -= count;
      if (next.count == 0) messages_.pop_front();
    }
  }
  [[nodiscard]] std::uint64_t own_left() const { return own_room_.left(); }
  [[nodiscard]] std::uint64_t credited() const { return credited_; }

 private:
  /// Whether the next import is of a source that shares memory: in every third grain it does not.
  [[nodiscard]] bool is_on_node() const { return credited_ / grain_ % 3 != 2; }
  std::function<void(std::uint64_t, std::uint64_t)> renumber() {
    return [this](std::uint64_t from, std::uint64_t to) {
      *std::ranges::find(on_their_way_, from) = to;
    };
  }

  std::mt19937_64& random_;
  std::uint64_t grain_;
  std::size_t receives_;
  std::vector<std::byte> own_memory_, node_memory_;
  WaitingRoom own_room_, node_room_;
  Ledger ledger_;
  MessageList messages_;
  std::vector<std::uint64_t> on_their_way_;
  bool detours_ = false;
  std::uint64_t credited_ = 0;
};

void run(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t own_blocks = 1 + random() % 600;
  const std::uint64_t grain = 1 + random() % 600;
  Receiver receiver(random, own_blocks, 7 * (1 + random() % 6), grain, 1 + random() % 4);
  std::uint64_t most_landed = 30;
  for (int turn = 0; turn < 3000; ++turn) {
    // At times no export leaves, at times all that waits finds a hole.
    if (turn % 50 == 0) most_landed = 1 + random() % 40;
    const bool sends = random() % 2 == 0;
    while (receiver.credit(sends)) {
    }
    if (random() % 4 != 0) receiver.arrive();
    if (random() % 4 == 0) receiver.land(random() % most_landed);
    if (random() % 100 != 0) continue;
    // Neither sends nor receives anything: what is left is to ask for more.
    while (receiver.arrive()) {
    }
    ASSERT_TRUE(receiver.own_left() == 0 || receiver.credit(false))
        << "after " << receiver.credited() << " blocks; grain " << grain << ", room for "
        << own_blocks << "; seed " << seed;
  }
}

TEST(MessageList, HasAPlaceForOneMoreAsLongAsThereIsRoomForItsBlocks) {
  for (std::uint64_t seed = 20261125; seed < 20261125 + 2000; ++seed) {
    run(seed);
    if (HasFatalFailure()) return;
  }
}

TEST(WaitingRoom, GivesPlacesThatNobodyElseHasAndTakesThemBackInOrder) {
  constexpr std::uint64_t blocks = 7;
  constexpr std::size_t block_bytes = 3;
  std::array<std::byte, blocks * block_bytes> memory{};
  std::mt19937_64 random(20260101);
  WaitingRoom room(memory.data(), blocks, block_bytes);
  std::deque<std::size_t> waiting;  // places, in the order in which they were given
  for (int turn = 0; turn < 10'000; ++turn) {
    ASSERT_EQ(room.left(), blocks - waiting.size());
    const std::uint64_t next = room.next();
    ASSERT_LE(next, room.left());
    ASSERT_EQ(next == 0, waiting.size() == blocks) << "there is always something next";
    if (waiting.empty()) {
      ASSERT_EQ(next, blocks) << "all of an empty room is next to each other";
    }
    if (random() % 2 == 0 && next > 0) {
      const std::uint64_t count = 1 + random() % next;
      const auto first = static_cast<std::size_t>(room.enter(count) - memory.data()) / block_bytes;
      for (std::size_t into = first; into < first + count; ++into) {
        ASSERT_LT(into, blocks);
        ASSERT_EQ(std::ranges::count(waiting, into), 0) << "somebody waits there";
        waiting.push_back(into);
      }
    } else if (!waiting.empty()) {
      const std::size_t count = 1 + random() % waiting.size();
      room.leave(count);
      waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count));
    }
  }
}

struct Flow {
  int rank;
  std::uint32_t count;
};

TEST(RingFlows, BeginBehindTheRankItself) {
  Ledger ledger;
  Vector<Flow> flows(ledger);
  for (const int rank : {0, 2, 5, 6}) flows.push_back({rank, 10});
  const auto order = [&](int rank) {
    const RingFlows<Flow> ring(ledger, flows, rank, false);
    std::vector<int> ranks;
    for (std::uint32_t into = 0; into < ring.size(); ++into) {
      ranks.push_back(ring[into].rank);
      EXPECT_EQ(ring.index_of(ring[into].rank), into);
    }
    return ranks;
  };
  EXPECT_EQ(order(3), (std::vector<int>{5, 6, 0, 2}));
  EXPECT_EQ(order(7), (std::vector<int>{0, 2, 5, 6}));
  EXPECT_EQ(order(1), (std::vector<int>{2, 5, 6, 0}));
}

TEST(RingFlows, GoAsFarAsTheyAreAllowed) {
  Ledger ledger;
  Vector<Flow> flows(ledger);
  flows.push_back({1, 10});
  EXPECT_EQ((RingFlows<Flow>(ledger, flows, 0, false).limit(0)), 10U);
  RingFlows<Flow> limited(ledger, flows, 0, true);
  EXPECT_EQ(limited.limit(0), 0U);
  limited.allow(0, 3);
  limited.allow(0, 4);
  EXPECT_EQ(limited.limit(0), 7U);
  limited.allow_nothing();
  EXPECT_EQ(limited.limit(0), 0U);
}

}  // namespace
}  // namespace valet::engine
