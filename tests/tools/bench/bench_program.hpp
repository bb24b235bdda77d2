// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// valet-bench on some ranks, and what it says.

#include "run_program.hpp"
#include "temporary_file.hpp"

#include <nlohmann/json.hpp>

namespace valet::test {

using Json = nlohmann::json;

inline ProgramRun run(int ranks, const std::string& arguments) {
  return run_program(VALET_LAUNCH + std::to_string(ranks) + " " + VALET_BENCH_PROGRAM + " " +
                     arguments);
}

/// The JSON file that a command wrote. Tests that run at the same time would get the same cores.
inline Json document_of(int ranks, const std::string& arguments) {
  const TemporaryFile file;
  const ProgramRun outcome = run(ranks, arguments + " --no-bind --json " + file.path());
  EXPECT_EQ(outcome.code, 0) << outcome.text;
  const Json document = Json::parse(file.text(), nullptr, false);
  EXPECT_FALSE(document.is_discarded()) << file.text();
  EXPECT_TRUE(document.contains("version"));
  return document;
}

inline void expect_refused(int ranks, const std::string& arguments, const std::string& part) {
  const ProgramRun outcome = run(ranks, arguments);
  EXPECT_EQ(outcome.code, 2) << arguments << "\n" << outcome.text;
  EXPECT_NE(outcome.text.find(part), std::string::npos) << arguments << "\n" << outcome.text;
}

}  // namespace valet::test
