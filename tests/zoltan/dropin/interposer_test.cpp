// SPDX-License-Identifier: BSD-3-Clause

// Every way into Zoltan's migration reaches Valet once MIGRATE_METHOD asks for it, and none does
// before. A report exists exactly where Valet has migrated.

#include "test_comm.hpp"
#include "zoltan_lists.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <zoltan_cpp.h>

#include <fstream>
#include <regex>
#include <sstream>

namespace {

using namespace valet::test;

/// One object for every rank on every rank; `owned` is what the application has.
class Objects {
 public:
  Objects() {
    for (int k = 0; k < size(); ++k) {
      gids.push_back(static_cast<ZOLTAN_ID_TYPE>(100 * rank() + k));
      procs.push_back(k);
      owned.insert(gids.back());
    }
    lids = gids;
  }
  void register_with(Zoltan_Struct* zoltan) {
    Zoltan_Set_Num_Obj_Fn(zoltan, count, this);
    Zoltan_Set_Obj_List_Fn(zoltan, list, this);
    Zoltan_Set_Obj_Size_Fn(zoltan, object_size, this);
    Zoltan_Set_Pack_Obj_Fn(zoltan, pack, this);
    Zoltan_Set_Unpack_Obj_Fn(zoltan, unpack, this);
  }
  /// Object k of every rank belongs to rank k.
  [[nodiscard]] bool delivered() const {
    bool good = owned.size() == static_cast<std::size_t>(size());
    for (const ZOLTAN_ID_TYPE id : owned) good = good && static_cast<int>(id % 100) == rank();
    return all_ranks(good);
  }

  std::vector<ZOLTAN_ID_TYPE> gids, lids;
  std::vector<int> procs;
  std::set<ZOLTAN_ID_TYPE> owned;

 private:
  static Objects& of(void* data) { return *static_cast<Objects*>(data); }
  static int count(void* data, int* code) {
    *code = ZOLTAN_OK;
    return static_cast<int>(of(data).owned.size());
  }
  static void list(void* data, int, int, ZOLTAN_ID_PTR gids, ZOLTAN_ID_PTR lids, int, float*,
                   int* code) {
    for (const ZOLTAN_ID_TYPE id : of(data).owned) *gids++ = *lids++ = id;
    *code = ZOLTAN_OK;
  }
  static int object_size(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int* code) {
    *code = ZOLTAN_OK;
    return 20;
  }
  static void pack(void* data, int, int, ZOLTAN_ID_PTR gid, ZOLTAN_ID_PTR, int, int, char*,
                   int* code) {
    of(data).owned.erase(*gid);
    *code = ZOLTAN_OK;
  }
  static void unpack(void* data, int, ZOLTAN_ID_PTR gid, int, char*, int* code) {
    of(data).owned.insert(*gid);
    *code = ZOLTAN_OK;
  }
};

class Front : public ::testing::Test {
 protected:
  void SetUp() override {
    float version = 0;
    Zoltan_Initialize(0, nullptr, &version);
    zoltan = make();
  }
  void TearDown() override { Zoltan_Destroy(&zoltan); }

  static Zoltan_Struct* make() {
    Zoltan_Struct* made = Zoltan_Create(MPI_COMM_WORLD);
    Zoltan_Set_Param(made, "DEBUG_LEVEL", "0");
    return made;
  }
  void migrate(Zoltan_Struct* with) {
    objects.register_with(with);
    EXPECT_EQ(
        Zoltan_Migrate(with, -1, nullptr, nullptr, nullptr, nullptr, size(), objects.gids.data(),
                       objects.lids.data(), objects.procs.data(), nullptr),
        ZOLTAN_OK);
    EXPECT_TRUE(objects.delivered());
    objects = Objects();
  }
  static bool valet_ran(Zoltan_Struct* with) {
    Valet_Migration_Report report{};
    return Valet_Get_Report(with, &report) == ZOLTAN_OK;
  }
  static int set(Zoltan_Struct* on, const char* name, const char* value) {
    return Zoltan_Set_Param(on, name, value);
  }

