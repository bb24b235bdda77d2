// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "graph.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "phases_counts.hpp"
#include "phases_instance.hpp"
#include "phases_migration.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<int> experiments{1, 2, 3, 4};
  std::string graph = "geometric";
  std::uint32_t vertices = 30'000;
  double degree = 6;
  std::vector<int> parts{32, 64, 128};
  std::vector<std::string> remaps{"diffuse", "scratch"};
  int layers = 1;
  std::uint64_t instances = 5;
  std::uint64_t carried_out = 1;
  std::vector<std::uint64_t> parts_of_memory{1, 4, 16, 64, 256};
  std::uint64_t seed = 1;
  std::string message = "0";
  int repeat = 3;
  std::string json;
};

/// A way to carry an instance out.
struct Series {
  std::string name;
  Options options;
};

Series phased(Heuristic heuristic, Scheduler scheduler, int parking) {
  Series series{to_string(heuristic), {}};
  series.options.method = Method::phased;
  series.options.phased.heuristic = heuristic;
  series.options.phased.scheduler = scheduler;
  series.options.phased.parking = parking;
  if (scheduler == Scheduler::centralized) series.name += "-centralized";
  if (parking > 0) series.name += "-parking" + std::to_string(parking);
  return series;
}

/// The series of an experiment of A. Pinar, B. Hendrickson, "Interprocessor Communication with
/// Limited Memory", IEEE TPDS 15(7), 2004, section 7. STREAM is in all of them.
std::vector<Series> series_of(int experiment) {
  std::vector<Series> series(1);
  series.front().name = to_string(Method::stream);
  series.front().options.method = Method::stream;
  const auto add = [&](Heuristic heuristic, Scheduler scheduler, int parking) {
    series.push_back(phased(heuristic, scheduler, parking));
  };
  for (const Heuristic heuristic : all_heuristics()) {
    const bool continuous = heuristic == Heuristic::continuous;
    const bool random = heuristic == Heuristic::random || heuristic == Heuristic::fortune_wheel;
    if (experiment == 1 && (random || heuristic == Heuristic::first_fit))
      add(heuristic, Scheduler::distributed, 0);
    if (experiment == 2 && !continuous) {
      add(heuristic, Scheduler::distributed, 0);
      add(heuristic, Scheduler::centralized, 1);
    }
    if (experiment == 3) add(heuristic, Scheduler::distributed, 0);
  }
  if (experiment == 4)
    for (const int parking : {0, 1, 2, 3})
      add(Heuristic::fortune_wheel, Scheduler::distributed, parking);
  return series;
}

/// What a root needs for the schedule of so many ranks, beside its scratch.
std::size_t schedule_bytes(int ranks) {
  const auto count = static_cast<std::size_t>(ranks);
  return 320 * count + 160 * count * count;
}

void measure(const Settings& settings, Case setting, Migration& migration, std::uint64_t memory,
             Progress& progress, std::vector<Case>& cases, bool& failed) {
  const std::vector<Series> series = series_of(setting["experiment"].get<int>());
  const MeasuredSeries measured =
      measure_series(migration, series, settings.repeat, progress, [&](const Series& one) {
        Options options = one.options;
        options.budget_bytes = static_cast<std::size_t>(memory) * sizeof(Block);
        if (options.phased.scheduler == Scheduler::centralized && world_rank() == 0)
          options.budget_bytes += schedule_bytes(world_size());
        options.message_bytes = parse_bytes(settings.message);
        return migration.run_valet(options);
      });
  setting["free"] = memory;
  list_series(setting, series, measured, cases, failed, [](Case& row, const Report& report) {
    row["waited"] = report.detours;
    row["seconds_gather"] = report.gather_seconds;
    row["seconds_solve"] = report.solve_seconds;
    row["seconds_scatter"] = report.scatter_seconds;
  });
}

Graph graph_of(const Settings& settings) {
  if (settings.graph == "geometric")
    return geometric_graph(settings.vertices, settings.degree, settings.seed);
  if (settings.graph != "grid") return read_graph(settings.graph);
  std::uint32_t side = 1;
  while (std::uint64_t{side + 1} * (side + 1) * (side + 1) <= settings.vertices) ++side;
  return grid_graph(side);
}

