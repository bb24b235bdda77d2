// SPDX-License-Identifier: BSD-3-Clause
#include "commands.hpp"
#include "common_options.hpp"
#include "contest.hpp"
#include "graph.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "overlap.hpp"
#include <valet/valet.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<int> experiments{1, 2, 3, 4};
  std::string graph = "geometric";
  std::uint32_t vertices = 100'000;
  double degree = 6;
  std::uint64_t instances = 3;
  std::vector<std::uint64_t> parts_of_memory{1, 2, 4, 8, 16, 32, 64};
  std::string message = "0";
  int repeat = 3;
  std::string json;
};

/// What a vertex carries: eight doubles in the paper. The words follow from the vertex.
constexpr std::size_t words_of_block = 8;
using Block = std::array<std::uint64_t, words_of_block>;

Block block_of(std::uint64_t vertex) {
  Block block{};
  for (std::size_t k = 0; k < block.size(); ++k) block[k] = vertex + (k << 56);
  return block;
}

/// A partition and the one that it is to become.
struct Instance {
  std::vector<int> before, after;
};

/// One rank's vertices, which Valet or MPI_Alltoallv brings to their new ranks.
class Migration {
 public:
  explicit Migration(const Instance& instance) : instance_(instance), rank_(world_rank()) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
    for (std::uint32_t v = 0; v < instance.before.size(); ++v) {
      const int to = instance.after[v];
      if (instance.before[v] == rank_) {
        vertices_.push_back(v);
        ranks_.push_back(to);
        ++counts[static_cast<std::size_t>(to)];
        if (to != rank_) ++leaving_;
      } else if (to == rank_) {
        ++arriving_;
      }
    }
    starts_.resize(counts.size(), 0);
    for (std::size_t r = 1; r < counts.size(); ++r) starts_[r] = starts_[r - 1] + counts[r - 1];
    peer_ = std::make_unique<Alltoallv>(counts, sizeof(Block));
    blocks_.resize(std::max<std::size_t>(vertices_.size(), peer_->blocks_received()));
    packed_.resize(vertices_.size());
    received_.resize(static_cast<std::size_t>(peer_->blocks_received()));
  }

  void fill() {
    for (std::size_t k = 0; k < vertices_.size(); ++k) blocks_[k] = block_of(vertices_[k]);
  }

  double run_warm() {
    return slowest_seconds([&] {
      std::vector<std::uint64_t> next = starts_;
      for (std::size_t k = 0; k < ranks_.size(); ++k)
        packed_[next[static_cast<std::size_t>(ranks_[k])]++] = blocks_[k];
      peer_->run(packed_.data(), received_.data());
    });
  }

  double run_valet(const Options& options) {
    const BlockStorage storage{field(blocks_.data(), blocks_.size())};
    return slowest_seconds([&] {
      report_ = migrate(MPI_COMM_WORLD, storage, Occupied(vertices_.size()), ranks_, options);
    });
  }

  /// Whether this rank has the vertices that belong here, each once and whole.
  [[nodiscard]] bool verified() const {
    std::vector<bool> seen(instance_.after.size(), false);
    bool good = report_.blocks_after == peer_->blocks_received();
    for (std::size_t k = 0; k < report_.blocks_after && good; ++k) {
      const std::uint64_t vertex = blocks_[k][0];
      good = vertex < seen.size() && !seen[vertex] && instance_.after[vertex] == rank_ &&
             blocks_[k] == block_of(vertex);
      if (good) seen[vertex] = true;
    }
    return on_all_ranks(good);
  }

  [[nodiscard]] Report report() const { return summed_over_ranks(report_, MPI_COMM_WORLD); }
  [[nodiscard]] std::uint64_t arriving() const { return arriving_; }
  [[nodiscard]] std::uint64_t leaving() const { return leaving_; }
  [[nodiscard]] std::uint64_t peer_bytes() const {
    return (packed_.size() + received_.size()) * sizeof(Block);
  }

 private:
  const Instance& instance_;
  int rank_;
  std::vector<std::uint32_t> vertices_;
  std::vector<int> ranks_;
  std::uint64_t arriving_ = 0;
  std::uint64_t leaving_ = 0;
  std::vector<std::uint64_t> starts_;
  std::unique_ptr<Alltoallv> peer_;
  std::vector<Block> blocks_, packed_, received_;
  Report report_;
};

/// A way to carry an instance out.
struct Series {
  std::string name;
  Options options;
};

