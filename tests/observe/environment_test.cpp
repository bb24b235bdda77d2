// SPDX-License-Identifier: BSD-3-Clause

// Variables of the environment that are misspelt are told, once, with the name that was meant.

#include "base/environment.hpp"

#include "testing.hpp"

namespace valet::detail {
namespace {

std::string unknown(std::vector<std::string> entries) {
  std::vector<const char*> environment;
  for (const std::string& entry : entries) environment.push_back(entry.c_str());
  environment.push_back(nullptr);
  return unknown_variables(environment.data());
}

TEST(Environment, HasNothingUnknownWhereAllNamesAreKnown) {
  std::vector<std::string> entries{"PATH=/bin", "VALETS=3", "valet_x=1", "VALET"};
  for (const std::string_view name : variables) entries.push_back(std::string(name) + "=1");
  EXPECT_EQ(unknown(entries), "");
  EXPECT_EQ(unknown_variables(nullptr), "");
}

TEST(Environment, LeavesTheNamesOfOthersAlone) {
  EXPECT_EQ(unknown({"VALET_ROOT=/opt", "VALET_DIR=/opt", "VALET_LIBRARY_PATH=x", "VALET_INC=x",
                     "VALET_VERSION=1", "VALET_TEST_SEED=3", "VALET_HOME=x"}),
            "");
}

TEST(Environment, IsToldTheNearestName) {
  constexpr std::array<std::pair<const char*, const char*>, 7> cases{
      {{"VALET_MIGRATE_METHODE", "VALET_MIGRATE_METHOD"},
       {"VALET_MIGRATE_MEMROY", "VALET_MIGRATE_MEMORY"},
       {"VALET_METHOD", "VALET_MIGRATE_METHOD"},
       {"VALET_VERIFY", "VALET_MIGRATE_VERIFY"},
       {"VALET_MIGRATE_SHAREMEMORY", "VALET_MIGRATE_SHARE_MEMORY"},
       {"VALET_PROGRES", "VALET_PROGRESS"},
       {"VALET_DEVICE", "VALET_DEVICE_MPI"}}};
  for (const auto& [given, meant] : cases)
    EXPECT_EQ(unknown({std::string(given) + "=1"}),
              std::string(given) + " (the nearest name is " + meant + ")");
  EXPECT_EQ(unknown({"VALET_METHOD=1", "HOME=/", "VALET_PROGRES"}),
            "VALET_METHOD (the nearest name is VALET_MIGRATE_METHOD), VALET_PROGRES (the nearest "
            "name is VALET_PROGRESS)");
}

TEST(Environment, IsWarnedOfOnce) {
  setenv("VALET_MIGRATE_METHODE", "STREAM", 1);
  testing::internal::CaptureStderr();
  warn_of_unknown_variables(0);
  warn_of_unknown_variables(0);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "valet: warning: the environment has variables that Valet does not know and ignores: "
            "VALET_MIGRATE_METHODE (the nearest name is VALET_MIGRATE_METHOD)\n");
  unsetenv("VALET_MIGRATE_METHODE");
}

}  // namespace
}  // namespace valet::detail
