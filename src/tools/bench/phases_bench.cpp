// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "graph.hpp"
#include "phases_instance.hpp"
#include "tools/schedules.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

namespace valet::bench {
namespace {

/// What a vertex carries in the paper: eight doubles.
constexpr std::size_t block_bytes = 8 * sizeof(double);

/// The name of a way to make phases.
std::string name_of(const PhasedOptions& phasing) {
  return to_string(phasing.heuristic) +
         std::string(phasing.scheduler == Scheduler::centralized ? "-centralized" : "") +
         (phasing.parking > 0 ? "-parking" + std::to_string(phasing.parking) : "");
}

constexpr std::array costs_of_schedule{"phases", "messages", "volume", "waited", "lower", "upper"};
using Costs = std::array<double, costs_of_schedule.size()>;

/// The schedule of a way to make phases: messages and volume over those of one phase, what waited
/// over the volume.
Costs count_schedule(const schedule::TransferMatrix& matrix, std::uint64_t memory,
                     const PhasedOptions& phasing, std::uint64_t seed) {
  const std::vector<std::uint64_t> free = schedule::least_free(matrix, memory);
  const schedule::PhaseCounts counts = schedule::count_phases(
      matrix, free, {.heuristic = phasing.heuristic, .parking = phasing.parking, .seed = seed});
  const schedule::PhaseBounds bounds = schedule::phase_bounds(matrix, free);
  const auto volume = static_cast<double>(matrix.volume());
  return {static_cast<double>(counts.phases),
          static_cast<double>(counts.messages) / static_cast<double>(matrix.transfers().size()),
          static_cast<double>(counts.volume) / volume,
          static_cast<double>(counts.detours) / volume,
          static_cast<double>(bounds.lower),
          static_cast<double>(bounds.upper)};
}

/// What an experiment of A. Pinar, B. Hendrickson, "Interprocessor Communication with Limited
/// Memory", IEEE TPDS 15(7), 2004, section 7, carries out beside STREAM, which is in all of them.
std::vector<PhasedOptions> phasings_of(int experiment) {
  std::vector<PhasedOptions> phasings;
  for (const Heuristic heuristic : all_heuristics()) {
    const bool random = heuristic == Heuristic::random || heuristic == Heuristic::fortune_wheel;
    const bool is_in_first = random || heuristic == Heuristic::first_fit;
    const bool is_in_second = heuristic != Heuristic::continuous;
    if (experiment == 3 || (experiment == 1 && is_in_first) || (experiment == 2 && is_in_second))
      phasings.push_back({heuristic});
    if (experiment == 2 && is_in_second) phasings.push_back({heuristic, Scheduler::centralized, 1});
  }
  if (experiment == 4)
    for (const int parking : {0, 1, 2, 3})
      phasings.push_back({.heuristic = Heuristic::fortune_wheel, .parking = parking});
  return phasings;
}

/// A row for every kind of instance, number of parts, memory and way to make phases, of Experiments
/// 3 and 4, where the latter is counted for first fit, too: means over the instances, with the
/// standard deviation and the extremes of the phases. Local.
std::vector<Case> count_schedules(int experiment, const std::vector<Instance>& instances,
                                  const std::vector<std::uint64_t>& parts_of_memory) {
  if (experiment < 3) return {};
  std::vector<PhasedOptions> phasings = phasings_of(experiment);
  if (experiment == 4)
    for (const int parking : {0, 1, 2, 3})
      phasings.push_back({.heuristic = Heuristic::first_fit, .parking = parking});
  using Group = std::tuple<std::string, std::uint32_t, std::size_t, std::size_t>;
  std::map<Group, std::vector<Costs>> groups;
  for (const Instance& instance : instances) {
    const schedule::TransferMatrix matrix = instance.matrix();
    for (std::size_t m = 0; m < parts_of_memory.size(); ++m)
      for (std::size_t p = 0; p < phasings.size(); ++p) {
        std::vector<Costs>& counted = groups[{instance.remap, instance.parts, m, p}];
        if (matrix.volume() > 0)  // otherwise the partition was balanced already
          counted.push_back(count_schedule(matrix, memory_of(matrix, parts_of_memory[m]),
                                           phasings[p], 1 + instance.number));
      }
  }
  std::vector<Case> rows;
  for (const auto& [group, counted] : groups) {
    const auto& [remap, parts, m, p] = group;
    rows.push_back({{"experiment", experiment},
                    {"remap", remap},
                    {"parts", parts},
                    {"part", parts_of_memory[m]},
                    {"method", name_of(phasings[p])},
                    {"instances", counted.size()}});
    const auto count = static_cast<double>(std::max<std::size_t>(1, counted.size()));
    for (std::size_t n = 0; n < costs_of_schedule.size(); ++n) {
      double sum = 0, squares = 0;
      for (const Costs& one : counted) sum += one[n];
      rows.back()[costs_of_schedule[n]] = sum / count;
      if (n > 0) continue;
      for (const Costs& one : counted) squares += std::pow(one[0] - sum / count, 2);
      const auto [least, most] = std::ranges::minmax_element(counted);
      rows.back()["phases_deviation"] = count > 1 ? std::sqrt(squares / (count - 1)) : 0;
      rows.back()["phases_least"] = counted.empty() ? 0 : least->front();
      rows.back()["phases_most"] = counted.empty() ? 0 : most->front();
    }
  }
  return rows;
}

class PhasesBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    make_all_instances();
    Jobs jobs;
    for (const Instance& instance : instances_) {
      if (instance.number >= carried_out_ ||
          instance.parts != static_cast<std::uint32_t>(parts_.front()))
        continue;
      for (const int experiment : experiments_)
        for (const std::uint64_t part : parts_of_memory_)
          jobs.emplace_back([=, this, &instance] { measure(experiment, instance, part); });
    }
    return jobs;
  }

