// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>
#include <Kokkos_Core.hpp>

#include <type_traits>

namespace particles {

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "Particles drift and clump in a box until the work of the ranks is out of balance. Zoltan\n"
      "repartitions them, and Valet moves them inside arrays that are hardly larger than the\n"
      "particles. Start it with mpirun. Writes rebalances.csv, migrations.csv and memory.csv\n"
      "for `python3 examples/plot.py particles DIR`."};
  std::string memory = "1M";
  std::string order = "any";
  example::add_number(app, "--particles", options.particles, std::uint64_t{1},
                      std::uint64_t{1} << 50U, "number of particles on all ranks together");
  example::add_number(app, "--steps", options.steps, 0, 1'000'000, "time steps");
  example::add_number(app, "--every", options.every, 1, 1'000'000, "steps between rebalances");
  example::add_zoltan_method(app, options.method);
  example::add_memory(app, memory);
  app.add_option("--order", order,
                 "slots of arrivals: any (fastest), fill (lowest slots) or stable (sorted)")
      ->check(example::accepted_by(valet::parse_order))
      ->type_name("NAME")
      ->capture_default_str();
  example::add_number(app, "--capacity", options.capacity, 1.001, 100.0,
                      "slots per rank, relative to the mean number of particles", "FACTOR");
  example::add_number(app, "--contrast", options.contrast, 0.0, 100.0,
                      "factor on the extra work of crowded particles; up to 1, a partition\nby "
                      "work always fits the capacity",
                      "FACTOR");
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
  example::add_number(
      app, "--headroom", options.headroom, 0.0, 100.0,
      "limit on the growth of the data of a rank during a rebalance, as a fraction of\n"
      "its data before; enforced by the operating system; 0: no limit",
      "FRACTION");
  app.add_flag("--node-storage", options.node_storage,
               "keep the particles in memory that the ranks of a node share");
  app.add_flag("--verify", options.migration.verify, "also let Valet compare end-to-end checksums");
  example::add_output(app, options.output, options.quiet);
  const auto check = [&] {
    using Space = Kokkos::DefaultExecutionSpace::memory_space;
    if (options.node_storage && !std::is_same_v<Space, Kokkos::HostSpace>)
      throw CLI::ValidationError("--node-storage",
                                 "the particles are in the memory of a device, "
                                 "which ranks of a node do not share");
  };
  if (const auto exit_code = example::parse(app, argc, argv, prints, "particles", check))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(memory);
  options.migration.order = valet::parse_order(order);
  return std::nullopt;
}

}  // namespace particles
