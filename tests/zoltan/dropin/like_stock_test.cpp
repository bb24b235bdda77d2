// SPDX-License-Identifier: BSD-3-Clause

// What stock Zoltan lets an application do during a migration: register other callbacks inside pre
// and mid, give import lists that nobody looks at, have global ids of any length. Each case runs
// with both, and the application must see the same calls.

#include "test_comm.hpp"
#include <valet/zoltan/valet_zoltan.h>

namespace {

using namespace valet::test;

constexpr int stock_objects = 12;
constexpr int stock_bytes = 40;

/// What pre, mid and post are given besides the exports.
struct ImportLists {
  int count = -1;
  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
};

/// Sends object k of each rank to rank k % P and writes down every call, with the generation of the
/// callback: how many times others had been registered in its place.
class NotingClient {
 public:
  NotingClient(const char* method, const char* callbacks, int entries = 1)
      : zoltan(Zoltan_Create(MPI_COMM_WORLD)) {
    for (std::size_t k = 0; k < generations_.size(); ++k)
      generations_[k] = {this, static_cast<int>(k)};
    set("DEBUG_LEVEL", "0");
    set("NUM_GID_ENTRIES", std::to_string(entries).c_str());
    set("NUM_LID_ENTRIES", std::to_string(entries).c_str());
    set("MIGRATE_ONLY_PROC_CHANGES", "0");
    set("MIGRATE_METHOD", method);
    set("MIGRATE_CALLBACKS", callbacks);
    register_sizes_and_packs(0);
    register_unpack(0);
    for (int k = 0; k < stock_objects; ++k) {
      gids_.resize(gids_.size() + static_cast<std::size_t>(entries), 7);
      gids_[gids_.size() - 1] = static_cast<ZOLTAN_ID_TYPE>(1000 * rank() + k);
      procs_.push_back(k % size());
    }
    lids_ = gids_;
  }
  NotingClient(const NotingClient&) = delete;
  NotingClient& operator=(const NotingClient&) = delete;
  ~NotingClient() { Zoltan_Destroy(&zoltan); }

  void set(const char* name, const char* value) { Zoltan_Set_Param(zoltan, name, value); }
  int migrate(ImportLists imports = {}) {
    const auto data = [](auto& list) { return list.empty() ? nullptr : list.data(); };
    return Zoltan_Migrate(zoltan, imports.count, data(imports.gids), data(imports.lids),
                          data(imports.procs), nullptr, stock_objects, gids_.data(), lids_.data(),
                          procs_.data(), nullptr);
  }