  [[nodiscard]] Graph make_graph() const {
    const auto vertices = static_cast<std::uint32_t>(vertices_);
    if (graph_ == "geometric") return geometric_graph(vertices, degree_, seed_);
    if (graph_ != "grid") return read_graph(graph_);
    std::uint32_t side = 1;
    while (std::uint64_t{side + 1} * (side + 1) * (side + 1) <= vertices) ++side;
    return grid_graph(side);
  }

  void make_all_instances() {
    const Graph graph = make_graph();
    const std::vector<std::uint32_t> all_parts(parts_.begin(), parts_.end());
    if (std::ranges::max(all_parts) > graph.vertices())
      refuse(std::ranges::max(all_parts), " parts for ", graph.vertices(),
             " vertices; give fewer --parts or a larger graph");
    for (const std::uint32_t parts : all_parts)
      std::ranges::move(make_instances(graph, parts, layers_, remaps_, count_, seed_),
                        std::back_inserter(instances_));
  }

  /// An instance with data, its parts cyclic to the ranks of mpirun.
  void measure(int experiment, const Instance& instance, std::uint64_t part) {
    const Instance folded = instance.folded();
    const schedule::TransferMatrix matrix = folded.matrix();
    const std::uint64_t memory = memory_of(matrix, part);
    BlockComparison blocks(folded.map(), {block_bytes});
    const std::size_t ranks = folded.parts;
    Options options;
    options.budget_bytes = static_cast<std::size_t>(memory) * block_bytes;
    options.method = Method::stream;
    std::vector<Series> all{{to_string(options.method), blocks.migration(options)}};
    options.method = Method::phased;
    for (const PhasedOptions& phasing : phasings_of(experiment)) {
      Options one = options;
      one.phased = phasing;
      // What a root needs for the schedule, beside its scratch.
      if (phasing.scheduler == Scheduler::centralized && world_rank() == 0)
        one.budget_bytes += 320 * ranks + 160 * ranks * ranks;
      all.push_back({name_of(phasing), blocks.migration(one)});
    }
    compare({{"experiment", experiment},
             {"method", ""},
             {"ranks", world_size()},
             {"remap", instance.remap},
             {"instance", instance.number},
             {"vertices", instance.before.size()},
             {"moved", matrix.volume()},
             {"part", part},
             {"free", memory}},
            all, blocks.peer(), [](Case& row, const Report& report) {
              row["waited"] = report.detours;
              row["seconds_gather"] = report.gather_seconds;
              row["seconds_solve"] = report.solve_seconds;
              row["seconds_scatter"] = report.scatter_seconds;
            });
  }

  Case summary() override {
    std::vector<Case> schedules;
    for (const int experiment : experiments_)
      std::ranges::move(count_schedules(experiment, instances_, parts_of_memory_),
                        std::back_inserter(schedules));
    return counted(schedules);
  }

  Integers& experiments_ = option<Integers>(
      "--experiment", {1, 2, 3, 4}, "experiments to run, 1 to 4 (comma-separated)", in_range(1, 4));
  Text& graph_ = option<Text>("--graph", "geometric",
                              "geometric (random points), grid (three-dimensional), or a file in "
                              "the format of METIS and Chaco");
  Number& vertices_ = option<Number>(
      "--vertices", 30'000, "number of vertices of a generated graph", in_range(8, 100'000'000));
  double& degree_ =
      option<double>("--degree", 6, "mean number of neighbours in the geometric graph", positive());
  Integers& parts_ = option<Integers>(
      "--parts", {32, 64, 128},
      "numbers of parts (comma-separated); schedules are computed with one processor per part, and "
      "executed for the first number, with its parts dealt out to the MPI ranks",
      in_range(2, 4096));
  Texts& remaps_ = option<Texts>("--remap", {"diffuse", "scratch"},
                                 "new partition: the old one, adjusted (diffuse), or another one, "
                                 "adjusted (scratch), which needs more phases (comma-separated)",
                                 one_of({"diffuse", "scratch"}));
  int& layers_ = option("--overlap", 1, "number of layers by which subdomains overlap", positive());
  Number& count_ = option<Number>(
      "--instances", 5, "number of instances of each kind, with different seeds", positive());
  Number& seed_ =
      option<Number>("--seed", 1, "seed of the first partition and of the random points");
  Number& carried_out_ = option<Number>(
      "--carry-out", 1, "number of instances of each kind that are executed with data",
      in_range(0, 1'000'000));
  Numbers& parts_of_memory_ = option<Numbers>(
      "--part", {1, 4, 16, 64, 256},
      "memory of a rank, as a fraction of what one phase needs: 4 is a quarter (comma-separated)",
      positive());
  std::vector<Instance> instances_;
};

}  // namespace

std::unique_ptr<Benchmark> make_phases_benchmark() {
  return std::make_unique<PhasesBenchmark>(
      "phases",
      "The four experiments of Pinar and Hendrickson (section 7). Vertices move from a partition "
      "of a graph by Zoltan to one with balanced overlapped subdomains. 1: time over phases. 2: "
      "centralized schedules with parking against distributed schedules without. 3: heuristics. 4: "
      "parking never, in every phase, in every second and in every third phase. All include STREAM "
      "and MPI_Alltoallv. The schedules of 3 and 4 are also computed with one processor per part",
      3, CommonOptions{.memory = nullptr, .can_share = false});
}

}  // namespace valet::bench
