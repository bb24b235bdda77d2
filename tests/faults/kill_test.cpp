// SPDX-License-Identifier: BSD-3-Clause

// The promise: where a rank is killed, at whatever call or time, the job ends, and no file of Valet
// stays: shared and temporary memory has no name anywhere, and a trace gets its name when it is
// complete.

#include "run_program.hpp"
#include "testing.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <regex>

namespace valet::test {
namespace {

namespace fs = std::filesystem;

constexpr int timed_out = 124;

/// An empty directory, gone in the end.
class WorkingDirectory {
 public:
  WorkingDirectory() : path_(testing::TempDir() + "/valet_kill_XXXXXX") {
    EXPECT_NE(mkdtemp(path_.data()), nullptr);
  }
  WorkingDirectory(const WorkingDirectory&) = delete;
  WorkingDirectory& operator=(const WorkingDirectory&) = delete;
  ~WorkingDirectory() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Segments of shared memory that have names, but for those of MPI: it may leave them behind, and
/// other jobs have theirs.
std::set<std::string> named_segments() {
  const char* const of_mpi = std::getenv("MPI_SHARED_FILES");
  const std::regex pattern(of_mpi == nullptr ? "" : of_mpi);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator("/dev/shm"))
    if (!std::regex_match(entry.path().filename().string(), pattern))
      names.insert(entry.path().string());
  return names;
}

/// At most one file, which is a whole trace.
void expect_no_rest(const std::string& directory) {
  for (const auto& entry : fs::directory_iterator(directory)) {
    EXPECT_EQ(entry.path().filename(), "trace.json") << "left behind";
    std::ifstream file(entry.path());
    EXPECT_FALSE(nlohmann::json::parse(file, nullptr, false).is_discarded());
  }
}

class KilledRank : public testing::TestWithParam<const char*> {};

TEST_P(KilledRank, EndsTheJobAndLeavesNoFiles) {
  int killed = 0;
  for (int call = 1; call < 100'000; call += 1 + call * 4 / 5) {
    SCOPED_TRACE("call " + std::to_string(call));
    const WorkingDirectory directory;
    const std::set<std::string> before = named_segments();
    const ProgramRun run =
        run_program("cd " + directory.path() + " && timeout -k 5 60 " VALET_FAULTS_JOB " " +
                    GetParam() + " " + std::to_string(call));
    expect_no_rest(directory.path());
    for (const std::string& name : named_segments())
      EXPECT_TRUE(before.contains(name)) << name << " is left behind";
    if (run.code == 0) {
      expect_words(run.text, {"no call failed"});
      EXPECT_TRUE(fs::exists(directory.path() + "/trace.json"));
      EXPECT_GT(killed, 3) << "calls at which the rank was killed";
      return;
    }
    ++killed;
    ASSERT_NE(run.code, timed_out) << "ranks were left waiting\n" << run.text;
    expect_words(run.text, {"signal 9"});
  }
  FAIL() << "the job made more calls than expected";
}

// At calls of MPI, in the middle of writing a file, and while others copy blocks from its slots.
INSTANTIATE_TEST_SUITE_P(Places, KilledRank,
                         testing::Values("dies", "dies_writing", "dies_pulling"), ParameterName());

}  // namespace
}  // namespace valet::test
