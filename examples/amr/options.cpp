// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include "support/command_line.hpp"

#include <CLI/CLI.hpp>

#include <map>

namespace amr {
namespace {

/// Beyond these the whole cube, or the fronts alone, would take more memory than a node has.
constexpr int most_least_level = 5;
constexpr int most_most_level = 9;

const std::map<std::string, Method> methods{
    {"curve", Method::curve}, {"hsfc", Method::hsfc}, {"graph", Method::graph}};
const std::map<std::string, Exchange> exchanges{{"in-place", Exchange::in_place},
                                                {"out-of-place", Exchange::out_of_place}};
const std::map<std::string, WhenFull> when_full_names{{"repartition", WhenFull::repartition},
                                                      {"grow", WhenFull::grow}};

template <class Value>
const char* name_of(const std::map<std::string, Value>& names, Value value) {
  for (const auto& [name, named] : names)
    if (named == value) return name.c_str();
  return "";
}

template <class Value>
CLI::Option* add_named(CLI::App& app, const char* option, Value& value,
                       const std::map<std::string, Value>& names, const char* description) {
  std::vector<std::string> known;
  known.reserve(names.size());
  for (const auto& [name, named] : names) known.push_back(name);
  // The text given, not the number behind it, is what a message about it shall show.
  return app
      .add_option_function<std::string>(
          option, [&value, &names](const std::string& name) { value = names.at(name); },
          description)
      ->check(example::one_of(known))
      ->type_name("NAME")
      ->default_str(name_of(names, value));
}

void add_mesh_options(CLI::App& app, Options& options) {
  example::add_number(app, "--min-level", options.least_level, 1, most_least_level,
                      "level of the largest leaves: 2^N of them fit along an edge of the cube");
  example::add_number(app, "--max-level", options.most_level, 1, most_most_level,
                      "level of the smallest leaves");
  example::add_number(app, "--steps", options.steps, 0, 1'000'000, "time steps");
  example::add_number(app, "--every", options.every, 1, 1'000'000,
                      "steps between changes of the mesh");
  example::add_number(
      app, "--substeps", options.flow.substeps, 1, 1000,
      "substeps of the reaction in a cell of the front; more increase the differences in work");
}

/// What valet's parsers read.
struct Texts {
  std::string memory = "1M";
  std::string headroom;
  std::string order = "stable";
};

void add_migration_options(CLI::App& app, Options& options, Texts& texts) {
  add_named(app, "--partitioner", options.partitioner, methods,
            "partitioner: curve (p4est), hsfc or graph (Zoltan)");
  add_named(app, "--exchange", options.exchange, exchanges,
            "migration: in-place (Valet) or out-of-place (packed buffers and MPI_Alltoallv)");
  add_named(
      app, "--when-full", options.when_full, when_full_names,
      "if a partition by work needs more slots than a rank has: repartition\nwithin the slots, "
      "or grow the Views");
  example::add_number(app, "--capacity", options.capacity, 1.01, 100.0,
                      "slots per rank, relative to the mean number of patches at the start");
  app.add_option("--order", texts.order,
                 "order of the patches on a rank if Zoltan partitions: stable (resident patches,\n"
                 "then arrivals by source), any or fill (few copies); the partitioner curve keeps\n"
                 "the order of the curve")
      ->check(example::accepted_by(valet::parse_order))
      ->type_name("NAME")
      ->capture_default_str();
  example::add_memory(app, texts.memory);
  app.add_flag("--node-storage", options.node_storage,
               "keep the patches in memory that the ranks of a node share, which\n--headroom does "
               "not count");
  example::add_bytes(
      app, "--headroom", texts.headroom,
      "limit on the growth of the data of a rank once it has its first patches, enforced\n"
      "by the operating system (suffix K, M or G allowed)");
}

}  // namespace

const char* to_string(Method method) { return name_of(methods, method); }
const char* to_string(Exchange exchange) { return name_of(exchanges, exchange); }

std::optional<int> read_options(int argc, char** argv, bool prints, Options& options) {
  CLI::App app{
      "A flat body drifts through a periodic cube; its reacting front refines and coarsens an\n"
      "octree of patches. Every few steps the patches are repartitioned, and Valet moves them\n"
      "inside Views that are hardly larger than the patches. Start it with mpirun. Writes CSV\n"
      "files for `python3 examples/plot.py amr DIR` and mesh_*.pvtu for ParaView."};
  Texts texts;
  add_mesh_options(app, options);
  add_migration_options(app, options, texts);
  app.add_flag("--verify", options.migration.verify,
               "also let Valet compare end-to-end checksums of every map");
  app.add_flag(
      "--compare", options.compare,
      "compare the time of each migration with MPI_Alltoallv of the same, packed patches;\n"
      "needs memory for two more copies");
  app.add_flag_callback(
      "--no-vtk", [&options] { options.vtk = false; }, "do not write files for ParaView");
  example::add_output(app, options.output, options.quiet, "output directory");
  const auto check = [&] {
    if (options.least_level > options.most_level)
      throw CLI::ValidationError("--min-level", std::to_string(options.least_level) +
                                                    " is above --max-level " +
                                                    std::to_string(options.most_level));
    if (options.compare && !texts.headroom.empty())
      throw CLI::ValidationError("--compare",
                                 "takes memory for two copies more, so not together "
                                 "with --headroom");
  };
  if (const auto exit_code = example::parse(app, argc, argv, prints, "amr", check))
    return exit_code;
  options.migration.budget_bytes = valet::parse_bytes(texts.memory);
  options.migration.order = valet::parse_order(texts.order);
  if (!texts.headroom.empty()) options.headroom_bytes = valet::parse_bytes(texts.headroom);
  return std::nullopt;
}

}  // namespace amr
