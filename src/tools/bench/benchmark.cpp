// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"

#include "placement.hpp"
#include "schedule/methods.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace valet::bench {

std::string about_methods() {
  std::string known = "auto";
  for (const schedule::MethodTraits& method : schedule::methods())
    known.append(", ").append(method.name);
  return "methods (comma-separated): " + known;
}

Benchmark::Benchmark(const char* called, const char* about, int repeat, const CommonOptions& common)
    : name(called),
      description(about),
      memory_(common.memory == nullptr ? "" : common.memory),
      storage_(common.has_storage ? "ordinary" : ""),
      repeat_(repeat),
      can_share_(common.can_share) {}

std::vector<Option> Benchmark::options() {
  std::vector<Option> all = own_options_;
  if (!memory_.empty())
    all.push_back(
        {"--memory", &memory_, "memory budget per rank in bytes (suffix K, M or G allowed)"});
  if (can_share_)
    all.push_back({"--share-memory,!--no-share-memory", &share_memory_,
                   "let ranks on the same node write into each other's scratch (the default)"});
  if (!storage_.empty())
    all.push_back({"--storage", &storage_,
                   "memory of the arrays: ordinary, or node, which ranks on the same node share",
                   one_of({"ordinary", "node"})});
  all.push_back({"--repeat", &repeat_,
                 std::string("number of measurements; the median is printed") +
                     (repeat_ > 0 ? "" : ". 0: what about three seconds hold, seven at least"),
                 repeat_ > 0 ? positive() : in_range(0, 1'000'000)});
  all.push_back({"--bind,!--no-bind", &bind_,
                 "give each rank a core of its own, if it shares those that it may run on and "
                 "there are enough (the default)"});
  all.push_back({"--json", &json_, "also write the results to this JSON file"});
  return all;
}

bool Benchmark::run() {
  tools::JsonFile file;
  std::uint64_t unwritable = 0;
  if (world_rank() == 0) unwritable = static_cast<std::uint64_t>(file.create(json_));
  unwritable = largest_of_ranks(unwritable);
  if (unwritable != 0)
    refuse("--json: ", tools::JsonFile::complaint(json_, static_cast<int>(unwritable)));
  const std::string placement = place_ranks(bind_);
  if (world_rank() == 0) std::printf("%s\n", placement.c_str());
  Case content = describe_storage();
  content["placement"] = placement;
  const Jobs all = jobs();
  const std::size_t steps = all.size() * static_cast<std::size_t>(rounds());
  if (world_rank() == 0) bar_ = observe::ProgressBar({.title = "measuring", .total = steps});
  for (const auto& job : all) job();
  bar_ = observe::ProgressBar();
  if (world_rank() == 0) tools::print_table(rows_);
  content["cases"] = rows_;
  const std::optional<std::uint64_t> copies = single_copy_calls();
  Case& all_copies = content["single_copy_calls"];
  if (copies) all_copies = sum_of_ranks(*copies);
  if (world_rank() == 0)
    std::printf("single copies between processes (CMA): %s\n",
                copies ? all_copies.dump().c_str() : "unknown");
  content.update(summary());
  if (world_rank() == 0) file.write(content);
  return std::ranges::all_of(rows_, [](const Case& row) { return row["verified"].get<bool>(); });
}

/// Says which memory the arrays of all ranks have, for the file as well.
Case Benchmark::describe_storage() const {
  if (storage_.empty()) return Case::object();
  const bool is_shared = storage() == Storage::node &&
                         on_all_ranks(node_array<std::byte>(MPI_COMM_WORLD, 1).is_shared());
  const bool is_refused = storage() == Storage::node && !is_shared;
  if (world_rank() == 0)
    std::printf("storage: %s%s\n", storage_.c_str(),
                is_refused ? ", which is ordinary memory here" : "");
  return {{"storage", storage_}, {"storage_is_shared", is_shared}};
}

Case Benchmark::counted(const std::vector<Case>& schedules) {
  if (world_rank() == 0 && !schedules.empty()) {
    std::printf("Computed without moving data:\n");
    tools::print_table(schedules);
  }
  return {{"schedules", schedules}};
}

void Benchmark::take_turns(std::vector<Series>& all) {
  std::vector<std::vector<Report>> reports(all.size());
  for (int round = 0; round < rounds(); ++round) {
    for (std::size_t k = 0; k < all.size(); ++k) {
      // Another one comes first in each round: what ran before it is in the caches.
      const std::size_t next = (k + static_cast<std::size_t>(round)) % all.size();
      Series& series = all[next];
      Outcome outcome = series.run();
      series.verified = series.verified && outcome.verified;
      series.report = outcome.report;
      if (round == 0) continue;
      series.seconds.push_back(outcome.seconds);
      reports[next].push_back(std::move(outcome.report));
    }
    step();
  }
  // The parts of a run are those of the run whose time is shown.
  for (std::size_t k = 0; k < all.size(); ++k)
    if (!reports[k].empty()) all[k].report = reports[k][middle_of(all[k].seconds)];
}

Report Benchmark::compare(Case setting, std::vector<Series> all) {
  take_turns(all);
  const Report& report = all[2].report;
  const double seconds = all[2].median();
  setting["seconds_median"] = seconds;
  setting["seconds_plan"] = report.plan_seconds;
  setting["seconds_exchange"] = report.exchange_seconds;
  setting["seconds_local"] = report.local_seconds;
  setting["ratio_warm"] = seconds / all[0].median();
  setting["ratio_cold"] = seconds / all[1].median();
  setting["peak_extra_bytes"] = report.peak_extra_bytes;
  setting["extra_bytes_bound"] = report.extra_bytes_bound;
  setting["messages"] = report.messages;
  if (!storage_.empty()) setting["blocks_pulled"] = report.blocks_pulled;
  setting["local_copies"] = report.local_copies;
  setting["verified"] = std::ranges::all_of(all, &Series::verified);
  rows_.push_back(std::move(setting));
  return report;
}

void Benchmark::compare(const Case& setting, std::vector<Series> all, Alltoallv& peer,
                        const std::function<void(Case& row, const Report& report)>& detail) {
  all.push_back({"alltoallv", [&] { return peer.run_warm(); }});
  take_turns(all);
  all.back().report.peak_extra_bytes = largest_of_ranks(peer.bytes());
  const double peer_seconds = all.back().median();
  for (const Series& series : all) {
    Case row = setting;
    row["method"] = series.name;
    row["seconds_median"] = series.median();
    row["ratio_warm"] = series.median() / peer_seconds;
    // CYCLIC has no phases: the steps of its critical path.
    row["phases"] = series.report.phases + series.report.steps;
    row["messages"] = series.report.messages;
    detail(row, series.report);
    row["peak_extra_bytes"] = series.report.peak_extra_bytes;
    row["extra_bytes_bound"] = series.report.extra_bytes_bound;
    row["verified"] = series.verified;
    rows_.push_back(std::move(row));
  }
}

}  // namespace valet::bench
