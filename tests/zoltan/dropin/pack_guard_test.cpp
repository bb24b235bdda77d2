// SPDX-License-Identifier: BSD-3-Clause

// A pack that writes outside the size that was declared is found under MIGRATE_VERIFY, on all ranks
// alike, with the name of the object, whatever moves the objects; one that stays inside is not.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace valet::test;

constexpr int objects = 60;
constexpr int no_object = -1;

/// Sizes that are multiples of 8, and others.
int size_of(ZOLTAN_ID_TYPE lid) { return static_cast<int>(lid % 9 == 0 ? 0 : 8 + lid % 50); }

/// Object k of each rank goes to rank k % P; one of them is packed with other bytes than declared.
class Writer {
 public:
  Writer(const std::string& mode, bool many, const char* memory)
      : zoltan(Zoltan_Create(MPI_COMM_WORLD)) {
    const std::size_t split = mode.find('_');
    Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
    Zoltan_Set_Param(zoltan, "MIGRATE_ONLY_PROC_CHANGES", "0");
    Zoltan_Set_Param(zoltan, "MIGRATE_CALLBACKS", mode.substr(0, split).c_str());
    Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", mode.substr(split + 1).c_str());
    Zoltan_Set_Param(zoltan, "MIGRATE_MEMORY", memory);
    Zoltan_Set_Param(zoltan, "MIGRATE_VERIFY", "1");
    for (int k = 0; k < objects; ++k) {
      gids.push_back(static_cast<ZOLTAN_ID_TYPE>(1000 * rank() + k));
      lids.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
      procs.push_back(k % size());
    }
    Zoltan_Set_Obj_Size_Fn(
        zoltan,
        [](void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR lid, int* code) {
          *code = ZOLTAN_OK;
          return size_of(*lid);
        },
        this);
    if (many) {
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan, pack_many, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan, unpack_many, this);
    } else {
      Zoltan_Set_Pack_Obj_Fn(zoltan, pack_one, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_one, this);
    }
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { Zoltan_Destroy(&zoltan); }

  int migrate() {
    testing::internal::CaptureStderr();
    const int code = Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, objects,
                                    gids.data(), lids.data(), procs.data(), nullptr);
    testing::internal::GetCapturedStderr();
    Valet_Get_Report(zoltan, &report);
    return code;
  }

  Zoltan_Struct* zoltan;
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
  int wrong_object = no_object;
  int before = 0, behind = 0;  ///< bytes that are written too much
  long long arrived = 0, damaged = 0;
  Valet_Migration_Report report{};

 private:
  static Writer& of(void* data) { return *static_cast<Writer*>(data); }
  void pack(ZOLTAN_ID_TYPE gid, ZOLTAN_ID_TYPE lid, int bytes, char* to) const {
    std::memset(to, static_cast<int>(gid % 251), static_cast<std::size_t>(bytes));
    if (static_cast<int>(lid) != wrong_object) return;
    std::memset(to + bytes, 0, static_cast<std::size_t>(behind));
    std::memset(to - before, 0, static_cast<std::size_t>(before));
  }
  void unpack(ZOLTAN_ID_TYPE gid, int bytes, const char* from) {
    ++arrived;
    for (int k = 0; k < bytes; ++k)
      if (static_cast<unsigned char>(from[k]) != gid % 251) {
        ++damaged;
        return;
      }
  }
  static void pack_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int, int bytes,
                       char* to, int* code) {
    *code = ZOLTAN_OK;
    of(data).pack(*gid, *lid, bytes, to);
  }
  static void pack_many(void* data, int, int, int count, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int*,
                        int* sizes, int* offsets, char* to, int* code) {
    *code = ZOLTAN_OK;
    for (int k = 0; k < count; ++k) of(data).pack(gid[k], lid[k], sizes[k], to + offsets[k]);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int bytes, char* from, int* code) {
    *code = ZOLTAN_OK;
    of(data).unpack(*gid, bytes, from);
  }
  static void unpack_many(void* data, int, int count, ZOLTAN_ID_PTR gid, int* sizes, int* offsets,
                          char* from, int* code) {
    *code = ZOLTAN_OK;
    for (int k = 0; k < count; ++k) of(data).unpack(gid[k], sizes[k], from + offsets[k]);
  }
};

class PackGuard : public ::testing::TestWithParam<const char*> {};

/// DIRECT needs room for everything.
const char* memory_for(const std::string& mode) {
  return mode.find("DIRECT") == std::string::npos ? "1K" : "64K";
}

TEST_P(PackGuard, FindsWhoWritesOutsideItsObject) {
  struct Case {
    int object, before, behind;
  };
  const std::vector<Case> cases{
      {0, 0, 1}, {1, 0, 8}, {objects / 2, 0, 60}, {objects - 1, 0, 1}, {objects - 1, 0, 700}};
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
        EXPECT_TRUE(all_ranks(writer.migrate() == ZOLTAN_FATAL));
        const std::string message = writer.report.message;
        const int bytes = (size_of(static_cast<ZOLTAN_ID_TYPE>(one.object)) + 7) / 8 * 8;
        const std::string expected =
            "rank " + std::to_string(where) + ": ZOLTAN_PACK_OBJ_" + (many ? "MULTI_FN" : "FN") +
            " wrote outside the " + std::to_string(bytes) +
            " bytes (the size, rounded up to a multiple of 8) of the object with global id " +
            std::to_string(1000 * where + one.object) + " (number ";
        EXPECT_NE(message.find(expected), std::string::npos) << message;
        EXPECT_EQ(writer.report.verified, 0);
      }
}

TEST_P(PackGuard, FindsWhoWritesInFrontOfItsObject) {
  for (const bool many : {false, true}) {
    Writer writer(GetParam(), many, memory_for(GetParam()));
    if (rank() == 0) writer.wrong_object = 0;
    writer.before = 5;
    EXPECT_TRUE(all_ranks(writer.migrate() == ZOLTAN_FATAL));
    EXPECT_NE(std::string(writer.report.message).find("object with global id 0 (number 0"),
              std::string::npos)
        << writer.report.message;
  }
}

TEST_P(PackGuard, SaysNothingOfPacksThatFillTheirObjects) {
  for (const bool many : {false, true}) {
    Writer writer(GetParam(), many, memory_for(GetParam()));
    EXPECT_TRUE(all_ranks(writer.migrate() == ZOLTAN_OK)) << writer.report.message;
    EXPECT_EQ(sum_over_ranks(writer.damaged), 0);
    EXPECT_EQ(sum_over_ranks(writer.arrived), objects * size());
    EXPECT_EQ(writer.report.verified, 1);
    EXPECT_TRUE(all_ranks(writer.report.peak_extra_bytes <= writer.report.extra_bytes_bound))
        << writer.report.peak_extra_bytes << " of " << writer.report.extra_bytes_bound;
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, PackGuard,
                         ::testing::Values("HOLD_STREAM", "STEPS_STREAM", "HOLD_DIRECT",
                                           "STEPS_DIRECT", "HOLD_PHASED", "STEPS_PHASED",
                                           "HOLD_CYCLIC", "STEPS_CYCLIC"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
