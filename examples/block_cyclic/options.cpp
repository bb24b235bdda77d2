// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

namespace block_cyclic {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app(
      "Passes a matrix from one process grid to another. Start it on 7 ranks with mpirun.");
  app.add_option("--rows", options.rows, "number of rows of the matrix")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--columns", options.columns, "number of columns of the matrix")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--memory", options.memory,
                 "memory budget per rank in bytes (suffix K, M or G allowed)")
      ->check(example::accepted_by(valet::parse_bytes))
      ->capture_default_str();
  app.add_option("--output", options.output, "directory for the CSV files")->capture_default_str();
  return example::parse(app, argc, argv, prints, "block_cyclic", [] {});
}

}  // namespace block_cyclic
