// SPDX-License-Identifier: BSD-3-Clause

// Memory shared on a node is a faster way for the same bytes: with it and without it the
// application sees the same callbacks in the same order, and gets the same. It is kept for the next
// migration, whatever that is, within the memory of both.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace valet::test;

constexpr int objects = 3000;

int size_of(ZOLTAN_ID_TYPE gid) {
  if (gid % 11 == 0) return 0;
  if (gid % 997 == 5) return 9000;  // more than a slot of shared memory has
  return 1 + static_cast<int>(gid * 37 % 900);
}

unsigned char byte_of(ZOLTAN_ID_TYPE gid, int k) {
  return static_cast<unsigned char>(gid * 131 + static_cast<ZOLTAN_ID_TYPE>(k) * 7);
}

/// Keeps what the callbacks see. Writes every second byte of an object only: the others arrive as
/// zeros.
class Client {
 public:
  Client(const char* method, const char* callbacks, bool multi, bool shares)
      : zoltan_(Zoltan_Create(MPI_COMM_WORLD)) {
    const std::string share = shares ? "1" : "0";
    for (const auto& [name, value] :
         std::vector<std::pair<const char*, const char*>>{{"DEBUG_LEVEL", "0"},
                                                          {"MIGRATE_ONLY_PROC_CHANGES", "0"},
                                                          {"MIGRATE_METHOD", method},
                                                          {"MIGRATE_CALLBACKS", callbacks},
                                                          {"MIGRATE_MEMORY", "128K"},
                                                          {"MIGRATE_VERIFY", "1"},
                                                          {"MIGRATE_SHARE_MEMORY", share.c_str()}})
      EXPECT_EQ(Zoltan_Set_Param(zoltan_, name, value), ZOLTAN_OK) << name;
    if (multi) {
      Zoltan_Set_Obj_Size_Multi_Fn(zoltan_, sizes, this);
      Zoltan_Set_Pack_Obj_Multi_Fn(zoltan_, packs, this);
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan_, unpacks, this);
    } else {
      Zoltan_Set_Obj_Size_Fn(zoltan_, size, this);
      Zoltan_Set_Pack_Obj_Fn(zoltan_, pack, this);
      Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack, this);
    }
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { Zoltan_Destroy(&zoltan_); }

  /// @param hop  All objects go to the rank so far behind; none: to ranks that alternate.
  void migrate(int count = objects, std::optional<int> hop = {}) {
    std::vector<ZOLTAN_ID_TYPE> gids, lids;
    std::vector<int> procs;
    for (int k = 0; k < count; ++k) {
      gids.push_back(static_cast<ZOLTAN_ID_TYPE>(rank() * objects + k));
      lids.push_back(static_cast<ZOLTAN_ID_TYPE>(k));
      procs.push_back((rank() + hop.value_or(k * k)) % size_of_world());
    }
    if (!in_mid_) unpacked = 0;
    EXPECT_EQ(Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, count, gids.data(),
                             lids.data(), procs.data(), nullptr),
              ZOLTAN_OK);
    EXPECT_EQ(wrong_, 0U);
    Valet_Get_Report(zoltan_, &report);
  }

  /// From now on another migration of the same handle takes place in the middle of each.
  void migrate_within_mid() {
    EXPECT_EQ(Zoltan_Set_Mid_Migrate_PP_Fn(zoltan_, mid, this), ZOLTAN_OK);
  }

  void set(const char* name, const std::string& value) {
    EXPECT_EQ(Zoltan_Set_Param(zoltan_, name, value.c_str()), ZOLTAN_OK) << name;
  }

  std::vector<std::string> calls;
  int unpacked = 0;
  int nested = 0;  ///< migrations inside others: STEPS calls mid after each step
  Valet_Migration_Report report{};

 private:
  static int size_of_world() { return valet::test::size(); }
  static Client& of(void* data) { return *static_cast<Client*>(data); }

  void note(const char* what, ZOLTAN_ID_TYPE gid) { calls.push_back(what + std::to_string(gid)); }
  static void mid(void* data, int, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int,
                  ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*, int*, int* code) {
    *code = ZOLTAN_OK;
    Client& client = of(data);
    if (std::exchange(client.in_mid_, true)) return;
    ++client.nested;
    client.migrate();
    client.in_mid_ = false;
  }
  static int size(void*, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* code) {
    *code = ZOLTAN_OK;
    return size_of(*gid);
  }
  static void sizes(void*, int, int, int count, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR, int* all,
                    int* code) {
    for (int k = 0; k < count; ++k) all[k] = size_of(gids[k]);
    *code = ZOLTAN_OK;
  }
  static void pack(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int, char* to,
                   int* code) {
    of(data).note("pack ", *gid);
    for (int k = 0; k < size_of(*gid); k += 2) to[k] = static_cast<char>(byte_of(*gid, k));
    *code = ZOLTAN_OK;
  }
  static void packs(void* data, int gid_entries, int lid_entries, int count, ZOLTAN_ID_PTR gids,
                    ZOLTAN_ID_PTR lids, int* to_rank, int* bytes, int* offsets, char* to,
                    int* code) {
    of(data).calls.push_back("packs " + std::to_string(count));
    for (int k = 0; k < count; ++k)
      pack(data, gid_entries, lid_entries, gids + k, lids + k, to_rank[k], bytes[k],
           to + offsets[k], code);
  }
  static void unpack(void* data, int, ZOLTAN_ID_PTR gid, int, char* from, int* code) {
    of(data).note("unpack ", *gid);
    ++of(data).unpacked;
    for (int k = 0; k < size_of(*gid); ++k) {
      const int expected = k % 2 == 0 ? byte_of(*gid, k) : 0;
      of(data).wrong_ += static_cast<unsigned char>(from[k]) == expected ? 0 : 1;
    }
    *code = ZOLTAN_OK;
  }
  static void unpacks(void* data, int gid_entries, int count, ZOLTAN_ID_PTR gids, int* bytes,
                      int* offsets, char* from, int* code) {
    of(data).calls.push_back("unpacks " + std::to_string(count));
    for (int k = 0; k < count; ++k)
      unpack(data, gid_entries, gids + k, bytes[k], from + offsets[k], code);
  }

  Zoltan_Struct* zoltan_;
  std::size_t wrong_ = 0;
  bool in_mid_ = false;
};

