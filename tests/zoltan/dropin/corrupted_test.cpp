// SPDX-License-Identifier: BSD-3-Clause

// A byte of a packed object changes on its way: MIGRATE_VERIFY finds it, on all ranks alike.

#include "object_client.hpp"
#include "spoilt_sends.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

constexpr int object_bytes = 4000;

class Corrupted : public ::testing::TestWithParam<const char*> {};

/// Sends everything to the next rank.
class Client : public ObjectClient {
 public:
  explicit Client(const std::string& mode)
      : ObjectClient({{"MIGRATE_CALLBACKS", mode.substr(0, mode.find('_'))},
                      {"MIGRATE_METHOD", mode.substr(mode.find('_') + 1)},
                      {"MIGRATE_MEMORY", "1M"},
                      {"MIGRATE_SHARE_MEMORY", "0"},
                      {"MIGRATE_VERIFY", "1"}},
                     false) {
    for (Id id = 0; id < 20; ++id) export_to((rank() + 1) % size(), id, id);
  }

 private:
  int size_of(Id, Id) override { return object_bytes; }
  void pack(Id, Id, int, int, char*) override {}
  void unpack(Id, int, char*) override {}
};

TEST_P(Corrupted, PackedObjectsAreFoundByAllRanks) {
  if (size() == 1) return;
  Client client(GetParam());
  EXPECT_TRUE(all_ranks(client.migrate_quietly() == ZOLTAN_OK));
  EXPECT_EQ(client.report.verified, 1);

  if (rank() == 1) spoil_next(object_bytes);  // long enough to have packed objects
  EXPECT_TRUE(all_ranks(client.migrate_quietly() == ZOLTAN_FATAL));
  EXPECT_FALSE(spoil);
  EXPECT_EQ(client.report.verified, 0);
  expect_words(client.report.message,
               {"rank " + std::to_string(2 % size()) +
                ": the 20 packed objects of rank 1 are not what that rank packed"});
}

INSTANTIATE_TEST_SUITE_P(Modes, Corrupted,
                         ::testing::Values("HOLD_STREAM", "STEPS_STREAM", "HOLD_DIRECT",
                                           "HOLD_PHASED", "STEPS_PHASED", "HOLD_CYCLIC"),
                         ParameterName());

}  // namespace
