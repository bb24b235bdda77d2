// SPDX-License-Identifier: BSD-3-Clause

// Which way messages are written follows from how fast they were read.

#include "storage/node_memory.hpp"
#include "testing.hpp"

namespace valet::test {
namespace {

constexpr std::uint64_t message_bytes = std::uint64_t{128} << 10;

class Messages {
 public:
  /// Messages written past the cache, of `count` that take so many seconds to read.
  int past_cache(int count, double through, double past, int interrupted_every = 0) {
    int past_cache = 0;
    for (int k = 0; k < count; ++k) {
      const std::byte* const place = memory_.data() + number_++ % 4 * message_bytes;
      const bool is_past = handover_.choose(place, message_bytes);
      past_cache += is_past ? 1 : 0;
      const bool interrupted = interrupted_every > 0 && k % interrupted_every == 0;
      handover_.note_read(place + message_bytes / 2, message_bytes / 2,
                          interrupted ? 1
                          : is_past   ? past
                                      : through);
    }
    return past_cache;
  }
  bool chooses_for(std::uint64_t bytes) { return handover_.choose(memory_.data(), bytes); }

 private:
  storage::Handover handover_;
  std::vector<std::byte> memory_ = std::vector<std::byte>(4 * message_bytes);
  std::size_t number_ = 0;
};

TEST(Handover, TriesBothWaysAtFirst) { EXPECT_EQ(Messages().past_cache(16, 1e-6, 1e-6), 8); }

TEST(Handover, GoesThroughTheCacheUnlessTheOtherWayIsClearlyFaster) {
  EXPECT_LE(Messages().past_cache(640, 1e-5, 1e-5), 8 + 10);
  EXPECT_LE(Messages().past_cache(640, 1e-5, 0.9e-5), 8 + 10);
  EXPECT_GE(Messages().past_cache(640, 1e-5, 0.5e-5), 640 - 8 - 10);
}

TEST(Handover, FollowsACoreThatMovesAway) {
  Messages messages;
  EXPECT_LE(messages.past_cache(640, 1e-5, 2e-5), 18);
  messages.past_cache(16, 8e-5, 2e-5);
  EXPECT_GE(messages.past_cache(640, 8e-5, 2e-5), 640 - 10);
}

TEST(Handover, IsNotMisledByInterruptions) {
  EXPECT_LE(Messages().past_cache(640, 1e-5, 2e-5, 3), 18);
  EXPECT_GE(Messages().past_cache(640, 4e-5, 2e-5, 3), 640 - 18);
}

TEST(Handover, LeavesSmallMessagesInTheCache) {
  Messages messages;
  for (int k = 0; k < 100; ++k) EXPECT_FALSE(messages.chooses_for(1000));
}

}  // namespace
}  // namespace valet::test
