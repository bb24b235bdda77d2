// SPDX-License-Identifier: BSD-3-Clause

// A pack that writes outside the size that was declared is found under MIGRATE_VERIFY, on all ranks
// alike, with the name of the object, whatever moves the objects; one that stays inside is not.

#include "object_client.hpp"
#include "test_comm.hpp"

namespace {

using namespace valet::test;

constexpr int guarded_objects = 60;
constexpr int no_object = -1;

/// Sizes that are multiples of 8, and others.
int guarded_bytes_of(ZOLTAN_ID_TYPE lid) {
  return static_cast<int>(lid % 9 == 0 ? 0 : 8 + lid % 50);
}

/// Object k of each rank goes to rank k % P; one of them is packed with other bytes than declared.
class Writer : public ObjectClient {
 public:
  Writer(const std::string& mode, bool many, const char* memory)
      : ObjectClient({{"MIGRATE_ONLY_PROC_CHANGES", "0"},
                      {"MIGRATE_CALLBACKS", mode.substr(0, mode.find('_'))},
                      {"MIGRATE_METHOD", mode.substr(mode.find('_') + 1)},
                      {"MIGRATE_MEMORY", memory},
                      {"MIGRATE_VERIFY", "1"}},
                     many) {
    for (int k = 0; k < guarded_objects; ++k)
      export_to(k % size(), static_cast<Id>(1000 * rank() + k), static_cast<Id>(k));
  }

  int wrong_object = no_object;
  int before = 0, behind = 0;  ///< bytes that are written too much
  long long arrived = 0, damaged = 0;

 private:
  int size_of(Id, Id lid) override { return guarded_bytes_of(lid); }
  void pack(Id gid, Id lid, int, int bytes, char* to) override {
    std::memset(to, static_cast<int>(gid % 251), static_cast<std::size_t>(bytes));
    if (static_cast<int>(lid) != wrong_object) return;
    std::memset(to + bytes, 0, static_cast<std::size_t>(behind));
    std::memset(to - before, 0, static_cast<std::size_t>(before));
  }
  void unpack(Id gid, int bytes, char* from) override {
    ++arrived;
    const auto is_right = [&](char byte) { return static_cast<unsigned char>(byte) == gid % 251; };
    damaged += std::all_of(from, from + bytes, is_right) ? 0 : 1;
  }
};

class PackGuard : public ::testing::TestWithParam<const char*> {};

/// DIRECT needs room for everything.
const char* memory_for(const std::string& mode) { return !contains(mode, "DIRECT") ? "1K" : "64K"; }

TEST_P(PackGuard, FindsWhoWritesOutsideItsObject) {
  struct Case {
    int object, before, behind;
  };
  const std::vector<Case> cases{{0, 0, 1},
                                {1, 0, 8},
                                {guarded_objects / 2, 0, 60},
                                {guarded_objects - 1, 0, 1},
                                {guarded_objects - 1, 0, 700}};
  for (const bool many : {false, true})
    for (const Case& one : cases)
      for (const int where : {0, size() - 1}) {
        SCOPED_TRACE((many ? "many, object " : "one, object ") + std::to_string(one.object) +
                     " on rank " + std::to_string(where));
        Writer writer(GetParam(), many, memory_for(GetParam()));
        if (rank() == where) {
          writer.wrong_object = one.object;
          writer.behind = one.behind;
        }
        EXPECT_TRUE(all_ranks(writer.migrate_quietly() == ZOLTAN_FATAL));
        const std::string message = writer.report.message;
        const int bytes = (guarded_bytes_of(static_cast<ZOLTAN_ID_TYPE>(one.object)) + 7) / 8 * 8;
        const std::string expected =
            "rank " + std::to_string(where) + ": ZOLTAN_PACK_OBJ_" + (many ? "MULTI_FN" : "FN") +
            " wrote outside the " + std::to_string(bytes) +
            " bytes (the size, rounded up to a multiple of 8) of the object with global id " +
            std::to_string(1000 * where + one.object) + " (number ";
        expect_words(message, {expected});
        EXPECT_EQ(writer.report.verified, 0);
      }
}

TEST_P(PackGuard, FindsWhoWritesInFrontOfItsObject) {
  for (const bool many : {false, true}) {
    Writer writer(GetParam(), many, memory_for(GetParam()));
    if (rank() == 0) writer.wrong_object = 0;
    writer.before = 5;
    EXPECT_TRUE(all_ranks(writer.migrate_quietly() == ZOLTAN_FATAL));
    expect_words(writer.report.message, {"object with global id 0 (number 0"});
  }
}

TEST_P(PackGuard, SaysNothingOfPacksThatFillTheirObjects) {
  for (const bool many : {false, true}) {
    Writer writer(GetParam(), many, memory_for(GetParam()));
    EXPECT_TRUE(all_ranks(writer.migrate_quietly() == ZOLTAN_OK)) << writer.report.message;
    EXPECT_EQ(sum_over_ranks(writer.damaged), 0);
    EXPECT_EQ(sum_over_ranks(writer.arrived), guarded_objects * size());
    EXPECT_EQ(writer.report.verified, 1);
    expect_within_bound(writer.report);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PackGuard,
                         ::testing::Values("HOLD_STREAM", "STEPS_STREAM", "HOLD_DIRECT",
                                           "STEPS_DIRECT", "HOLD_PHASED", "STEPS_PHASED",
                                           "HOLD_CYCLIC", "STEPS_CYCLIC"),
                         ParameterName());

}  // namespace
