// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A directory for files that a test lets Valet write, and what is left in it.

#include "test_comm.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace valet::test {

/// Made by rank 0, gone with it; the same name on all ranks. All functions but path() are for
/// all ranks, and do something on rank 0.
class TraceDirectory {
 public:
  /// @param parent  Where it is made.
  explicit TraceDirectory(const std::string& parent = testing::TempDir()) {
    path_ = parent + "/valet_faults_XXXXXX";
    if (rank() == 0 && mkdtemp(path_.data()) == nullptr) path_ += " cannot be made";
    MPI_Bcast(path_.data(), static_cast<int>(path_.size()), MPI_CHAR, 0, MPI_COMM_WORLD);
  }
  TraceDirectory(const TraceDirectory&) = delete;
  TraceDirectory& operator=(const TraceDirectory&) = delete;
  ~TraceDirectory() {
    std::error_code ignored;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }

  void put(const std::string& name, const std::string& text) const {
    if (rank() == 0) std::ofstream(path(name)) << text;
  }
  /// Nothing but "trace.json", which is a trace of all ranks.
  void expect_whole() const {
    if (rank() == 0) expect_trace(text());
  }
  /// The same, or it has the text that it had. Whether it is a trace, on rank 0.
  bool expect_whole_or(const std::string& before) const {
    if (rank() != 0 || text() == before) return false;
    expect_trace(text());
    return true;
  }

 private:
  [[nodiscard]] std::string text() const {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      EXPECT_EQ(entry.path().filename(), "trace.json") << "left behind";
      ++files;
    }
    EXPECT_EQ(files, 1);
    std::ifstream file(path("trace.json"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void expect_trace(const std::string& text) {
    const auto trace = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(trace.is_discarded()) << text.substr(0, 200);
    EXPECT_EQ(trace["otherData"]["ranks"], size());
  }

  std::string path_;
};

}  // namespace valet::test
