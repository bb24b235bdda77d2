// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "output.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<int> experiments{1, 2, 3, 4, 5};
  std::uint64_t slots = 5000;
  std::size_t block_bytes = 16000;
  std::vector<std::uint64_t> free;
  std::string memory = "4M";
  std::vector<std::string> methods;
  bool share_memory = true;
  int repeat = 5;
  std::string json;
};

/// A way to carry an experiment out, a line in the plots.
struct Series {
  const char* name;
  void (*choose)(Options&);
};
constexpr std::array all_series{
    Series{"stream", [](Options& options) { options.method = Method::stream; }},
    Series{"cyclic-ascending",
           [](Options& options) {
             options.method = Method::cyclic;
             options.cyclic.edge_order = EdgeOrder::ascending;
           }},
    Series{"cyclic-rotated",
           [](Options& options) {
             options.method = Method::cyclic;
             options.cyclic.edge_order = EdgeOrder::rotated;
           }},
    // The parking algorithm of MADRE's section 3.1.
    Series{"phased",
           [](Options& options) {
             options.method = Method::phased;
             options.phased.heuristic = Heuristic::first_fit;
             options.phased.parking = 1;
           }},
};

/// The five experiments of S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution
/// Engine", section 4. There a rank has 25,000 slots.
struct Experiment {
  int number;
  Pattern pattern;
  std::vector<std::uint64_t> free;  ///< of 25 slots
};
const std::array<Experiment, 5>& all_experiments() {
  static const std::array<Experiment, 5> experiments{{
      {1, Pattern::ring, {0}},
      {2, Pattern::ring, {5}},
      {3, Pattern::ring, {13, 9, 5, 2, 0}},
      {4, Pattern::one_free, {25}},
      {5, Pattern::transpose, {5}},
  }};
  return experiments;
}

/// Free slots per rank that an experiment is measured with; the fourth one has them all on rank 0.
std::vector<std::uint64_t> free_slots(const Settings& settings, const Experiment& experiment) {
  if (!settings.free.empty() && experiment.pattern != Pattern::one_free) return settings.free;
  std::vector<std::uint64_t> free;
  for (const std::uint64_t of_25 : experiment.free) free.push_back(settings.slots * of_25 / 25);
  return free;
}

std::vector<Series> chosen_series(const Settings& settings) {
  std::vector<Series> chosen;
  for (const Series& series : all_series)
    if (settings.methods.empty() || std::find(settings.methods.begin(), settings.methods.end(),
                                              series.name) != settings.methods.end())
      chosen.push_back(series);
  return chosen;
}

void measure(const Settings& settings, const Experiment& experiment, std::uint64_t free,
             Progress& progress, std::vector<Case>& cases, bool& failed) {
  Options options;
  options.budget_bytes = parse_bytes(settings.memory);
  options.share_memory = settings.share_memory;
  BlockComparison comparison({experiment.pattern, world_size(), settings.slots, free},
                             settings.block_bytes, true, options);
  const std::vector<Series> series = chosen_series(settings);
  const MeasuredSeries measured =
      measure_series(comparison, series, settings.repeat, progress, [&](const Series& one) {
        one.choose(options);
        comparison.use(options);
        return comparison.run_valet();
      });
  const Case setting = {{"experiment", experiment.number},
                        {"method", ""},
                        {"ranks", world_size()},
                        {"blocks", settings.slots},
                        {"block_bytes", settings.block_bytes},
                        {"free", free},
                        {"memory", options.budget_bytes}};
  list_series(setting, series, measured, cases, failed,
              [](Case& row, const Report& report) { row["local_copies"] = report.local_copies; });
}

void run(const Settings& settings, bool& failed) {
  for (const std::uint64_t free : settings.free)
    if (free > settings.slots)
      throw Error(ErrorCode::invalid_argument,
                  "--free is larger than --blocks, which counts all slots");
  require_room_for_address(settings.block_bytes);
  std::vector<Case> cases;
  std::size_t settings_count = 0;
  for (const int number : settings.experiments)
    settings_count +=
        free_slots(settings, all_experiments().at(static_cast<std::size_t>(number) - 1)).size();
  Progress progress("measuring", settings_count * (static_cast<std::size_t>(settings.repeat) + 1));
  for (const int number : settings.experiments) {
    const Experiment& experiment = all_experiments().at(static_cast<std::size_t>(number) - 1);
    for (const std::uint64_t free : free_slots(settings, experiment))
      measure(settings, experiment, free, progress, cases, failed);
  }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_madre_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "madre",
      "The five experiments of MADRE (Siegel and Siegel, section 4), each method beside "
      "MPI_Alltoallv into a second buffer. 1: everything to the next rank, nothing free. 2: the "
      "same with a fifth of the slots free. 3: with more or less free. 4: one rank empty, the "
      "others full and sending to all. 5: transpose with a fifth free");
  command->add_option("--experiment", settings->experiments, "1 to 5; several are measured in turn")
      ->check(CLI::Range(1, 5))
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--blocks", settings->slots,
                   "slots per rank, free ones included; the paper has 25000")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--block-bytes", settings->block_bytes, "bytes of a block")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      ->add_option("--free", settings->free,
                   "free slots per rank in place of those of the experiment, but for the fourth; "
                   "several are measured in turn")
      ->delimiter(',');
  add_budget_option(*command, settings->memory);
  std::vector<std::string> names;
  names.reserve(all_series.size());
  for (const Series& series : all_series) names.emplace_back(series.name);
  command->add_option("--method", settings->methods, "only these; several are measured in turn")
      ->check(CLI::IsMember(names))
      ->delimiter(',');
  add_sharing_flag(*command, settings->share_memory);
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
