// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "chamber.hpp"
#include <valet/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace species {

struct Options {
  Chamber chamber;
  int steps = 30;
  std::string method = "RCB";
  double capacity = 1.25;             ///< records that a rank has room for, over their mean
  std::string exchange = "in-place";  ///< or packed, or zoltan
  std::uint64_t headroom_bytes = 0;   ///< data that a rank may take over what it has; 0: any
  bool quiet = false;
  std::string output = ".";
  valet::Options migration;
};

/// Reads the command line. Prints help or what is wrong if `prints`, and then gives the exit code
/// instead of options.
std::optional<int> read_options(int argc, char** argv, bool prints, Options& options);

}  // namespace species
