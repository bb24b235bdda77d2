// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

namespace species {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "The chemistry of a chamber around which a detonation runs: cells whose lists of species "
      "grow "
      "and shrink.\nEvery step Zoltan partitions the cells by the lengths of their lists, and "
      "Valet "
      "moves them, inside\narrays that are hardly larger than the lists. Start it with mpirun. "
      "Writes steps.csv, migrations.csv,\nmemory.csv and lengths.csv; `python3 examples/plot.py "
      "species DIR` draws them."};
  std::string memory = "1M";
  std::string headroom = "0";
  app.add_option("--columns", options.chamber.columns, "cells around the chamber")
      ->check(CLI::Range(1, 16'384).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--rows", options.chamber.rows, "cells from its bottom to its top")
      ->check(CLI::Range(1, 16'384).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "time steps; the front needs 45 to run around")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--method", options.method, "Zoltan's method: RCB, RIB or HSFC")
      ->check(CLI::IsMember({"RCB", "RIB", "HSFC"}, CLI::ignore_case).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--memory", memory, "scratch that Valet may use on a rank, bytes with K, M or G")
      ->check(example::accepted_by(valet::parse_bytes))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--capacity", options.capacity,
                 "records that a rank has room for, over the mean number of a rank")
      ->check(CLI::Range(1.001, 100.0).description(""))
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--exchange", options.exchange,
                 "in-place; or, in place of Valet, packed: into a second arena and by "
                 "MPI_Alltoallv;\nor zoltan: by Zoltan_Migrate")
      ->check(example::one_of({"in-place", "packed", "zoltan"}))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option(
         "--headroom", headroom,
         "let the system refuse a rank more data than it has before the first step, and so\n"
         "many bytes, with K, M or G; 0: no limit")
      ->check(example::accepted_by(valet::parse_bytes))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_flag("--verify", options.migration.verify, "let Valet compare checksums end to end, too");
  app.add_option("--output", options.output, "directory for the CSV files")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "print the result only");
  if (const auto exit_code = example::parse(app, argc, argv, prints, "species", [] {}))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(memory);
  options.headroom_bytes = valet::parse_bytes(headroom);
  return std::nullopt;
}

}  // namespace species
