// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

namespace particles {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "Particles that drift and clump in a box. Their work goes out of balance; Zoltan partitions "
      "them again and\nValet moves them, inside arrays that are hardly larger than the particles. "
      "Start it with mpirun.\nWrites rebalances.csv, migrations.csv, memory.csv and owners.csv; "
      "`python3 examples/plot.py particles DIR`\ndraws them."};
  std::string memory = "1M";
  std::string order = "any";
  app.add_option("--particles", options.particles, "particles on all ranks together")
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
  app.add_option("--memory", memory, "scratch that Valet may use on a rank, bytes with K, M or G")
      ->check(example::accepted_by(valet::parse_bytes))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option("--order", order,
                 "where arrivals go: any (fastest), fill (lowest slots) or stable (sorted)")
      ->check(example::accepted_by(valet::parse_order))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--capacity", options.capacity,
                 "slots of a rank over the mean number of particles")
      ->check(CLI::Range(1.001, 100.0).description(""))
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--contrast", options.contrast,
                 "how much more work a crowded particle is; up to 1, a partition\nby work always "
                 "fits the capacity")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("FACTOR")
      ->capture_default_str();
  app.add_option("--granularity", options.granularity,
                 "most particles that Zoltan is given as one; 1: every particle by itself,\n0: as "
                 "Valet chooses")
      ->type_name("N")
      ->capture_default_str();
  app.add_option("--exchange", options.exchange,
                 "in-place, or packed: Zoltan_Migrate and its packed buffers, in place of Valet")
      ->check(example::one_of({"in-place", "packed"}))
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--headroom", options.headroom,
                 "let the system refuse a rank more data during a rebalance than it has before,\n"
                 "and this fraction of it; 0: no limit")
      ->check(CLI::Range(0.0, 100.0).description(""))
      ->type_name("FRACTION")
      ->capture_default_str();
  app.add_flag("--verify", options.migration.verify, "let Valet compare checksums end to end, too");
  app.add_option("--output", options.output, "directory for the CSV files")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--quiet", options.quiet, "print the result only");
  if (const auto exit_code = example::parse(app, argc, argv, prints, "particles", [] {}))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(memory);
  options.migration.order = valet::parse_order(order);
  return std::nullopt;
}

}  // namespace particles