/// An instance with data, its parts cyclic to the ranks of mpirun.
void carry_out(const Settings& settings, const Instance& instance, Progress& progress,
               std::vector<Case>& cases, bool& failed) {
  const Instance folded = instance.folded(world_size());
  Migration migration(folded);
  for (const int experiment : settings.experiments)
    for (const std::uint64_t part : settings.parts_of_memory) {
      const Case setting = {{"experiment", experiment},
                            {"method", ""},
                            {"ranks", world_size()},
                            {"remap", instance.remap},
                            {"instance", instance.number},
                            {"vertices", instance.before.size()},
                            {"moved", sum_of_ranks(migration.leaving())},
                            {"part", part},
                            {"free", 0}};
      measure(settings, setting, migration, memory_of(folded, part), progress, cases, failed);
    }
}

std::vector<Instance> all_instances(const Settings& settings, const Graph& graph) {
  std::vector<Remap> remaps;
  for (const std::string& name : settings.remaps) remaps.push_back(parse_remap(name));
  std::vector<Instance> all;
  for (const int parts : settings.parts) {
    std::vector<Instance> some =
        make_instances(graph, parts, settings.layers, remaps, settings.instances, settings.seed);
    std::move(some.begin(), some.end(), std::back_inserter(all));
  }
  return all;
}

void run(const Settings& settings, bool& failed) {
  const Graph graph = graph_of(settings);
  const int most_parts = *std::max_element(settings.parts.begin(), settings.parts.end());
  if (static_cast<std::uint32_t>(most_parts) > graph.vertices())
    throw Error(ErrorCode::invalid_argument, std::to_string(most_parts) + " parts for " +
                                                 std::to_string(graph.vertices()) +
                                                 " vertices; give fewer --parts or a larger graph");
  const std::vector<Instance> instances = all_instances(settings, graph);
  std::vector<Case> schedules;
  for (const int experiment : settings.experiments)
    for (Case& row : count_schedules(experiment, instances, settings.parts_of_memory))
      schedules.push_back(std::move(row));
  const auto is_carried_out = [&](const Instance& instance) {
    return instance.number < settings.carried_out && instance.parts == settings.parts.front();
  };
  const auto count =
      static_cast<std::size_t>(std::count_if(instances.begin(), instances.end(), is_carried_out));
  std::vector<Case> cases;
  {
    Progress progress("measuring", count * settings.experiments.size() *
                                       settings.parts_of_memory.size() *
                                       (static_cast<std::size_t>(settings.repeat) + 1));
    for (const Instance& instance : instances)
      if (is_carried_out(instance)) carry_out(settings, instance, progress, cases, failed);
  }
  print_table(cases);
  print_schedules(schedules);
  write_json(settings.json, cases, {{"schedules", schedules}});
}

/// Options of the graph and of the partitions that become each other.
void add_instance_options(CLI::App& command, Settings& settings) {
  command
      .add_option("--graph", settings.graph,
                  "geometric (random points), grid (three dimensions), or a file in the format of "
                  "METIS and Chaco")
      ->capture_default_str();
  command.add_option("--vertices", settings.vertices, "of a graph that is made")
      ->check(CLI::Range(8U, 100'000'000U))
      ->capture_default_str();
  command.add_option("--degree", settings.degree, "mean number of neighbours, for geometric")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option(
          "--parts", settings.parts,
          "processors whose schedules are counted; parts of the first one are distributed over the "
          "ranks of mpirun and carried out")
      ->check(CLI::Range(2, 4096))
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option("--remap", settings.remaps,
                  "the new partition: the old one adjusted (diffuse), or one made anew and "
                  "adjusted (scratch), which needs more phases")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--overlap", settings.layers, "layers by which subdomains overlap")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--instances", settings.instances, "partitions from different seeds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--seed", settings.seed, "of the first partition, and of random points")
      ->capture_default_str();
}

}  // namespace

void add_phases_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "phases",
      "The four experiments of Pinar and Hendrickson (section 7) on partitions of a graph by "
      "Zoltan that become partitions with balanced overlapped subdomains. 1: time over phases. 2: "
      "centralized schedules with parking beside distributed ones without. 3: heuristics. 4: "
      "parking never, at every phase, at every second and third. STREAM and MPI_Alltoallv are in "
      "all of them. The schedules of 3 and 4 are also counted for as many processors as there "
      "are parts");
  command->add_option("--experiment", settings->experiments, "1 to 4; several are measured in turn")
      ->check(CLI::Range(1, 4))
      ->delimiter(',')
      ->capture_default_str();
  add_instance_options(*command, *settings);
  command
      ->add_option("--carry-out", settings->carried_out,
                   "instances of each kind that are carried out with data")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      ->add_option("--part", settings->parts_of_memory,
                   "memory of a rank, as a part of what one phase needs: 4 is a quarter")
      ->check(CLI::PositiveNumber)
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--message-bytes", settings->message, "bytes of a message at most, 0: chosen")
      ->capture_default_str();
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
