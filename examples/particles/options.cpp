// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

namespace particles {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "Particles drift and clump in a box until the work of the ranks is out of balance. Zoltan\n"
      "repartitions them, and Valet moves them inside arrays that are hardly larger than the\n"
      "particles. Start it with mpirun. Writes rebalances.csv, migrations.csv, memory.csv and\n"
      "owners.csv for `python3 examples/plot.py particles DIR`."};
  std::string memory = "1M";
  std::string order = "any";
  app.add_option("--particles", options.particles, "number of particles on all ranks together")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 50U).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--steps", options.steps, "time steps")
      ->check(CLI::Range(0, 1'000'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--every", options.every, "steps between rebalances")
      ->check(CLI::Range(1, 1'000'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--method", options.method, "Zoltan's method: RCB, RIB or HSFC")
      ->check(CLI::IsMember({"RCB", "RIB", "HSFC"}, CLI::ignore_case).description(""))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--memory", memory,
                 "scratch that Valet may use per rank (suffix K, M or G allowed)")
      ->check(example::accepted_by(valet::parse_bytes))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--order", order,
                 "slots of arrivals: any (fastest), fill (lowest slots) or stable (sorted)")
      ->check(example::accepted_by(valet::parse_order))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--capacity", options.capacity,
                 "slots per rank, relative to the mean number of particles")
      ->check(CLI::Range(1.001, 100.0).description(""))
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option(
         "--contrast", options.contrast,
         "factor on the extra work of crowded particles; up to 1, a partition\nby work always "
         "fits the capacity")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--granularity", options.granularity,
                 "maximum number of particles that Zoltan treats as one object;\n"
                 "1: individual particles, 0: chosen by Valet")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--exchange", options.exchange,
                 "migration: in-place (Valet) or packed (Zoltan_Migrate and its packed buffers)")
      ->check(example::one_of({"in-place", "packed"}))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--headroom", options.headroom,
                 "limit on the growth of the data of a rank during a rebalance, as a fraction of\n"
                 "its data before; enforced by the operating system; 0: no limit")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("FRACTION")
      ->capture_default_str();
  app.add_flag("--verify", options.migration.verify, "also let Valet compare end-to-end checksums");
  app.add_option("--output", options.output, "directory for the CSV files")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "print only the result");
  if (const auto exit_code = example::parse(app, argc, argv, prints, "particles", [] {}))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(memory);
  options.migration.order = valet::parse_order(order);
  return std::nullopt;
}

}  // namespace particles