Series phased(Heuristic heuristic, Scheduler scheduler, int parking) {
  Series series{to_string(heuristic), {}};
  series.options.method = Method::phased;
  series.options.heuristic = heuristic;
  series.options.scheduler = scheduler;
  series.options.parking = parking;
  if (scheduler == Scheduler::centralized) series.name += "-centralized";
  if (parking > 0) series.name += "-parking" + std::to_string(parking);
  return series;
}

/// The series of an experiment of A. Pinar, B. Hendrickson, "Interprocessor Communication with
/// Limited Memory", IEEE TPDS 15(7), 2004, section 7. STREAM is in all of them.
std::vector<Series> series_of(int experiment) {
  std::vector<Series> series{{"stream", {}}};
  const auto add = [&](Heuristic heuristic, Scheduler scheduler, int parking) {
    series.push_back(phased(heuristic, scheduler, parking));
  };
  for (const Heuristic heuristic : schedule::all_heuristics()) {
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

void measure(const Settings& settings, Case setting, Migration& migration, std::uint64_t memory,
             Progress& progress, std::vector<Case>& cases, bool& failed) {
  const std::vector<Series> series = series_of(setting["experiment"].get<int>());
  const MeasuredSeries measured =
      measure_series(migration, series, settings.repeat, progress, [&](const Series& one) {
        Options options = one.options;
        options.budget_bytes = static_cast<std::size_t>(memory) * sizeof(Block);
        // A schedule has to fit the budget of its root, whatever the others have.
        if (options.scheduler == Scheduler::centralized && world_rank() == 0)
          options.budget_bytes += std::size_t{64} << 10;
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

Graph graph_of(const Settings& settings, std::uint64_t instance) {
  if (settings.graph == "geometric")
    return geometric_graph(settings.vertices, settings.degree, 1 + instance);
  if (settings.graph != "grid") return read_graph(settings.graph);
  std::uint32_t side = 1;
  while (std::uint64_t{side + 1} * (side + 1) * (side + 1) <= settings.vertices) ++side;
  return grid_graph(side);
}

void run(const Settings& settings, bool& failed) {
  std::vector<Case> cases;
  Progress progress("measuring", settings.experiments.size() * settings.instances *
                                     settings.parts_of_memory.size() *
                                     (static_cast<std::size_t>(settings.repeat) + 1));
  for (std::uint64_t k = 0; k < settings.instances; ++k) {
    const Graph graph = graph_of(settings, k);
    Instance instance;
    instance.before = partition(graph, 1 + k);
    instance.after = balance_overlap(graph, instance.before, world_size());
    Migration migration(instance);
    // So much that one phase is enough, then parts of it.
    const std::uint64_t all = std::max<std::uint64_t>(
        1, 2 * largest_of_ranks(std::max(migration.arriving(), migration.leaving())));
    const Case setting = {{"experiment", 0},
                          {"method", ""},
                          {"ranks", world_size()},
                          {"instance", k},
                          {"vertices", graph.vertices()},
                          {"moved", sum_of_ranks(migration.leaving())},
                          {"free", 0}};
    for (const int experiment : settings.experiments)
      for (const std::uint64_t part : settings.parts_of_memory) {
        Case here = setting;
        here["experiment"] = experiment;
        measure(settings, here, migration, std::max<std::uint64_t>(1, all / part), progress, cases,
                failed);
      }
  }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_phases_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "phases",
      "The four experiments of Pinar and Hendrickson (section 7) on partitions of a graph by "
      "Zoltan that are moved to balance the overlapped subdomains. 1: time over phases. 2: "
      "centralized schedules with parking beside distributed ones without. 3: heuristics. 4: "
      "parking never, at every phase, at every second and third. STREAM and MPI_Alltoallv are in "
      "all of them");
  command->add_option("--experiment", settings->experiments, "1 to 4; several are measured in turn")
      ->check(CLI::Range(1, 4))
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--graph", settings->graph,
                   "geometric (random points), grid (three dimensions), or a file in the format of "
                   "METIS and Chaco")
      ->capture_default_str();
  command->add_option("--vertices", settings->vertices, "of a graph that is made")
      ->check(CLI::Range(8U, 100'000'000U))
      ->capture_default_str();
  command->add_option("--degree", settings->degree, "mean number of neighbours, for geometric")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--instances", settings->instances, "partitions from different seeds")
      ->check(CLI::PositiveNumber)
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
