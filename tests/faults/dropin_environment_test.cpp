// SPDX-License-Identifier: BSD-3-Clause

// The drop-in where the system refuses something. Room in files: the migration is not harmed, a
// report has whole lines only, a trace is there as a whole or not at all, and a warning says why.
// Memory: all ranks return the same code.

#include "limited.hpp"
#include "trace_directory.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace {

using namespace valet::test;

constexpr int objects = 60, small_object = 40, large_object = 1 << 20;

int size_of_one(void* size, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int*) {
  return *static_cast<int*>(size);
}
void pack(void*, int, int, ZOLTAN_ID_PTR, ZOLTAN_ID_PTR, int, int bytes, char* packed, int*) {
  std::fill_n(packed, bytes, 'v');
}
void unpack(void* count, int, ZOLTAN_ID_PTR, int, char*, int*) { ++*static_cast<int*>(count); }

class DropinWithout : public testing::Test {
 protected:
  DropinWithout() : zoltan_(Zoltan_Create(MPI_COMM_WORLD)) {
    Zoltan_Set_Param(zoltan_, "DEBUG_LEVEL", "0");
    Zoltan_Set_Param(zoltan_, "MIGRATE_METHOD", "STREAM");
    Zoltan_Set_Param(zoltan_, "MIGRATE_MEMORY", "2K");
    Zoltan_Set_Obj_Size_Fn(zoltan_, size_of_one, &object_size_);
    Zoltan_Set_Pack_Obj_Fn(zoltan_, pack, nullptr);
    Zoltan_Set_Unpack_Obj_Fn(zoltan_, unpack, &unpacked_);
  }
  ~DropinWithout() override { Zoltan_Destroy(&zoltan_); }

  void set(const char* name, const std::string& value) {
    Zoltan_Set_Param(zoltan_, name, value.c_str());
  }
  /// Every object leaves, where there is another rank. What was printed is kept in `said_`.
  int code_of_migrate() {
    std::vector<ZOLTAN_ID_TYPE> ids(objects);
    std::vector<int> ranks(objects, (rank() + 1) % size());
    for (int k = 0; k < objects; ++k)
      ids[static_cast<std::size_t>(k)] = static_cast<ZOLTAN_ID_TYPE>(objects * rank() + k);
    unpacked_ = 0;
    testing::internal::CaptureStderr();
    const int code = Zoltan_Migrate(zoltan_, -1, nullptr, nullptr, nullptr, nullptr, objects,
                                    ids.data(), ids.data(), ranks.data(), nullptr);
    said_ = testing::internal::GetCapturedStderr();
    return code;
  }
  void migrate() {
    const int code = code_of_migrate();
    EXPECT_TRUE(all_ranks(code == ZOLTAN_OK && unpacked_ == (size() == 1 ? 0 : objects))) << said_;
  }

  Zoltan_Struct* zoltan_;
  int object_size_ = small_object, unpacked_ = 0;
  std::string said_;
};

TEST_F(DropinWithout, RoomForReportsWritesWholeLinesOnly) {
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
  EXPECT_EQ(contains(said_, "(File too large); the migration itself went on"), rank() == 0)
      << said_;
  migrate();
  std::stringstream report;
  if (rank() == 0) report << std::ifstream(directory.path("report")).rdbuf();
  int lines = 0;
  for (std::string text; std::getline(report, text); ++lines)
    EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
  EXPECT_EQ(lines, rank() == 0 ? 2 : 0);
}

TEST_F(DropinWithout, RoomOnADeviceWarns) {
  set("MIGRATE_REPORT", "/dev/full");
  migrate();
  EXPECT_EQ(contains(said_, "(No space left on device)"), rank() == 0) << said_;
}

TEST_F(DropinWithout, RoomForATraceLeavesTheOneThatWasThere) {
  const TraceDirectory directory;
  directory.put("trace.json", "what was there");
  set("MIGRATE_TRACE", directory.path("trace.json"));
  {
    const Limited files(RLIMIT_FSIZE, 1000);
    migrate();
  }
  EXPECT_EQ(contains(said_, "(File too large); the migration itself went on"), rank() == 0)
      << said_;
  EXPECT_FALSE(directory.expect_whole_or("what was there"));
  migrate();
  directory.expect_whole();
}

// AddressSanitizer takes address space by the terabyte, and ends the program where it gets none.
#ifndef __SANITIZE_ADDRESS__
TEST_F(DropinWithout, AddressSpaceReturnsTheSameOnAllRanks) {
  if (size() == 1) return;  // nothing arrives
  object_size_ = large_object;
  for (const char* const method : {"STREAM", "PHASED", "CYCLIC", "DIRECT"}) {
    SCOPED_TRACE(method);
    set("MIGRATE_METHOD", method);
    set("MIGRATE_MEMORY", method[0] == 'D' ? "200M" : "4M");
    {
      // Less than the imports, which HOLD keeps.
      const std::uint64_t most = address_space() + (std::uint64_t{32} << 20);
      const Limited space(RLIMIT_AS, rank() == size() - 1 ? most : RLIM_INFINITY);
      const int code = code_of_migrate();
      EXPECT_TRUE(all_ranks(code == ZOLTAN_MEMERR)) << code << said_;
      EXPECT_EQ(sum_over_ranks(unpacked_), 0);
    }
    Valet_Migration_Report report{};
    Valet_Get_Report(zoltan_, &report);
    const std::string message = report.message;
    expect_words(message, {"rank " + std::to_string(size() - 1) + ":"});
    migrate();
  }
}
#endif

}  // namespace
