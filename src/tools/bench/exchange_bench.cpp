// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "commands.hpp"
#include "common_options.hpp"
#include "comparison.hpp"
#include "measure.hpp"
#include "output.hpp"
#include "patterns.hpp"
#include "schedule/methods.hpp"
#include <valet/options.hpp>

#include <memory>

namespace valet::bench {
namespace {

struct Settings {
  std::vector<Pattern> patterns{Pattern::ring};
  std::uint64_t slots = 16384;
  std::size_t block_bytes = 16000;
  std::uint64_t free = 0;
  std::string memory = "4M";
  std::vector<std::string> methods{"stream"};
  std::string map = "ranks";
  std::string order = "fill";
  std::size_t message_bytes = 0;
  int window = 32;
  bool share_memory = true;
  int repeat = 5;
  std::string json;
  std::string trace;
};

Case measure(const Settings& settings, Pattern pattern, const std::string& method,
             Progress& progress, bool& failed) {
  Options options;
  options.budget_bytes = parse_bytes(settings.memory);
  options.message_bytes = settings.message_bytes;
  options.stream.window = settings.window;
  options.share_memory = settings.share_memory;
  options.method = parse_method(method);
  options.order = parse_order(settings.order);
  options.trace = settings.trace;
  BlockComparison comparison({pattern, world_size(), settings.slots, settings.free},
                             settings.block_bytes, settings.map == "slots", options);
  Case row = {{"pattern", to_string(pattern)},
              {"method", method},
              {"map", settings.map},
              {"order", settings.order},
              {"ranks", world_size()},
              {"blocks", settings.slots},
              {"block_bytes", settings.block_bytes},
              {"free", settings.free},
              {"memory", options.budget_bytes}};
  measure_in_turn(comparison, settings.repeat, progress, row, failed);
  return row;
}

void run(const Settings& settings, bool& failed) {
  if (settings.free > settings.slots)
    throw Error(ErrorCode::invalid_argument,
                "--free is larger than --blocks, which counts all slots");
  require_room_for_address(settings.block_bytes);
  std::vector<Case> cases;
  Progress progress("measuring", settings.patterns.size() * settings.methods.size() *
                                     (static_cast<std::size_t>(settings.repeat) + 1));
  for (const Pattern pattern : settings.patterns)
    for (const std::string& method : settings.methods)
      cases.push_back(measure(settings, pattern, method, progress, failed));
  print_table(cases);
  write_json(settings.json, cases);
}

}  // namespace

void add_exchange_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "exchange",
      "Blocks between ranks, beside MPI_Alltoallv into a second buffer (ratio_warm) and "
      "into freshly allocated memory (ratio_cold), packing included where blocks are "
      "not in the order of their destinations");
  add_pattern_option(*command, settings->patterns);
  command->add_option("--blocks", settings->slots, "slots per rank, free ones included")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--block-bytes", settings->block_bytes, "bytes of a block")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command->add_option("--free", settings->free, "free slots per rank")->capture_default_str();
  add_budget_option(*command, settings->memory);
  command
      ->add_option("--method", settings->methods,
                   schedule::method_names() + "; several are measured in turn")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--map", settings->map, "what the map says: ranks or slots")
      ->check(CLI::IsMember({"ranks", "slots"}))
      ->capture_default_str();
  command->add_option("--order", settings->order, "fill or stable, for a map to ranks")
      ->check(CLI::IsMember({"fill", "stable"}))
      ->capture_default_str();
  command
      ->add_option("--message-bytes", settings->message_bytes,
                   "bytes of a message at most; 0: Valet chooses")
      ->capture_default_str();
  command->add_option("--window", settings->window, "data messages outstanding in either direction")
      ->capture_default_str();
  add_sharing_flag(*command, settings->share_memory);
  add_repeat_option(*command, settings->repeat);
  add_json_option(*command, settings->json);
  command->add_option("--trace", settings->trace,
                      "record every migration; this file keeps the last one, for ui.perfetto.dev");
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
