// SPDX-License-Identifier: BSD-3-Clause

// More than an int counts: 2.5 GiB from and to every rank, 4.3 GiB to one rank. Objects are made
// from their ids when they are packed and checked when they are unpacked, so that the packed bytes
// are all the memory there is.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using namespace valet::test;

constexpr int object_bytes = (1 << 20) + 1000;

class LargeClient {
 public:
  LargeClient(int exported, bool multi, const char* callbacks)
      : zoltan(Zoltan_Create(MPI_COMM_WORLD)) {
    for (int k = 0; k < exported; ++k) {
      gids.push_back(static_cast<ZOLTAN_ID_TYPE>(100000 * rank() + k));
      procs.push_back((rank() + 1) % size());
    }
    Zoltan_Set_Param(zoltan, "DEBUG_LEVEL", "0");
    Zoltan_Set_Param(zoltan, "MIGRATE_METHOD", "STREAM");
    Zoltan_Set_Param(zoltan, "MIGRATE_CALLBACKS", callbacks);
    if (multi) {
      Zoltan_Set_Obj_Size_Multi_Fn(zoltan, size_many, this);
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan, pack_many, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan, unpack_many, this);
    } else {
      Zoltan_Set_Obj_Size_Fn(zoltan, size_one, this);
      Zoltan_Set_Pack_Obj_Fn(zoltan, pack_one, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_one, this);
    }
  }
  LargeClient(const LargeClient&) = delete;
  LargeClient& operator=(const LargeClient&) = delete;
  ~LargeClient() { Zoltan_Destroy(&zoltan); }

  int migrate() {
    return Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr,
                          static_cast<int>(gids.size()), gids.data(), gids.data(), procs.data(),
                          nullptr);
  }
  [[nodiscard]] Valet_Migration_Report report() const {
    Valet_Migration_Report result{};
    Valet_Get_Report(zoltan, &result);
    return result;
  }

  Zoltan_Struct* zoltan;
  std::vector<ZOLTAN_ID_TYPE> gids;
  std::vector<int> procs;
  long long arrived = 0;
  long long wrong = 0;
  int unpack_calls = 0;

 private:
  static LargeClient& of(void* data) { return *static_cast<LargeClient*>(data); }
  static std::uint64_t word(ZOLTAN_ID_TYPE id, std::uint64_t k) {
    return (std::uint64_t{id} + 1) * 0x9E3779B97F4A7C15ULL + k;
  }
  static int size_one(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
    *code = ZOLTAN_OK;
    return object_bytes;
  }
  static void size_many(void*, int, int, int count, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* sizes,
                        int* code) {
    for (int k = 0; k < count; ++k) sizes[k] = object_bytes;
    *code = ZOLTAN_OK;
  }
  static void pack_one(void*, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int, char* buffer,
                       int* code) {
    auto* const words = reinterpret_cast<std::uint64_t*>(buffer);
    for (std::uint64_t k = 0; k < object_bytes / 8; ++k) words[k] = word(*gid, k);
    *code = ZOLTAN_OK;
  }
  static void pack_many(void* data, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int*,
                        int*, int* offsets, char* buffer, int* code) {
    for (int k = 0; k < count; ++k)
      pack_one(data, 1, 1, gids + k, nullptr, 0, 0, buffer + offsets[k], code);
  }
  static void unpack_one(void* data, int, ZOLTAN_ID_PTR gid, int, char* buffer, int* code) {
    const auto* const words = reinterpret_cast<const std::uint64_t*>(buffer);
    bool good = true;
    for (std::uint64_t k = 0; k < object_bytes / 8; ++k) good = good && words[k] == word(*gid, k);
    ++of(data).arrived;
    if (!good) ++of(data).wrong;
    *code = ZOLTAN_OK;
  }
  static void unpack_many(void* data, int, int count, ZOLTAN_ID_PTR gids, int*, int* offsets,
                          char* buffer, int* code) {
    ++of(data).unpack_calls;
    for (int k = 0; k < count; ++k) unpack_one(data, 1, gids + k, 0, buffer + offsets[k], code);
  }
};

void expect_everything(LargeClient& client, int code) {
  EXPECT_TRUE(all_ranks(code == ZOLTAN_OK));
  EXPECT_EQ(sum_over_ranks(client.wrong), 0);
  EXPECT_EQ(sum_over_ranks(client.arrived),
            sum_over_ranks(static_cast<long long>(client.gids.size())));
  const Valet_Migration_Report report = client.report();
  EXPECT_TRUE(all_ranks(report.peak_extra_bytes <= report.extra_bytes_bound));
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
  EXPECT_LE(client.report().peak_extra_bytes, 6U << 20);
}

TEST(Large, StepsToOneRank) {
  LargeClient client(rank() == 0 ? one_way : 0, false, "STEPS");
  Zoltan_Set_Param(client.zoltan, "MIGRATE_MEMORY", "32M");  // fewer steps, to save time
  expect_everything(client, client.migrate());
}

}  // namespace
