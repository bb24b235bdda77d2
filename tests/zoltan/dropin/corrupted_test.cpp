// SPDX-License-Identifier: BSD-3-Clause

// A byte of a packed object changes on its way: MIGRATE_VERIFY finds it, on all ranks alike.

#include "object_client.hpp"
#include "test_comm.hpp"

namespace {

constexpr int object_bytes = 4000;
bool corrupts = false;  ///< the next message that is long enough to have packed objects

}  // namespace

// This stands in front of MPI's function for the library as well.
extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count,
                                                                MPI_Datatype type, int destination,
                                                                int tag, MPI_Comm comm,
                                                                MPI_Request* request) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  if (corrupts && count * bytes >= object_bytes) {
    corrupts = false;
    static_cast<unsigned char*>(const_cast<void*>(buffer))[object_bytes / 2] ^= 1;
  }
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}

namespace {

using namespace valet::test;

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

  corrupts = rank() == 1;
  EXPECT_TRUE(all_ranks(client.migrate_quietly() == ZOLTAN_FATAL));
  EXPECT_FALSE(corrupts);
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
