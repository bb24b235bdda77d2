// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

namespace species {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "A detonation runs around an annular chamber, whose cells have lists of species that grow\n"
      "and shrink. In every step Zoltan partitions the cells by the lengths of their lists, and\n"
      "Valet moves them inside arrays that are hardly larger than the lists. Start it with\n"
      "mpirun. Writes steps.csv, migrations.csv, memory.csv and lengths.csv for\n"
      "`python3 examples/plot.py species DIR`."};
  std::string memory = "1M";
  std::string headroom = "0";
  example::add_number(app, "--columns", options.chamber.columns, 1, 16'384,
                      "number of cells around the chamber");
  example::add_number(app, "--rows", options.chamber.rows, 1, 16'384,
                      "number of cells from the bottom to the top of the chamber");
  example::add_number(app, "--steps", options.steps, 0, 1'000'000,
                      "time steps; the front takes 45 to run around the chamber");
  example::add_zoltan_method(app, options.method);
  example::add_memory(app, memory);
  example::add_number(app, "--capacity", options.capacity, 1.001, 100.0,
                      "records that fit on a rank, relative to the mean number per rank", "FACTOR");
  app.add_option("--exchange", options.exchange,
                 "migration: in-place (Valet), packed (what leaves, by MPI_Alltoallv)\n"
                 "or zoltan (Zoltan_Migrate)")
      ->check(example::one_of({"in-place", "packed", "zoltan"}))
      ->type_name("NAME")
      ->capture_default_str();
  example::add_bytes(
      app, "--headroom", headroom,
      "limit on the growth of the data of a rank after the start, in bytes (suffix K, M\n"
      "or G allowed); enforced by the operating system; 0: no limit")
      ->capture_default_str();
  app.add_flag("--verify", options.migration.verify, "also let Valet compare end-to-end checksums");
  example::add_output(app, options.output, options.quiet);
  if (const auto exit_code = example::parse(app, argc, argv, prints, "species", [] {}))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(memory);
  options.headroom_bytes = valet::parse_bytes(headroom);
  return std::nullopt;
}

}  // namespace species
