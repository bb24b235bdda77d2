// SPDX-License-Identifier: BSD-3-Clause

// The files of the drop-in, where the disk has no room for them: the migration is not harmed, a
// report has whole lines only, a trace is there as a whole or not at all, and a warning says why.

#include "limited.hpp"
#include "test_comm.hpp"
#include "trace_directory.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

namespace {

using namespace valet::test;

constexpr int objects = 60, object_size = 40;

int size_of_one(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*) { return object_size; }
void pack(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int bytes, char* packed, int*) {
  std::fill_n(packed, bytes, 'v');
}
void unpack(void* count, int, ZOLTAN_ID_PTR, int, char*, int*) { ++*static_cast<int*>(count); }

class DropinFiles : public testing::Test {
 protected:
  DropinFiles() : zoltan_(Zoltan_Create(MPI_COMM_WORLD)) {
    Zoltan_Set_Param(zoltan_, "DEBUG_LEVEL", "0");
    Zoltan_Set_Param(zoltan_, "MIGRATE_METHOD", "STREAM");
    Zoltan_Set_Param(zoltan_, "MIGRATE_MEMORY", "2K");
    Zoltan_Set_Obj_Size_Fn(zoltan_, size_of_one, nullptr);
    Zoltan_Set_Pack_Obj_Fn(zoltan_, pack, nullptr);
    Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack, &unpacked_);
  }
  ~DropinFiles() override { Zoltan_Destroy(&zoltan_); }

  void set(const char* name, const std::string& value) {
    Zoltan_Set_Param(zoltan_, name, value.c_str());
  }
  /// Every object leaves, where there is another rank. What was printed is kept in `said_`.
  void migrate() {
    std::vector<ZOLTAN_ID_TYPE> ids(objects);
    std::vector<int> ranks(objects, (rank() + 1) % size());
    for (int k = 0; k < objects; ++k)
      ids[static_cast<std::size_t>(k)] = static_cast<ZOLTAN_ID_TYPE>(objects * rank() + k);
    unpacked_ = 0;
    testing::internal::CaptureStderr();
    const int code = Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, objects,
                                    ids.data(), ids.data(), ranks.data(), nullptr);
    said_ = testing::internal::GetCapturedStderr();
    EXPECT_TRUE(all_ranks(code == ZOLTAN_OK && unpacked_ == (size() == 1 ? 0 : objects)));
  }

  Zoltan_Struct* zoltan_;
  int unpacked_ = 0;
  std::string said_;
};

TEST_F(DropinFiles, ReportsHaveWholeLinesOnly) {
  const TraceDirectory directory;
  set("MIGRATE_REPORT", directory.path("report"));
  migrate();
  EXPECT_EQ(said_, "");
  const std::uintmax_t line =
      rank() == 0 ? std::filesystem::file_size(directory.path("report")) : 0;
  {
    const Limited files(RLIMIT_FSIZE, line + line / 2);
    migrate();
  }
  EXPECT_EQ(said_.find("(File too large); the migration itself went on") != std::string::npos,
            rank() == 0)
      << said_;
  migrate();
  std::stringstream report;
  if (rank() == 0) report << std::ifstream(directory.path("report")).rdbuf();
  int lines = 0;
  for (std::string text; std::getline(report, text); ++lines)
    EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
  EXPECT_EQ(lines, rank() == 0 ? 2 : 0);
}

TEST_F(DropinFiles, ReportsForADeviceThatIsFullAreAWarning) {
  set("MIGRATE_REPORT", "/dev/full");
  migrate();
  EXPECT_EQ(said_.find("(No space left on device)") != std::string::npos, rank() == 0) << said_;
}

TEST_F(DropinFiles, TracesAreWholeOrAsTheyWere) {
  const TraceDirectory directory;
  directory.put("trace.json", "what was there");
  set("MIGRATE_TRACE", directory.path("trace.json"));
  {
    const Limited files(RLIMIT_FSIZE, 1000);
    migrate();
  }
  EXPECT_EQ(said_.find("(File too large); the migration itself went on") != std::string::npos,
            rank() == 0)
      << said_;
  EXPECT_FALSE(directory.expect_whole_or("what was there"));
  migrate();
  directory.expect_whole();
}

}  // namespace
