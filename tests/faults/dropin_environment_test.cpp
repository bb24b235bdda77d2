// SPDX-License-Identifier: BSD-3-Clause

// The drop-in where the system refuses something. Room in files: the migration is not harmed, a
// report has whole lines only, a trace is there as a whole or not at all, and a warning says why.
// Memory: all ranks return the same code.

#include "../zoltan/dropin/object_client.hpp"
#include "limited.hpp"
#include "trace_directory.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace {

using namespace valet::test;

constexpr int objects = 60, small_object = 40, large_object = 1 << 20;

/// Every object leaves, where there is another rank.
class DropinWithout : public testing::Test, public ObjectClient {
 protected:
  DropinWithout() : ObjectClient({{"MIGRATE_METHOD", "STREAM"}, {"MIGRATE_MEMORY", "2K"}}, false) {
    for (int k = 0; k < objects; ++k) {
      const auto id = static_cast<Id>(objects * rank() + k);
      export_to((rank() + 1) % size(), id, id);
    }
  }
  int code_of_migrate() {
    unpacked_ = 0;
    return migrate_quietly();
  }
  void migrate() {
    const int code = code_of_migrate();
    EXPECT_TRUE(all_ranks(code == ZOLTAN_OK && unpacked_ == (size() == 1 ? 0 : objects)))
        << printed;
  }
  int size_of(Id, Id) override { return object_size_; }
  void pack(Id, Id, int, int bytes, char* packed) override { std::fill_n(packed, bytes, 'v'); }
  void unpack(Id, int, char*) override { ++unpacked_; }

  int object_size_ = small_object, unpacked_ = 0;
};

TEST_F(DropinWithout, RoomForReportsWritesWholeLinesOnly) {
  const TraceDirectory directory;
  set("MIGRATE_REPORT", directory.path("report"));
  migrate();
  EXPECT_EQ(printed, "");
  const std::uintmax_t line =
      rank() == 0 ? std::filesystem::file_size(directory.path("report")) : 0;
  {
    const Limited files(RLIMIT_FSIZE, line + line / 2);
    migrate();
  }
  EXPECT_EQ(contains(printed, "(File too large); the migration itself went on"), rank() == 0)
      << printed;
  migrate();
  std::stringstream written;
  if (rank() == 0) written << std::ifstream(directory.path("report")).rdbuf();
  int lines = 0;
  for (std::string text; std::getline(written, text); ++lines)
    EXPECT_FALSE(nlohmann::json::parse(text, nullptr, false).is_discarded()) << text;
  EXPECT_EQ(lines, rank() == 0 ? 2 : 0);
}

TEST_F(DropinWithout, RoomOnADeviceWarns) {
  set("MIGRATE_REPORT", "/dev/full");
  migrate();
  EXPECT_EQ(contains(printed, "(No space left on device)"), rank() == 0) << printed;
}

TEST_F(DropinWithout, RoomForATraceLeavesTheOneThatWasThere) {
  const TraceDirectory directory;
  directory.put("trace.json", "what was there");
  set("MIGRATE_TRACE", directory.path("trace.json"));
  {
    const Limited files(RLIMIT_FSIZE, 1000);
    migrate();
  }
  EXPECT_EQ(contains(printed, "(File too large); the migration itself went on"), rank() == 0)
      << printed;
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
      EXPECT_TRUE(all_ranks(code == ZOLTAN_MEMERR)) << code << printed;
      EXPECT_EQ(sum_over_ranks(unpacked_), 0);
    }
    expect_words(report.message, {odd_name()});
    migrate();
  }
}
#endif

}  // namespace
