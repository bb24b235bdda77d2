// SPDX-License-Identifier: BSD-3-Clause

// An application written for STEPS: its slots never hold more than it has said, it lets go of an
// object in the free callback, and mid is collective with the lists of one step.

#include "../../zoltan/dropin/object_client.hpp"
#include "application.hpp"
#include "gathered.hpp"
#include "lists.hpp"

namespace {

using namespace clients;
using namespace valet::test;

struct Settings {
  bool multi = false;
  bool mid = false;
  bool memory = false;
  bool shuffled = false;  ///< destinations in any order
  bool import_lists = false;
  std::string budget = "20K";
  std::string method = "STREAM";
  std::string heuristic = "DEFAULT";
};

/// Objects by id; payloads are made from the id.
class StepsClient : public ObjectClient {
 public:
  StepsClient(const Settings& chosen, int count)
      : ObjectClient({{"MIGRATE_METHOD", chosen.method},
                      {"MIGRATE_HEURISTIC", chosen.heuristic},
                      {"MIGRATE_CALLBACKS", "STEPS"},
                      {"MIGRATE_MEMORY", chosen.budget},
                      {"MIGRATE_VERIFY", "1"}},
                     chosen.multi),
        settings(chosen) {
    std::mt19937 random(static_cast<unsigned>(seed()) + static_cast<unsigned>(rank()));
    for (int k = 0; k < count; ++k) {
      const Id id = id_of(rank(), k);
      objects[id] = std::string(static_cast<std::size_t>(packed_size(id)), letter(id));
      to.push_back(settings.shuffled ? static_cast<int>(random() % static_cast<unsigned>(size()))
                                     : k * size() / count);
      if (to.back() == rank()) continue;
      exports.gids.push_back(id);
      exports.lids.push_back(id + 7);
      exports.procs.push_back(to.back());
      exports.parts.push_back(to.back() + 100);
    }
    Zoltan_Set_Pre_Migrate_PP_Fn(zoltan, stage<1>, this);
    if (settings.mid) Zoltan_Set_Mid_Migrate_PP_Fn(zoltan, stage<2>, this);
    Zoltan_Set_Post_Migrate_PP_Fn(zoltan, stage<3>, this);
    Valet_Set_Free_Obj_Fn(zoltan, free_one, this);
    if (settings.memory) Valet_Set_Memory_Fn(zoltan, memory_left, this);
  }

  static Id id_of(int rank, int k) { return static_cast<Id>(rank * 10000 + k); }
  static char letter(ZOLTAN_ID_TYPE id) { return static_cast<char>('a' + id % 26); }

  int migrate() {
    const int code = settings.import_lists ? migrate_imports() : migrate_exports();
    EXPECT_EQ(Valet_Get_Report(zoltan, &report), ZOLTAN_OK);
    return code;
  }

  Settings settings;
  List exports;
  std::vector<int> to;  ///< by object
  std::map<ZOLTAN_ID_TYPE, std::string> objects;
  std::vector<ZOLTAN_ID_TYPE> freed, arrived, mid_exports, mid_imports;
  std::uint64_t mids = 0, pres = 0, posts = 0, taken_since_answer = 0;
  std::uint64_t answer = 0;
  std::string complaint;

 private:
  static StepsClient& of(void* data) { return *static_cast<StepsClient*>(data); }

  int migrate_exports() {
    return Zoltan_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, exports.count(),
                          exports.gids.data(), exports.lids.data(), exports.procs.data(),
                          exports.parts.data());
  }
  int migrate_imports() {
    int count = 0;
    ZOLTAN_ID_PTR global = nullptr, local = nullptr;
    int *sources = nullptr, *parts = nullptr;
    Zoltan_Invert_Lists(zoltan, exports.count(), exports.gids.data(), exports.lids.data(),
                        exports.procs.data(), exports.parts.data(), &count, &global, &local,
                        &sources, &parts);
    const int code = Zoltan_Migrate(zoltan, count, global, local, sources, parts, -1, nullptr,
                                    nullptr, nullptr, nullptr);
    Zoltan_LB_Free_Part(&global, &local, &sources, &parts);
    return code;
  }

