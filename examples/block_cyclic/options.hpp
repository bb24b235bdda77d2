// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace block_cyclic {

struct Options {
  std::int64_t rows = 1200;
  std::int64_t columns = 900;
  std::string memory = "1M";
  std::filesystem::path output = ".";
};

/// Reads the command line. Prints help or what is wrong if `prints`, and then gives the exit code
/// instead of options.
std::optional<int> read_options(int argc, char** argv, bool prints, Options& options);

}  // namespace block_cyclic
