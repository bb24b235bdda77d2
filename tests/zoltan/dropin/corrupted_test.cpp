// SPDX-License-Identifier: BSD-3-Clause

// A byte of a packed object changes on its way: MIGRATE_VERIFY finds it, on all ranks alike.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

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

/// Sends everything to the next rank. The code on this rank.
int migrate(Zoltan_Struct* zoltan) {
  constexpr int objects = 20;
  std::vector<ZOLTAN_ID_TYPE> ids;
  for (int k = 0; k < objects; ++k) ids.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
  std::vector<int> procs(ids.size(), (rank() + 1) % size());
  testing::internal::CaptureStderr();
  const int code = Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, objects,
                                  ids.data(), ids.data(), procs.data(), nullptr);
  testing::internal::GetCapturedStderr();
  return code;
}

TEST_P(Corrupted, PackedObjectsAreFoundByAllRanks) {
  if (size() == 1) return;
  const std::string mode = GetParam();
  const std::size_t behind = mode.find('_');
  Zoltan_Struct* zoltan = Zoltan_Create(MPI_COMM_WORLD);
  Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
  Zoltan_Set_Param(zoltan, "MIGRATE_CALLBACKS", mode.substr(0, behind).c_str());
  Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", mode.substr(behind + 1).c_str());
  Zoltan_Set_Param(zoltan, "MIGRATE_MEMORY", "1M");
  Zoltan_Set_Param(zoltan, "MIGRATE_SHARE_MEMORY", "0");
  Zoltan_Set_Param(zoltan, "MIGRATE_VERIFY", "1");
  Zoltan_Set_Obj_Size_Fn(
      zoltan, [](void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*) { return object_bytes; },
      nullptr);
  Zoltan_Set_Pack_Obj_Fn(
      zoltan, [](void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int, char*, int*) {}, nullptr);
  Zoltan_Set_Unpack_Obj_Fn(
      zoltan, [](void*, int, ZOLTAN_ID_PTR, int, char*, int*) {}, nullptr);

  EXPECT_TRUE(all_ranks(migrate(zoltan) == ZOLTAN_OK));
  Valet_Migration_Report report{};
  Valet_Get_Report(zoltan, &report);
  EXPECT_EQ(report.verified, 1);

  corrupts = rank() == 1;
  EXPECT_TRUE(all_ranks(migrate(zoltan) == ZOLTAN_FATAL));
  EXPECT_FALSE(corrupts);
  Valet_Get_Report(zoltan, &report);
  EXPECT_EQ(report.verified, 0);
  const std::string expected = "rank " + std::to_string(2 % size()) +
                               ": the 20 packed objects of rank 1 are not what that rank packed";
  expect_words(report.message, {expected});
  Zoltan_Destroy(&zoltan);
}

INSTANTIATE_TEST_SUITE_P(Modes, Corrupted,
                         ::testing::Values("HOLD_STREAM", "STEPS_STREAM", "HOLD_DIRECT",
                                           "HOLD_PHASED", "STEPS_PHASED", "HOLD_CYCLIC"),
                         ParameterName());

}  // namespace
