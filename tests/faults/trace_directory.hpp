// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// A directory for files that a test lets Valet write, and what is left in it.

#include "shared_folder.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace valet::test {

/// All functions but path() and folder() are for all ranks, and do something on rank 0.
class TraceDirectory : public SharedFolder {
 public:
  using SharedFolder::SharedFolder;

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
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
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
};

}  // namespace valet::test
