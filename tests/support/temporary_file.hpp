// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "testing.hpp"

#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace valet::test {

/// A file with a given text, removed in the end.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text = "") {
    static int count = 0;
    path_ = (std::filesystem::temp_directory_path() /
             ("valet_test_" + std::to_string(getpid()) + "_" + std::to_string(count++)))
                .string();
    std::ofstream(path_) << text;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string path_;
};

}  // namespace valet::test