  int size_of(Id gid, Id) override {
    if (objects.count(gid) == 0) complaint = "asked for what has left";
    return packed_size(gid);
  }
  void pack(Id gid, Id lid, int part, int, char* buffer) override {
    if (lid != gid + 7) complaint = "a local id is not that of its object";
    const auto at = std::ranges::find(exports.gids, gid) - exports.gids.begin();
    if (exports.parts[static_cast<std::size_t>(at)] != part)
      complaint = "a part is not that of its object";
    std::ranges::copy(objects.at(gid), buffer);
  }
  void unpack(Id gid, int bytes, char* buffer) override {
    taken_since_answer += static_cast<std::uint64_t>(bytes);
    if (settings.memory && taken_since_answer > answer)
      complaint = "more arrived than the application could take";
    arrived.push_back(gid);
    objects[gid] = std::string(buffer, static_cast<std::size_t>(packed_size(gid)));
  }
  static void free_one(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int* code) {
    StepsClient& self = of(data);
    *code = self.objects.erase(*gid) == 1 ? ZOLTAN_OK : ZOLTAN_FATAL;
    self.freed.push_back(*gid);
  }
  static std::uint64_t memory_left(void* data, int* code) {
    StepsClient& self = of(data);
    *code = ZOLTAN_OK;
    self.taken_since_answer = 0;
    // Larger than any object, but never the whole budget.
    self.answer = 4096 + 512 * static_cast<std::uint64_t>(rank());
    return self.answer;
  }
  template <int which>
  static void stage(void* data, int, int, int imports, ZOLTAN_ID_PTR import_gids, ZOLTAN_ID_PTR,
                    int* import_procs, int* import_parts, int exported, ZOLTAN_ID_PTR export_gids,
                    ZOLTAN_ID_PTR export_lids, int*, int*, int* code) {
    StepsClient& self = of(data);
    *code = ZOLTAN_OK;
    if (which == 1) ++self.pres;
    if (which == 3) ++self.posts;
    if (which != 2) return;
    ++self.mids;
    long long moved = exported - imports;
    MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (moved != 0) self.complaint = "the lists of a step do not fit together";
    for (int k = 0; k < exported; ++k) {
      if (export_lids[k] != export_gids[k] + 7) self.complaint = "lists of mid are mixed up";
      if (self.objects.count(export_gids[k]) != 0) self.complaint = "mid before free";
      self.mid_exports.push_back(export_gids[k]);
    }
    for (int k = 0; k < imports; ++k) {
      if (static_cast<int>(import_gids[k] / 10000) != import_procs[k] ||
          import_parts[k] != rank() + 100)
        self.complaint = "import lists of mid are wrong";
      self.mid_imports.push_back(import_gids[k]);
    }
  }
};

/// Every object where the oracle has it, whole.
void expect_delivered(const StepsClient& client) {
  const GlobalContent content =
      content_by_ranks(map_to(gathered(client.to)), valet::Order::stable, 1);
  std::map<ZOLTAN_ID_TYPE, std::string> expected;
  for (const auto& from : row_of(content, rank())) {
    if (!from) continue;
    const ZOLTAN_ID_TYPE id = StepsClient::id_of(from->rank, static_cast<int>(from->slot));
    expected[id] = std::string(static_cast<std::size_t>(packed_size(id)), StepsClient::letter(id));
  }
  EXPECT_TRUE(all_ranks(client.objects == expected));
}

class Steps : public ::testing::TestWithParam<unsigned> {};

/// Migrates and expects what STEPS promises, whatever the method.
void expect_steps(const Settings& settings) {
  const int count = 300;
  StepsClient client(settings, count);
  const int code = client.migrate();
  EXPECT_EQ(max_over_ranks(code), ZOLTAN_OK);
  expect_delivered(client);
  EXPECT_EQ(client.complaint, "");
  EXPECT_TRUE(all_ranks(client.freed.size() == client.exports.gids.size()));
  const Valet_Migration_Report& report = client.report;
  EXPECT_EQ(max_over_ranks(static_cast<long long>(report.steps)),
            -max_over_ranks(-static_cast<long long>(report.steps)));
  EXPECT_EQ(client.pres, 1U);
  EXPECT_EQ(client.posts, 1U);
  EXPECT_EQ(report.verified, 1);
  EXPECT_TRUE(all_ranks(report.objects_unpacked == report.objects_imported &&
                        report.objects_sent == report.objects_exported));
  if (settings.mid) {
    EXPECT_EQ(client.mids, report.steps);
    EXPECT_TRUE(
        all_ranks(client.mid_imports == client.arrived && client.mid_exports == client.freed));
  }
  if (!settings.import_lists) {
    expect_within_bound(report);
  }
}

