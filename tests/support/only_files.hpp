// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace valet::test {

/// Runs the tests of some files only: those of the argument --files=a_test.cpp,b_test.cpp, if there
/// is one. A filter of GoogleTest goes on to hold. To be called before RUN_ALL_TESTS().
inline void only_files(int argc, char** argv) {
  constexpr std::string_view option = "--files=";
  std::string files;
  for (int k = 1; k < argc; ++k)
    if (std::string_view(argv[k]).starts_with(option))
      files.append(",").append(argv[k] + option.size()).append(",");
  if (files.empty()) return;
  std::string& filter = testing::GTEST_FLAG(filter);
  filter += filter.find('-') == std::string::npos ? "-" : "";
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      const std::string path = test.file();
      std::string file = ",";
      file.append(path, path.rfind('/') + 1, std::string::npos).append(",");
      if (files.find(file) == std::string::npos)
        filter.append(":").append(suite.name()).append(".").append(test.name());
    }
  }
}

}  // namespace valet::test
