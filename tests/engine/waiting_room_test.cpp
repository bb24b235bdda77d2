// SPDX-License-Identifier: BSD-3-Clause
#include "engine/ordered/waiting_room.hpp"

#include "engine/slots/ring_flows.hpp"
#include "testing.hpp"

#include <deque>

namespace valet::engine {
namespace {

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
      for (std::size_t place = first; place < first + count; ++place) {
        ASSERT_LT(place, blocks);
        ASSERT_EQ(std::ranges::count(waiting, place), 0) << "somebody waits there";
        waiting.push_back(place);
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
    for (std::uint32_t place = 0; place < ring.size(); ++place) {
      ranks.push_back(ring[place].rank);
      EXPECT_EQ(ring.place_of(ring[place].rank), place);
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