TEST_P(Steps, DeliverEverythingWithinTheBudgetWhateverTheForms) {
  const unsigned n = GetParam();
  SCOPED_TRACE(seed_note() + ", forms " + std::to_string(n));
  expect_steps({(n & 1) != 0, (n & 2) != 0, (n & 4) != 0, (n & 8) != 0, (n & 16) != 0,
                (n & 32) != 0 ? "20K" : "300K"});
}

TEST(StepsPhased, DeliverEverythingWithEveryHeuristic) {
  for (const char* heuristic :
       {"FIRST_FIT", "MAX_FIRST", "RANDOM", "FORTUNE_WHEEL", "MIN_MAX", "CONTINUOUS"})
    for (const unsigned n : {0U, 11U, 22U, 31U}) {
      SCOPED_TRACE(seed_note() + ", " + heuristic + ", forms " + std::to_string(n));
      expect_steps({(n & 1) != 0, (n & 2) != 0, (n & 4) != 0, (n & 8) != 0, (n & 16) != 0, "20K",
                    "PHASED", heuristic});
    }
}

TEST(StepsPhased, HeuristicsMakeDifferentSteps) {
  if (size() < 3) GTEST_SKIP() << "there is one source";
  const auto arrivals = [](const char* heuristic) {
    StepsClient client({false, true, false, true, false, "20K", "PHASED", heuristic}, 300);
    EXPECT_EQ(max_over_ranks(client.migrate()), ZOLTAN_OK);
    EXPECT_GT(client.report.steps, 1U);
    return client.arrived;
  };
  const auto first_fit = arrivals("FIRST_FIT");
  EXPECT_TRUE(all_ranks(first_fit != arrivals("MIN_MAX")));
  EXPECT_TRUE(all_ranks(first_fit == arrivals("FIRST_FIT"))) << "the same again";
}

INSTANTIATE_TEST_SUITE_P(Forms, Steps, ::testing::Range(0U, 64U));

TEST(StepsOrder, DependsOnTheInputAlone) {
  std::vector<ZOLTAN_ID_TYPE> first;
  for (int run = 0; run < 3; ++run) {
    StepsClient client({false, true, false, true, false, "20K", "STREAM"}, 300);
    client.migrate();
    if (run == 0) first = client.arrived;
    EXPECT_TRUE(all_ranks(client.arrived == first));
  }
}

TEST(StepsMemory, EndsOnAllRanksWhenNobodyCanTakeAnything) {
  StepsClient client({}, 50);
  Valet_Set_Memory_Fn(
      client.zoltan,
      [](void*, int* code) {
        *code = ZOLTAN_OK;
        return std::uint64_t{0};
      },
      nullptr);
  const std::size_t before = client.objects.size();
  testing::internal::CaptureStderr();
  const int code = client.migrate();
  const std::string text = testing::internal::GetCapturedStderr();
  if (size() == 1) return;
  // Objects of no size may have moved; the others wait.
  EXPECT_TRUE(all_ranks(code == ZOLTAN_MEMERR));
  const std::string message = client.report.message;
  expect_words(message, {"no rank can take another object", "VALET_MEMORY_FN answers 0"});
  EXPECT_EQ(client.objects.size(), before - client.freed.size() + client.arrived.size());
}

TEST(StepsDirect, IsOneStepOrRefused) {
  StepsClient client({false, true, false, true, false, "64M", "DIRECT"}, 100);
  EXPECT_EQ(max_over_ranks(client.migrate()), ZOLTAN_OK);
  expect_delivered(client);
  EXPECT_EQ(client.report.steps, 1U);
  if (size() == 1) return;
  StepsClient refused({false, false, false, false, false, "2K", "DIRECT"}, 100);
  testing::internal::CaptureStderr();
  const int code = refused.migrate();
  testing::internal::GetCapturedStderr();
  EXPECT_TRUE(all_ranks(code == ZOLTAN_FATAL));
  const std::string message = refused.report.message;
  expect_words(message, {"MIGRATE_MEMORY is 2048; set it to that or use STREAM"});
  EXPECT_TRUE(all_ranks(refused.arrived.empty() && refused.freed.empty()));
}

}  // namespace