  void register_sizes_and_packs(int generation) {
    Zoltan_Set_Obj_Size_Fn(zoltan, size_one, data_of(generation));
    Zoltan_Set_Pack_Obj_Fn(zoltan, pack_one, data_of(generation));
  }
  /// The multi form, where only the single one was before, and the other way round.
  void register_unpack(int generation) {
    if (generation % 2 == 0)
      Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack_one, data_of(generation));
    else
      Zoltan_Set_Unpack_Obj_Multi_Fn(zoltan, unpack_all, data_of(generation));
  }
  void register_pre() { Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, stage<0>, data_of(0)); }
  void register_mid(int generation) {
    Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, stage<1>, data_of(generation));
  }
  void register_post(int generation) {
    Zoltan_Set_Post_Migrate_PP_Fn(zoltan, stage<2>, data_of(generation));
  }

  Zoltan_Struct* zoltan;
  std::vector<std::string> calls;
  /// What the application does in pre (0), mid (1) and post (2).
  std::array<void (*)(NotingClient&), 3> in_stage{};

 private:
  struct Generation {
    NotingClient* client = nullptr;
    int number = 0;
  };
  void* data_of(int generation) { return &generations_[static_cast<std::size_t>(generation)]; }
  static NotingClient& note(void* data, const char* what, const std::string& text) {
    const auto& generation = *static_cast<Generation*>(data);
    generation.client->calls.push_back(what + std::to_string(generation.number) + " " + text);
    return *generation.client;
  }
  static std::string last_of(int entries, ZOLTAN_ID_PTR id) {
    return id == nullptr ? "none" : std::to_string(id[entries - 1]);
  }
  static int size_one(void* data, int entries, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid,
                      int* code) {
    note(data, "size ", last_of(entries, gid) + " " + last_of(entries, lid));
    *code = ZOLTAN_OK;
    return stock_bytes;
  }
  static void pack_one(void* data, int entries, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR lid, int to,
                       int bytes, char*, int* code) {
    note(data, "pack ",
         last_of(entries, gid) + " " + last_of(entries, lid) + " to " + std::to_string(to) + " " +
             std::to_string(bytes));
    *code = ZOLTAN_OK;
  }
  static void unpack_one(void* data, int entries, ZOLTAN_ID_PTR gid, int bytes, char*, int* code) {
    note(data, "unpack ",
         std::to_string(gid[0]) + " " + last_of(entries, gid) + " " + std::to_string(bytes));
    *code = ZOLTAN_OK;
  }
  static void unpack_all(void* data, int entries, int count, ZOLTAN_ID_PTR gids, int* sizes, int*,
                         char* from, int* code) {
    for (int k = 0; k < count; ++k)
      unpack_one(data, entries, gids + k * entries, sizes[k], from, code);
  }
  template <int number>
  static void stage(void* data, int, int, int imports, ZOLTAN_ID_PTR import_gids,
                    ZOLTAN_ID_PTR import_lids, int* import_procs, int*, int exports, ZOLTAN_ID_PTR,
                    ZOLTAN_ID_PTR, int*, int*, int* code) {
    constexpr std::array names{"pre ", "mid ", "post "};
    std::string text = std::to_string(imports) + " imports";
    if (import_gids != nullptr) text += " of " + std::to_string(import_gids[0]);
    if (import_lids != nullptr) text += " at " + std::to_string(import_lids[0]);
    if (import_procs != nullptr) text += " from " + std::to_string(import_procs[0]);
    NotingClient& client =
        note(data, names[number], text + ", " + std::to_string(exports) + " exports");
    if (client.in_stage[number] != nullptr) client.in_stage[number](client);
    *code = ZOLTAN_OK;
  }

  std::array<Generation, 4> generations_;
  std::vector<ZOLTAN_ID_TYPE> gids_, lids_;
  std::vector<int> procs_;
};

/// Calls of one kind, with their generation.
std::size_t count_of(const NotingClient& client, const std::string& begin) {
  return static_cast<std::size_t>(std::ranges::count_if(
      client.calls, [&](const auto& call) { return call.starts_with(begin); }));
}

void register_from_pre_and_mid(NotingClient& client) {
  client.register_pre();
  client.in_stage[0] = [](NotingClient& in_pre) {
    in_pre.register_sizes_and_packs(1);
    in_pre.register_unpack(1);
    in_pre.register_mid(1);  // there was none
  };
  client.in_stage[1] = [](NotingClient& in_mid) {
    in_mid.register_unpack(2);
    in_mid.register_post(2);  // there was none
  };
}

TEST(CallbacksRegisteredDuringAMigration, AreUsedFromThenOnAsInStockZoltan) {
  NotingClient stock("ZOLTAN", "HOLD");
  NotingClient held("STREAM", "HOLD");
  for (NotingClient* const client : {&stock, &held}) {
    register_from_pre_and_mid(*client);
    EXPECT_TRUE(all_ranks(client->migrate() == ZOLTAN_OK));
  }
  EXPECT_EQ(stock.calls, held.calls);
  EXPECT_EQ(count_of(held, "pack 1"), static_cast<std::size_t>(stock_objects));
  EXPECT_EQ(count_of(held, "post 2"), 1U);
}

TEST(CallbacksRegisteredDuringAMigration, AreUsedWithTheOtherMethodsToo) {
  for (const char* const method : {"DIRECT", "PHASED", "CYCLIC"}) {
    NotingClient stock("ZOLTAN", "HOLD");
    NotingClient held(method, "HOLD");
    for (NotingClient* const client : {&stock, &held}) {
      register_from_pre_and_mid(*client);
      EXPECT_TRUE(all_ranks(client->migrate() == ZOLTAN_OK));
    }
    EXPECT_EQ(stock.calls, held.calls) << method;
  }
}

