// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "flow.hpp"
#include "partition.hpp"
#include <valet/options.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace amr {

enum class Exchange { in_place, out_of_place };

/// What to do when a partition by work needs more slots than a rank has.
enum class WhenFull { repartition, grow };

struct Options {
  int least_level = 2;
  int most_level = 5;
  int steps = 120;
  int every = 10;
  Method partitioner = Method::curve;
  Exchange exchange = Exchange::in_place;
  WhenFull when_full = WhenFull::repartition;
  double capacity = 1.1;  ///< slots of a rank over the mean number of patches at the start
  std::uint64_t headroom_bytes =
      0;  ///< data that a rank may take over what it has at first; 0: any
  FlowOptions flow;
  bool compare = false;
  bool node_storage = false;  ///< patches are in memory that ranks of a node share
  bool vtk = true;
  bool quiet = false;
  std::string output = ".";
  valet::Options migration;
};

[[nodiscard]] const char* to_string(Method method);
[[nodiscard]] const char* to_string(Exchange exchange);

/// Reads the command line. Prints help or what is wrong if `prints`, and then gives the exit code
/// instead of options.
std::optional<int> read_options(int argc, char** argv, bool prints, Options& options);

}  // namespace amr