  Zoltan_Struct* zoltan = nullptr;
  Objects objects;
};

TEST_F(Front, LeavesTheStockFunctionAloneUntilAsked) {
  migrate(zoltan);
  EXPECT_FALSE(valet_ran(zoltan));
  EXPECT_EQ(set(zoltan, "MIGRATE_METHOD", "ZOLTAN"), ZOLTAN_OK);
  migrate(zoltan);
  EXPECT_FALSE(valet_ran(zoltan));
}

TEST_F(Front, TakesDirectCalls) {
  EXPECT_EQ(set(zoltan, "migrate_method", "stream"), ZOLTAN_OK);
  migrate(zoltan);
  EXPECT_TRUE(valet_ran(zoltan));
}

TEST_F(Front, TakesValuesSetAsVectors) {
  EXPECT_EQ(Zoltan_Set_Param_Vec(zoltan, "MIGRATE_METHOD", "DIRECT", 0), ZOLTAN_OK);
  migrate(zoltan);
  EXPECT_TRUE(valet_ran(zoltan));
}

#ifndef VALET_TEST_ZOLTAN_ARCHIVE
TEST_F(Front, TakesHelpMigrate) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  objects.register_with(zoltan);
  EXPECT_EQ(Zoltan_Help_Migrate(zoltan, -1, nullptr, nullptr, nullptr, size(), objects.gids.data(),
                                objects.lids.data(), objects.procs.data()),
            ZOLTAN_OK);
  EXPECT_TRUE(objects.delivered());
  EXPECT_TRUE(valet_ran(zoltan));
}
#endif

TEST_F(Front, TakesAutoMigrate) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "AUTO_MIGRATE", "TRUE");
  set(zoltan, "LB_METHOD", "CYCLIC");
  objects.register_with(zoltan);
  EXPECT_EQ(ZoltanLists(zoltan).code(), ZOLTAN_OK);
  EXPECT_EQ(valet_ran(zoltan), size() > 1);
  EXPECT_EQ(sum_over_ranks(static_cast<long long>(objects.owned.size())), size() * size());
}

TEST_F(Front, TakesTheCppClass) {
  Zoltan cpp(MPI_COMM_WORLD);
  cpp.Set_Param("DEBUG_LEVEL", "0");
  EXPECT_EQ(cpp.Set_Param("MIGRATE_METHOD", "STREAM"), ZOLTAN_OK);
  // Not where the test runs, which may be anybody's folder; rank 0 alone writes it.
  const std::string file =
      testing::TempDir() + "valet_cpp_report_np" + std::to_string(size()) + ".json";
  cpp.Set_Param("MIGRATE_REPORT", file);
  if (rank() == 0) std::remove(file.c_str());
  objects.register_with(cpp.Get_C_Handle());
  EXPECT_EQ(cpp.Migrate(-1, nullptr, nullptr, nullptr, nullptr, size(), objects.gids.data(),
                        objects.lids.data(), objects.procs.data(), nullptr),
            ZOLTAN_OK);
  EXPECT_TRUE(objects.delivered());
  EXPECT_TRUE(valet_ran(cpp.Get_C_Handle()));
  std::stringstream text;
  if (rank() == 0) text << std::ifstream(file).rdbuf();
  if (rank() == 0) std::remove(file.c_str());
  const std::string moved = "\"objects_unpacked\":" + std::to_string(size() * (size() - 1));
  EXPECT_TRUE(rank() != 0 || text.str().find(moved) != std::string::npos) << text.str();
}