TEST(CallbacksRegisteredDuringAMigration, AreUsedInStepsToo) {
  for (const char* const method : {"STREAM", "PHASED"}) {
    NotingClient client(method, "STEPS");
    client.set("MIGRATE_MEMORY", "1K");
    register_from_pre_and_mid(client);
    EXPECT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK));
    EXPECT_EQ(count_of(client, "size 0") + count_of(client, "pack 0"), 0U);
    EXPECT_EQ(count_of(client, "pack 1"), static_cast<std::size_t>(stock_objects));
    EXPECT_EQ(count_of(client, "unpack 0") + count_of(client, "unpack 1"), 0U);
    EXPECT_GE(count_of(client, "mid 1"), 1U);
    EXPECT_EQ(count_of(client, "post 2"), 1U) << method;
  }
}

TEST(CallbacksRegisteredDuringAMigration, MayBeRegisteredOnOneRankOnly) {
  NotingClient client("STREAM", "HOLD");
  client.register_pre();
  if (rank() == size() - 1)
    client.in_stage[0] = [](NotingClient& in_pre) {
      in_pre.register_mid(1);
      in_pre.register_post(1);
    };
  EXPECT_TRUE(all_ranks(client.migrate() == ZOLTAN_OK));
  EXPECT_EQ(count_of(client, "mid 1") + count_of(client, "post 1"), rank() == size() - 1 ? 2U : 0U);
}

TEST(CallbacksRegisteredDuringAMigration, MustNotLeaveOneMissing) {
  for (const int stage : {0, 1}) {
    NotingClient client("STREAM", "HOLD");
    client.register_pre();
    client.register_mid(0);
    if (rank() == size() - 1)
      client.in_stage[static_cast<std::size_t>(stage)] = [](NotingClient& in_stage) {
        Zoltan_Set_Unpack_Obj_Fn(in_stage.zoltan, nullptr, nullptr);
      };
    testing::internal::CaptureStderr();
    const int code = client.migrate();
    testing::internal::GetCapturedStderr();
    EXPECT_TRUE(all_ranks(code == ZOLTAN_FATAL));
    Valet_Migration_Report report{};
    Valet_Get_Report(client.zoltan, &report);
    expect_words(report.message, {"Must register a ZOLTAN_UNPACK_OBJ_FN"});
  }
}

TEST(ImportListsBesideExportLists, ArePassedOnAsTheyAre) {
  const ZOLTAN_ID_TYPE unknown = 77777;
  const std::vector<ImportLists> cases{
      {},                                           // not given
      {0, {}, {}, {}},                              // none, though some arrive
      {7, {}, {}, {}},                              // a number without arrays
      {1, {unknown}, {3}, {0}},                     // an object that nobody exports
      {1, {unknown}, {3}, {12345}},                 // of a rank that there is not
      {1, {unknown}, {}, {}},                       // some of the arrays
      {rank() == 0 ? 2 : -1, {unknown, 1}, {}, {}}  // not the same on all ranks
  };
  for (std::size_t k = 0; k < cases.size(); ++k) {
    SCOPED_TRACE(k);
    NotingClient stock("ZOLTAN", "HOLD");
    NotingClient held("STREAM", "HOLD");
    for (NotingClient* const client : {&stock, &held}) {
      client->register_pre();
      client->register_mid(0);
      client->register_post(0);
      EXPECT_TRUE(all_ranks(client->migrate(cases[k]) == ZOLTAN_OK));
    }
    EXPECT_EQ(stock.calls, held.calls);
  }
}

TEST(GlobalIds, MayHaveAnyNumberOfEntries) {
  constexpr int entries = 1 << 18;  // a mebibyte: no stack has that much behind a frame
  NotingClient stock("ZOLTAN", "HOLD", entries);
  NotingClient held("STREAM", "HOLD", entries);
  EXPECT_TRUE(all_ranks(stock.migrate() == ZOLTAN_OK));
  EXPECT_TRUE(all_ranks(held.migrate() == ZOLTAN_OK));
  EXPECT_EQ(stock.calls, held.calls);
}

}  // namespace
