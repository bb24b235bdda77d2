// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdio>
#include <string>
#include <sys/wait.h>

namespace valet::test {

/// What a program did.
struct ProgramRun {
  int code = -1;
  std::string text;  ///< both streams
};

/// Runs a command line in a shell.
inline ProgramRun run_program(const std::string& command) {
  FILE* const stream = popen((command + " 2>&1").c_str(), "r");
  ProgramRun run;
  if (stream == nullptr) return run;
  std::array<char, 4096> part{};
  while (const std::size_t count = fread(part.data(), 1, part.size(), stream))
    run.text.append(part.data(), count);
  const int status = pclose(stream);
  if (WIFEXITED(status)) run.code = WEXITSTATUS(status);
  return run;
}

}  // namespace valet::test