using Case = std::tuple<const char*, const char*, bool>;
class Node : public ::testing::TestWithParam<Case> {};

TEST_P(Node, SeesTheSameWithAndWithoutSharedMemory) {
  const auto [method, callbacks, multi] = GetParam();
  Client shared(method, callbacks, multi, true);
  Client alone(method, callbacks, multi, false);
  shared.migrate();
  alone.migrate();
  EXPECT_TRUE(shared.calls == alone.calls);
  EXPECT_EQ(shared.report.steps, alone.report.steps);
  EXPECT_EQ(shared.report.batches, alone.report.batches);
  EXPECT_LE(shared.report.peak_extra_bytes, shared.report.extra_bytes_bound);
  EXPECT_LE(alone.report.peak_extra_bytes, alone.report.extra_bytes_bound);
  // The slots that a rank shares are counted. With many ranks there is no room for one.
  if (size() <= 2) {
    EXPECT_GT(shared.report.peak_extra_bytes, alone.report.peak_extra_bytes);
  }
}

/// What a migration of one object per rank takes, and so what is kept from the one before.
std::uint64_t kept_after(const char* callbacks, const char* keep) {
  Client client("STREAM", callbacks, false, true);
  client.set("MIGRATE_MEMORY", "1M");
  client.set("MIGRATE_KEEP_MEMORY", keep);
  for (int k = 0; k < 3; ++k) client.migrate(objects, 1);
  client.migrate(1, 1);
  return client.report.peak_extra_bytes;
}

TEST(KeptMemory, IsGivenBackWhereItIsNotToBeKept) {
  for (const char* callbacks : {"HOLD", "STEPS"}) {
    EXPECT_LT(kept_after(callbacks, "0"), 100'000U) << callbacks;
    EXPECT_GT(kept_after(callbacks, "1"), 200'000U) << callbacks;
    EXPECT_LT(kept_after(callbacks, rank() == size() - 1 ? "0" : "1"), 100'000U)
        << "all ranks give it back where one does";
  }
}

// A callback may migrate with the handle that calls it. What has arrived for the outer migration
// must be there afterwards.
TEST(KeptMemory, IsNotThatOfTheMigrationWhoseCallbackMigrates) {
  for (const char* callbacks : {"HOLD", "STEPS"})
    for (const char* keep : {"0", "1"}) {
      Client client("STREAM", callbacks, false, true);
      client.set("MIGRATE_KEEP_MEMORY", keep);
      client.migrate();
      const int expected = client.unpacked;
      client.migrate_within_mid();
      client.migrate();
      EXPECT_GT(client.nested, 0) << callbacks;
      EXPECT_EQ(client.unpacked, (1 + client.nested) * expected) << callbacks;
    }
}

TEST(KeptMemory, ServesMigrationsThatDifferAndStaysInsideTheMemoryOfEach) {
  for (const unsigned seed : {7U, 8U, 59U}) {
    std::mt19937 common(seed);  // what must be the same on all ranks
    std::mt19937 own(seed * 100 + static_cast<unsigned>(rank()));  // what may differ
    const auto one_of = [](std::mt19937& random, const std::vector<const char*>& values) {
      return values[random() % values.size()];
    };
    Client client("STREAM", "HOLD", seed % 2 == 0, true);
    for (int k = 0; k < 24; ++k) {
      client.set("MIGRATE_METHOD", one_of(common, {"STREAM", "STREAM", "PHASED", "CYCLIC"}));
      client.set("MIGRATE_CALLBACKS", one_of(common, {"HOLD", "STEPS"}));
      client.set("MIGRATE_MEMORY", one_of(own, {"20K", "300K", "1M", "4M", "40M"}));
      client.set("MIGRATE_SHARE_MEMORY", one_of(own, {"0", "1", "1", "1"}));
      client.set("MIGRATE_KEEP_MEMORY", one_of(own, {"0", "1", "1", "1", "1", "1", "1"}));
      const int count = 1 + static_cast<int>(common() % objects);
      const int hop = static_cast<int>(common()) % size();
      const bool alternate = common() % 3 == 0;
      const int times = 1 + static_cast<int>(common() % 3);  // the same again may share anew
      for (int time = 0; time < times; ++time) {
        client.migrate(count, alternate ? std::nullopt : std::optional(std::abs(hop)));
        EXPECT_EQ(sum_over_ranks(static_cast<long long>(client.unpacked)),
                  static_cast<long long>(count) * size());
        EXPECT_LE(client.report.peak_extra_bytes, client.report.extra_bytes_bound)
            << "seed " << seed << ", migration " << k << ", time " << time << ": "
            << client.report.method << " " << client.report.callbacks << " with "
            << client.report.budget_bytes << " bytes, " << client.report.bytes_imported
            << " imported";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Node,
                         ::testing::Combine(::testing::Values("STREAM", "PHASED", "CYCLIC"),
                                            ::testing::Values("HOLD", "STEPS"), ::testing::Bool()),
                         [](const auto& one) {
                           return std::string(std::get<0>(one.param)) + "_" +
                                  std::get<1>(one.param) +
                                  (std::get<2>(one.param) ? "_multi" : "_single");
                         });

}  // namespace
