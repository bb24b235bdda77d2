// SPDX-License-Identifier: BSD-3-Clause

// The parameters that need no Zoltan to be read.

#include "handle/parameters.hpp"
#include "testing.hpp"

namespace {

using namespace valet::zoltan;
using Verdict = ParameterAnswer::Verdict;

TEST(Parameters, TakeNamesAndValuesInAnyCase) {
  ParameterTable table;
  EXPECT_EQ(table.set("migrate_method", " stream ").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_CALLBACKS", "Steps").verdict, Verdict::taken);
  EXPECT_EQ(table.set("Migrate_Memory", "64k").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_REPORT", "/tmp/Report.json").verdict, Verdict::taken);
  MigrationParameters parameters;
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::stream);
  EXPECT_EQ(parameters.callbacks, CallbackMode::steps);
  EXPECT_EQ(parameters.options.budget_bytes, 65536U);
  EXPECT_EQ(parameters.report, "/tmp/Report.json");
}

TEST(Parameters, LeaveZoltansOwnToZoltan) {
  ParameterTable table;
  EXPECT_EQ(table.set("LB_METHOD", "RCB").verdict, Verdict::not_ours);
  EXPECT_EQ(table.set("MIGRATE_ONLY_PROC_CHANGES", "0").verdict, Verdict::not_ours);
}

TEST(Parameters, RefuseWhatIsUnknownAndSayWhy) {
  ParameterTable table;
  for (const char* value : {"BITONIC", "PAIRWISE", "FAST", ""}) {
    const ParameterAnswer answer = table.set("MIGRATE_METHOD", value);
    EXPECT_EQ(answer.verdict, Verdict::refused) << value;
    valet::test::expect_words(answer.warning,
                              {"it takes ZOLTAN, AUTO, STREAM, DIRECT, PHASED, CYCLIC"});
  }
  valet::test::expect_words(table.set("MIGRATE_HEURISTIC", "BEST_FIT").warning,
                            {"FIRST_FIT, MAX_FIRST"});
  for (const char* value : {"-1", "1.5", "2K", "often", "99999999999", ""})
    EXPECT_NE(table.set("MIGRATE_PARKING", value).warning.find("it takes 0 for never, or k"),
              std::string::npos)
        << value;
  valet::test::expect_words(table.set("MIGRATE_SCHEDULER", "ROOT").warning,
                            {"it takes DISTRIBUTED, CENTRALIZED"});
  EXPECT_EQ(table.set("MIGRATE_TRACE", "Trace.json").verdict, Verdict::taken);
  for (const char* value : {"4X", "-1", "0", "0K", "many"}) {
    const ParameterAnswer answer = table.set("MIGRATE_MEMORY", value);
    EXPECT_EQ(answer.verdict, Verdict::refused) << value;
    valet::test::expect_words(answer.warning,
                              {"it takes a number of bytes from 1 on, such as 65536, 64K"});
  }
  EXPECT_EQ(table.set("MIGRATE_VERIFY", "yes").verdict, Verdict::refused);
}

TEST(Parameters, TakeHowPhasesAreMade) {
  ParameterTable table;
  EXPECT_EQ(table.set("MIGRATE_METHOD", "Phased").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_HEURISTIC", "min_max").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_PARKING", " 3 ").verdict, Verdict::taken);
  EXPECT_EQ(table.set("MIGRATE_SCHEDULER", "Centralized").verdict, Verdict::taken);
  MigrationParameters parameters;
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::phased);
  EXPECT_EQ(parameters.options.phased.heuristic, valet::Heuristic::min_max);
  EXPECT_EQ(parameters.options.phased.parking, 3);
  EXPECT_EQ(parameters.options.phased.scheduler, valet::Scheduler::centralized);
}

TEST(Parameters, KeepTheOldValueWhenARefusedOneComesAndDropItOnDefault) {
  ParameterTable table;
  table.set("MIGRATE_METHOD", "DIRECT");
  table.set("MIGRATE_METHOD", "FAST");
  MigrationParameters parameters;
  table.apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::direct);
  EXPECT_EQ(table.set("MIGRATE_METHOD", "default").verdict, Verdict::taken);
  parameters = {};
  table.apply_to(parameters);
  EXPECT_FALSE(parameters.method.has_value());
}

TEST(Parameters, ComeFromTheEnvironmentToo) {
  setenv("VALET_MIGRATE_METHOD", "stream", 1);
  setenv("VALET_MIGRATE_MEMORY", "lots", 1);
  std::string warnings;
  MigrationParameters parameters;
  parameters_of_environment(warnings).apply_to(parameters);
  EXPECT_EQ(parameters.method, valet::Method::stream);
  valet::test::expect_words(warnings, {"VALET_MIGRATE_MEMORY"});
  unsetenv("VALET_MIGRATE_METHOD");
  unsetenv("VALET_MIGRATE_MEMORY");
}

}  // namespace
