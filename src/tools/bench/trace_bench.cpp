// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "commands.hpp"
#include "common_options.hpp"
#include "output.hpp"
#include "schedule/methods.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <unistd.h>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<Pattern> patterns{Pattern::ring, Pattern::transpose};
  std::vector<std::string> methods{"stream"};
  std::string bytes = "64M";
  std::vector<std::size_t> block_bytes{64, 4096, 65536};
  std::string memory = "4M";
  bool share_memory = true;
  std::string file;
  int repeat = 21;
  std::string json;
};

/// A path that rank 0 writes to: the one that was given, or a temporary one that goes with it.
class TraceTarget {
 public:
  explicit TraceTarget(const std::string& given) : path_(given), kept_(!given.empty()) {
    if (kept_) return;
    const char* const directory = std::getenv("TMPDIR");
    path_ = directory == nullptr || *directory == '\0' ? "/tmp" : directory;
    // The same on all ranks: those that know the file of rank 0 write their part of it themselves.
    long long number = getpid();
    MPI_Bcast(&number, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    path_ += "/valet_bench_trace_" + std::to_string(number) + ".json";
  }
  TraceTarget(const TraceTarget&) = delete;
  TraceTarget& operator=(const TraceTarget&) = delete;
  ~TraceTarget() {
    if (!kept_ && world_rank() == 0) std::remove(path_.c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  /// Events and bytes of the file, on rank 0. An event is a line; metadata does not count.
  [[nodiscard]] std::array<std::uint64_t, 2> size() const {
    std::array<std::uint64_t, 2> sizes{};
    if (world_rank() != 0) return sizes;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line); sizes[1] += line.size() + 1)
      if (line.starts_with("{\"ph\":") && !line.starts_with("{\"ph\":\"M\"")) ++sizes[0];
    return sizes;
  }

 private:
  std::string path_;
  bool kept_;
};

/// Measures calls with a trace and without one in turn, the other one first in each round.
Case measure(const Settings& settings, const Case& setting, Pattern pattern,
             std::size_t block_bytes, const TraceTarget& target, Progress& progress, bool& failed) {
  std::array<Options, 2> options;
  for (Options& one : options) {
    one.budget_bytes = parse_bytes(settings.memory);
    one.share_memory = settings.share_memory;
    one.method = parse_method(setting.at("method").get<std::string>());
  }
  options[1].trace = target.path();
  const std::uint64_t blocks = setting.at("blocks");
  BlockComparison comparison({pattern, world_size(), blocks, 0}, block_bytes, false, options[0]);
  std::array<std::vector<double>, 2> seconds;
  std::vector<double> ratios;
  bool verified = true;
  for (int round = 0; round <= settings.repeat; ++round) {
    std::array<double, 2> one{};
    for (int k = 0; k < 2; ++k) {
      const auto traced = static_cast<std::size_t>((k + round) % 2);
      comparison.use(options[traced]);
      comparison.fill();
      one[traced] = comparison.run_valet();
      verified = comparison.verified() && verified;
    }
    progress.step();
    if (round == 0) continue;
    for (std::size_t k = 0; k < 2; ++k) seconds[k].push_back(one[k]);
    ratios.push_back(one[1] / one[0]);
  }
  failed = failed || !verified;
  const auto [entries, file_bytes] = target.size();
  Case row = setting;
  row["seconds_off"] = median(seconds[0]);
  row["seconds_on"] = median(seconds[1]);
  row["ratio_on"] = median(ratios);
  row["entries"] = entries;
  row["file_bytes"] = file_bytes;
  row["verified"] = verified;
  return row;
}

void run(const Settings& settings, bool& failed) {
  for (const std::size_t block_bytes : settings.block_bytes) require_room_for_address(block_bytes);
  const TraceTarget target(settings.file);
  std::vector<Case> cases;
  Progress progress("measuring", settings.patterns.size() * settings.methods.size() *
                                     settings.block_bytes.size() *
                                     (static_cast<std::size_t>(settings.repeat) + 1));
  for (const Pattern pattern : settings.patterns)
    for (const std::string& method : settings.methods)
      for (const std::size_t block_bytes : settings.block_bytes) {
        const std::uint64_t blocks =
            std::max<std::uint64_t>(1, parse_bytes(settings.bytes) / block_bytes);
        const Case setting = {{"pattern", to_string(pattern)},
                              {"method", method},
                              {"ranks", world_size()},
                              {"blocks", blocks},
                              {"block_bytes", block_bytes}};
        cases.push_back(measure(settings, setting, pattern, block_bytes, target, progress, failed));
      }
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_trace_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "trace",
      "What a trace costs: the same migration without one and with one in turn, plan and writing "
      "the file included (ratio_on: the median of the rounds)");
  add_pattern_option(*command, settings->patterns);
  command->add_option("--method", settings->methods, schedule::method_names())
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--bytes", settings->bytes, "bytes of the blocks of a rank, with K, M or G")
      ->capture_default_str();
  command->add_option("--block-bytes", settings->block_bytes, "bytes of a block")
      ->delimiter(',')
      ->capture_default_str();
  add_budget_option(*command, settings->memory);
  add_sharing_flag(*command, settings->share_memory);
  command->add_option("--file", settings->file,
                      "the trace, which is kept then; by default a temporary file in $TMPDIR");
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
