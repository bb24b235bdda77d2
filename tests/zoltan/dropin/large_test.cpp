// SPDX-License-Identifier: BSD-3-Clause

// More than an int counts: 2.5 GiB from and to every rank, 4.3 GiB to one rank. Objects are made
// from their ids when they are packed and checked when they are unpacked, so that the packed bytes
// are all the memory there is.

#include "object_client.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

constexpr int object_bytes = (1 << 20) + 1000;

class LargeClient : public ObjectClient {
 public:
  LargeClient(int exported, bool multi, const char* callbacks)
      : ObjectClient({{"MIGRATE_METHOD", "STREAM"}, {"MIGRATE_CALLBACKS", callbacks}}, multi) {
    for (int k = 0; k < exported; ++k) {
      const auto id = static_cast<Id>(100000 * rank() + k);
      export_to((rank() + 1) % size(), id, id);
    }
  }

  long long arrived = 0;
  long long wrong = 0;
  int unpack_calls = 0;

 private:
  static std::uint64_t word(Id id, std::uint64_t k) {
    return (std::uint64_t{id} + 1) * 0x9E3779B97F4A7C15ULL + k;
  }
  int size_of(Id, Id) override { return object_bytes; }
  void pack(Id gid, Id, int, int, char* to) override {
    auto* const words = reinterpret_cast<std::uint64_t*>(to);
    for (std::uint64_t k = 0; k < object_bytes / 8; ++k) words[k] = word(gid, k);
  }
  void unpack_begins(int) override { ++unpack_calls; }
  void unpack(Id gid, int, char* from) override {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(from);
    bool good = true;
    for (std::uint64_t k = 0; k < object_bytes / 8; ++k) good = good && words[k] == word(gid, k);
    ++arrived;
    if (!good) ++wrong;
  }
};

void expect_everything(LargeClient& client, int code) {
  EXPECT_TRUE(all_ranks(code == ZOLTAN_OK));
  EXPECT_EQ(sum_over_ranks(client.wrong), 0);
  EXPECT_EQ(sum_over_ranks(client.arrived),
            sum_over_ranks(static_cast<long long>(client.gids.size())));
  expect_within_bound(client.report);
}

constexpr int both_ways = 2560;  // objects: 2.5 GiB
constexpr int one_way = 4400;    // 4.3 GiB

TEST(Large, HoldBothWaysWithSingleForms) {
  LargeClient client(both_ways, false, "HOLD");
  expect_everything(client, client.migrate());
}

TEST(Large, HoldBothWaysWithMultiFormsInAsFewCallsAsNeeded) {
  LargeClient client(both_ways, true, "HOLD");
  expect_everything(client, client.migrate());
  EXPECT_EQ(client.unpack_calls, 2);
}

TEST(Large, HoldToOneRank) {
  LargeClient client(rank() == 0 ? one_way : 0, true, "HOLD");
  expect_everything(client, client.migrate());
  EXPECT_EQ(client.unpack_calls, rank() == 1 ? 3 : 0);
}

TEST(Large, StepsBothWays) {
  LargeClient client(both_ways, true, "STEPS");
  expect_everything(client, client.migrate());
  EXPECT_LE(client.report.peak_extra_bytes, 6U << 20);
}

TEST(Large, StepsToOneRank) {
  LargeClient client(rank() == 0 ? one_way : 0, false, "STEPS");
  client.set("MIGRATE_MEMORY", "32M");  // fewer steps, to save time
  expect_everything(client, client.migrate());
}

}  // namespace
