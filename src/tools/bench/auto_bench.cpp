// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "output.hpp"
#include "schedule/methods.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <string>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<Pattern> patterns = all_patterns();
  std::string bytes = "32M";
  std::vector<std::size_t> block_bytes{64, 4096, 65536};
  std::vector<unsigned> free_percent{0, 10, 100};
  std::string memory = "4M";
  bool share_memory = true;
  bool predictions = false;
  int repeat = 7;
  std::string json;
};

/// One kind of redistribution: a row of the table.
struct Cell {
  Pattern pattern;
  std::size_t block_bytes;
  unsigned free_percent;
};

std::vector<Cell> cells_of(const Settings& settings) {
  std::vector<Cell> cells;
  for (const Pattern pattern : settings.patterns)
    for (const std::size_t block_bytes : settings.block_bytes)
      for (const unsigned percent : settings.free_percent)
        cells.push_back({pattern, block_bytes, percent});
  return cells;
}

struct Series {
  std::string name;
  Options options;
};

/// Method::automatic first, then all methods that fit.
std::vector<Series> series_of(const Options& options, const Report& automatic) {
  std::vector<Series> series{{"auto", options}};
  if (!automatic.choice) return series;
  for (const schedule::Prediction& prediction : automatic.choice->predictions) {
    if (!prediction.fits) continue;
    series.push_back({to_string(prediction.method), options});
    series.back().options.method = prediction.method;
  }
  return series;
}

Case measure(const Settings& settings, const Cell& cell, Progress& progress, bool& failed) {
  Options options;
  options.budget_bytes = parse_bytes(settings.memory);
  options.share_memory = settings.share_memory;
  const std::uint64_t blocks =
      std::max<std::uint64_t>(1, parse_bytes(settings.bytes) / cell.block_bytes);
  const std::uint64_t free = blocks * cell.free_percent / 100;
  BlockComparison comparison({cell.pattern, world_size(), blocks + free, free}, cell.block_bytes,
                             false, options);
  comparison.fill();
  comparison.run_valet();
  const Report first = comparison.report();
  const std::vector<Series> series = series_of(options, first);
  const MeasuredSeries all =
      measure_series(comparison, series, settings.repeat, progress, [&](const Series& one) {
        comparison.use(one.options);
        return comparison.run_valet();
      });
  const Measured& automatic = all.series.front();
  const double seconds = median(automatic.seconds);
  Case row = {{"pattern", to_string(cell.pattern)},
              {"ranks", world_size()},
              {"block_bytes", cell.block_bytes},
              {"free_percent", cell.free_percent},
              {"blocks", blocks},
              {"method", automatic.report.method},
              {"seconds_median", seconds},
              {"predicted_seconds", automatic.report.predicted_seconds()}};
  double best = seconds;
  std::string best_method = "auto";
  bool verified = true;
  for (std::size_t s = 0; s < series.size(); ++s) {
    verified = all.series[s].verified && verified;
    const double other = median(all.series[s].seconds);
    if (s == 0 || (best_method != "auto" && other >= best)) continue;
    best = other;
    best_method = series[s].name;
  }
  row["best"] = best_method;
  row["auto_over_best"] = seconds / best;
  row["predicted_over_measured"] = automatic.report.predicted_seconds() / seconds;
  row["ratio_warm"] = seconds / median(all.peer.seconds);
  row["achieved_fraction"] = automatic.report.achieved_fraction();
  row["peak_extra_bytes"] = automatic.report.peak_extra_bytes;
  row["verified"] = verified;
  for (const schedule::MethodTraits* const method : schedule::methods()) {
    if (method->predict == nullptr) continue;
    const auto found = std::find_if(series.begin(), series.end(),
                                    [&](const Series& one) { return one.name == method->name; });
    row["seconds_" + std::string(method->name)] =
        found == series.end()
            ? Case()
            : Case(median(all.series[static_cast<std::size_t>(found - series.begin())].seconds));
  }
  if (settings.predictions && automatic.report.choice && world_rank() == 0)
    std::printf("%s, %zu bytes, %u %% free: %s\n%s\n", to_string(cell.pattern), cell.block_bytes,
                cell.free_percent, automatic.report.choice->reason.c_str(),
                schedule::to_table(automatic.report.choice->predictions).c_str());
  failed = failed || !verified;
  return row;
}

/// What the whole table comes to.
void print_summary(const std::vector<Case>& cases) {
  if (world_rank() != 0 || cases.empty()) return;
  std::vector<double> regrets;
  std::size_t within = 0;
  for (const Case& row : cases) {
    regrets.push_back(row["auto_over_best"]);
    const double ratio = row["predicted_over_measured"];
    if (ratio >= 0.5 && ratio <= 2) ++within;
  }
  std::sort(regrets.begin(), regrets.end());
  std::printf("\nauto over best: median %.3f, 90 %% of the cells at most %.3f, worst %.3f\n",
              median(regrets), regrets[(regrets.size() * 9 + 9) / 10 - 1], regrets.back());
  std::printf("predictions within a factor of 2: %zu of %zu cells\n", within, cases.size());
}

/// Seconds that the first choice on a communicator takes beyond the following ones.
double calibration_seconds() {
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  std::array<std::uint64_t, 64> blocks{};
  const std::vector<int> ranks(blocks.size() / 2, (world_rank() + 1) % world_size());
  const BlockStorage storage{field(blocks.data(), blocks.size())};
  const auto plan = [&] {
    return slowest_seconds(
        [&] { static_cast<void>(plan_to_ranks(fresh, storage, ranks.size(), ranks)); });
  };
  Options options;
  options.method = Method::stream;  // makes the communicators that any method needs
  static_cast<void>(plan_to_ranks(fresh, storage, ranks.size(), ranks, options));
  const double first = plan();
  const double second = plan();
  MPI_Comm_free(&fresh);
  return first - second;
}

void run(const Settings& settings, bool& failed) {
  for (const std::size_t block_bytes : settings.block_bytes) require_room_for_address(block_bytes);
  const double calibration = calibration_seconds();
  const std::vector<Cell> cells = cells_of(settings);
  std::vector<Case> cases;
  Progress progress("measuring", cells.size() * (static_cast<std::size_t>(settings.repeat) + 1));
  for (const Cell& cell : cells) {
    cases.push_back(measure(settings, cell, progress, failed));
    cases.back()["calibration_seconds"] = calibration;
  }
  print_table(cases);
  print_summary(cases);
  if (world_rank() == 0)
    std::printf("measuring what moving data costs took %.1f ms\n", calibration * 1e3);
  write_json(settings.json, cases);
}

}  // namespace

void add_auto_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "auto",
      "The method that Valet chooses beside all others, on maps to ranks: what the choice costs "
      "over the best method (auto_over_best), and how good the predictions are");
  add_pattern_option(*command, settings->patterns);
  command->add_option("--bytes", settings->bytes, "bytes of the blocks of a rank, with K, M or G")
      ->capture_default_str();
  command->add_option("--block-bytes", settings->block_bytes, "bytes of a block")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--free-percent", settings->free_percent, "free slots in percent of the blocks")
      ->delimiter(',')
      ->capture_default_str();
  add_budget_option(*command, settings->memory);
  add_sharing_flag(*command, settings->share_memory);
  command->add_flag("--predictions", settings->predictions,
                    "also print the reason and the predictions for every method");
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