TEST_F(Front, AutoChoosesAndSaysWhy) {
  for (const auto& [memory, callbacks] :
       {std::array{"4M", "HOLD"}, std::array{"8", "HOLD"}, std::array{"4M", "STEPS"}}) {
    Zoltan_Struct* other = make();
    set(other, "MIGRATE_METHOD", "AUTO");
    set(other, "MIGRATE_MEMORY", memory);
    set(other, "MIGRATE_CALLBACKS", callbacks);
    objects = Objects();
    migrate(other);
    Valet_Migration_Report report;
    EXPECT_EQ(Valet_Get_Report(other, &report), ZOLTAN_OK);
    EXPECT_STREQ(report.method, "STREAM") << memory << " " << callbacks;
    EXPECT_STRNE(report.reason, "");
    Zoltan_Destroy(&other);
  }
}

TEST_F(Front, WritesATrace) {
  const std::string file =
      testing::TempDir() + "valet_dropin_trace_np" + std::to_string(size()) + ".json";
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "MIGRATE_TRACE", file.c_str());
  migrate(zoltan);
  Valet_Migration_Report report;
  EXPECT_EQ(Valet_Get_Report(zoltan, &report), ZOLTAN_OK);
  EXPECT_LE(report.peak_extra_bytes, report.extra_bytes_bound);
  std::stringstream text;
  if (rank() == 0) text << std::ifstream(file).rdbuf();
  if (rank() == 0) std::remove(file.c_str());
  for (const char* const word : {"\"lists\"", "\"move\"", "rank ", "\"scratch in use\""})
    EXPECT_TRUE(rank() != 0 || text.str().find(word) != std::string::npos) << word << text.str();
  EXPECT_TRUE(
      std::regex_search(text.str(), std::regex(R"("scratch in use","args":\{"bytes":[1-9])")) ||
      rank() != 0)
      << text.str();
}

TEST_F(Front, MigratesThoughTheTraceCannotBeWritten) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "MIGRATE_TRACE", "/nowhere/trace.json");
  testing::internal::CaptureStderr();
  migrate(zoltan);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(valet_ran(zoltan));
  EXPECT_EQ(contains(said, "/nowhere/trace.json"), rank() == 0) << said;
}

TEST_F(Front, FollowsCopies) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  Zoltan_Struct* copy = Zoltan_Copy(zoltan);
  migrate(copy);
  EXPECT_TRUE(valet_ran(copy));
  EXPECT_FALSE(valet_ran(zoltan));
  Zoltan_Struct* other = make();
  Zoltan_Copy_To(other, copy);
  EXPECT_FALSE(valet_ran(other)) << "a report is not copied";
  set(copy, "MIGRATE_METHOD", "ZOLTAN");
  migrate(other);
  EXPECT_TRUE(valet_ran(other));
  Zoltan_Destroy(&copy);
  Zoltan_Destroy(&other);
}

TEST_F(Front, ForgetsWhatIsDestroyed) {
  for (int k = 0; k < 20; ++k) {
    Zoltan_Struct* one = make();
    migrate(one);
    EXPECT_FALSE(valet_ran(one)) << "a new structure has the settings of an old one";
    set(one, "MIGRATE_METHOD", "STREAM");
    migrate(one);
    EXPECT_TRUE(valet_ran(one));
    Zoltan_Destroy(&one);
  }
}

TEST_F(Front, TakesDefaultsForAllStructures) {
  EXPECT_EQ(set(nullptr, "MIGRATE_METHOD", "STREAM"), ZOLTAN_OK);
  migrate(zoltan);
  EXPECT_TRUE(valet_ran(zoltan));
  Zoltan_Struct* other = make();
  set(other, "MIGRATE_METHOD", "ZOLTAN");
  migrate(other);
  EXPECT_FALSE(valet_ran(other)) << "its own value comes first";
  EXPECT_EQ(set(nullptr, "MIGRATE_METHOD", "DEFAULT"), ZOLTAN_OK);
  set(other, "MIGRATE_METHOD", "DEFAULT");
  migrate(other);
  EXPECT_FALSE(valet_ran(other));
  Zoltan_Destroy(&other);
}

