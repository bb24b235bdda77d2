// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace particles {

struct Options {
  std::uint64_t particles = 1'000'000;  ///< over all ranks
  int steps = 100;
  int every = 10;
  std::string method = "RCB";
  double capacity = 1.1;  ///< slots of a rank over the mean number of particles
  double contrast = 3;
  std::string exchange = "in-place";  ///< or packed: by Zoltan_Migrate, with packed buffers
  std::uint64_t granularity = 0;      ///< most particles in a cell; 0: as Valet chooses
  double headroom = 0;        ///< data that a rebalance may take, over what a rank has; 0: any
  bool node_storage = false;  ///< particles are in memory that ranks of a node share
  bool quiet = false;
  std::string output = ".";
  valet::Options migration;
};

/// Reads the command line. Prints help or what is wrong if `prints`, and then gives the exit code
/// instead of options.
std::optional<int> read_options(int argc, char** argv, bool prints, Options& options);

}  // namespace particles