TEST_F(Front, WarnsOfValuesItDoesNotKnow) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(set(zoltan, "MIGRATE_METHOD", "PAIRWISE"), ZOLTAN_WARN);
  EXPECT_EQ(set(zoltan, "MIGRATE_PARKING", "-1"), ZOLTAN_WARN);
  EXPECT_EQ(set(zoltan, "MIGRATE_SCHEDULER", "ROOT"), ZOLTAN_WARN);
  EXPECT_EQ(set(zoltan, "MIGRATE_HEURISTIC", "BEST_FIT"), ZOLTAN_WARN);
  const std::string text = testing::internal::GetCapturedStderr();
  expect_words(text, {"Zoltan WARNING in Zoltan_Set_Param",
                      "Invalid value `PAIRWISE' for parameter `MIGRATE_METHOD'"});
  migrate(zoltan);
  EXPECT_FALSE(valet_ran(zoltan));
}

TEST_F(Front, LeavesZoltansParametersToZoltan) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(set(zoltan, "MIGRATE_ONLY_PROC_CHANGES", "0"), ZOLTAN_OK);
  EXPECT_EQ(set(zoltan, "NO_SUCH_PARAMETER", "0"), ZOLTAN_WARN);
  testing::internal::GetCapturedStderr();
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  migrate(zoltan);
  Valet_Migration_Report report{};
  Valet_Get_Report(zoltan, &report);
  EXPECT_EQ(report.objects_exported, static_cast<std::uint64_t>(size())) << "all are packed";
}

TEST_F(Front, ValetMigrateNeedsNoParameter) {
  objects.register_with(zoltan);
  EXPECT_EQ(Valet_Migrate(zoltan, -1, nullptr, nullptr, nullptr, nullptr, size(),
                          objects.gids.data(), objects.lids.data(), objects.procs.data(), nullptr),
            ZOLTAN_OK);
  EXPECT_TRUE(objects.delivered());
  Valet_Migration_Report report{};
  EXPECT_EQ(Valet_Get_Report(zoltan, &report), ZOLTAN_OK);
  EXPECT_STREQ(report.method, "STREAM");
  EXPECT_STREQ(report.callbacks, "HOLD");
}

TEST_F(Front, PrintsHowFarItIs) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "MIGRATE_PROGRESS", "1");
  testing::internal::CaptureStderr();
  migrate(zoltan);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(contains(text, "100 %"), rank() == 0 && size() > 1) << text;
}

TEST_F(Front, SaysOnceWhoMovesTheObjects) {
  set(zoltan, "MIGRATE_VERBOSE", "1");
  testing::internal::CaptureStderr();
  migrate(zoltan);
  migrate(zoltan);
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "MIGRATE_MEMORY", "64K");
  migrate(zoltan);
  migrate(zoltan);
  const std::string valet = "[0] Valet " VALET_VERSION_TEXT " ";
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            rank() > 0 ? ""
                       : valet +
                             "is loaded, but MIGRATE_METHOD is ZOLTAN: stock Zoltan_Migrate "
                             "moves the objects\n" +
                             valet +
                             "moves the objects of Zoltan_Migrate: MIGRATE_METHOD STREAM, "
                             "MIGRATE_CALLBACKS HOLD, MIGRATE_MEMORY 65536 bytes\n");
}

TEST_F(Front, SaysOnceWhatStepsMightSave) {
  set(zoltan, "MIGRATE_METHOD", "STREAM");
  set(zoltan, "MIGRATE_VERBOSE", "1");
  set(zoltan, "MIGRATE_MEMORY", "16");  // less than an object
  testing::internal::CaptureStderr();
  migrate(zoltan);
  migrate(zoltan);
  const std::string text = testing::internal::GetCapturedStderr();
  const std::regex sentence("HOLD keeps " + std::to_string(24 * (size() - 1)) +
                            " bytes .* STEPS would take MIGRATE_MEMORY, 16 bytes; .* page Zoltan");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), sentence), {}),
            rank() == 0 && size() > 1 ? 1 : 0)
      << text;
}

}  // namespace
