// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "tools/schedules.hpp"

#include <algorithm>

namespace valet::bench {
namespace {

/// A way to carry an experiment out.
struct Way {
  const char* name;
  Options options;
};
const std::vector<Way>& all_ways() {
  static const std::vector<Way> ways{
      {"stream", {.method = Method::stream}},
      {"cyclic-ascending",
       {.method = Method::cyclic, .cyclic = {.edge_order = EdgeOrder::ascending}}},
      {"cyclic-rotated", {.method = Method::cyclic, .cyclic = {.edge_order = EdgeOrder::rotated}}},
      // The parking algorithm of MADRE's section 3.1.
      {"phased",
       {.method = Method::phased, .phased = {.heuristic = Heuristic::first_fit, .parking = 1}}}};
  return ways;
}

/// The five experiments of S. F. Siegel, A. R. Siegel, "MADRE: The Memory-Aware Data Redistribution
/// Engine", section 4. There a rank has 25,000 slots.
struct Experiment {
  Pattern pattern;
  std::vector<std::uint64_t> free;  ///< out of 25 slots
};
Experiment experiment_of(int number) {
  switch (number) {
    case 1: return {Pattern::ring, {0}};
    case 2: return {Pattern::ring, {5}};
    case 3: return {Pattern::ring, {13, 9, 5, 2, 0}};
    case 4: return {Pattern::one_free, {25}};
    default: return {Pattern::transpose, {5}};
  }
}

/// Blocks of each pair of processes.
schedule::TransferMatrix transfers_of(const Map& map, int processes) {
  std::vector<schedule::TransferEntry> transfers;
  for (int from = 0; from < processes; ++from) {
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(processes), 0);
    for (std::uint64_t slot = 0; slot < map.blocks(from); ++slot)
      ++counts[static_cast<std::size_t>(map.destination(from, slot).rank)];
    for (std::uint32_t to = 0; to < counts.size(); ++to)
      if (counts[to] > 0) transfers.push_back({static_cast<std::uint32_t>(from), to, counts[to]});
  }
  return {static_cast<std::uint32_t>(processes), std::move(transfers)};
}

/// The schedules of an experiment for any number of processes, counted without data: what the paper
/// explains its times with. Rows for the parking algorithm ("phased": first fit, parking at every
/// phase) and the cyclic scheduler with either order of edges. Each process has one block of
/// scratch beside its free slots. The phases of CYCLIC are the steps of its critical path, volume
/// is over T.
std::vector<Case> count_schedules(Pattern pattern, std::uint64_t slots, std::uint64_t free,
                                  int processes) {
  const Map map = make_map(pattern, slots, free, processes);
  const schedule::TransferMatrix matrix = transfers_of(map, processes);
  std::vector<std::uint64_t> room(matrix.ranks(), slots + 1);
  for (int rank = 0; rank < processes; ++rank)
    room[static_cast<std::size_t>(rank)] -= map.blocks(rank);
  const schedule::PhaseBounds bounds = schedule::phase_bounds(matrix, room);
  const auto row = [&](const std::string& method, std::uint64_t phases, std::uint64_t messages,
                       std::uint64_t volume) -> Case {
    const double whole = matrix.volume() > 0 ? static_cast<double>(matrix.volume()) : 1;
    return {{"processes", processes},
            {"blocks", slots},
            {"free", free},
            {"method", method},
            {"phases", phases},
            {"messages", messages},
            {"volume", static_cast<double>(volume) / whole},
            {"lower", bounds.lower},
            {"upper", bounds.upper}};
  };
  const schedule::PhaseCounts parked =
      schedule::count_phases(matrix, room, {.heuristic = Heuristic::first_fit, .parking = 1});
  std::vector<Case> rows{row("phased", parked.phases, parked.messages, parked.volume)};
  for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated}) {
    const schedule::CyclicCounts cycles =
        schedule::count_actions(schedule::record_cyclic(matrix, room, order));
    rows.push_back(row(std::string("cyclic-") + to_string(order), cycles.critical_path,
                       cycles.messages, cycles.volume));
  }
  return rows;
}

class MadreBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    for (const std::uint64_t free : free_)
      if (free > slots_) refuse("--free is larger than --blocks, which counts all slots");
    require_room_for_address(block_bytes_);
    Jobs jobs;
    if (!processes_.empty()) return jobs;
    for (const int number : experiments_)
      for (const std::uint64_t free : free_slots_of(number))
        jobs.emplace_back([=, this] { measure(number, experiment_of(number).pattern, free); });
    return jobs;
  }

  [[nodiscard]] std::vector<std::uint64_t> free_slots_of(int number) const {
    const Experiment experiment = experiment_of(number);
    // The fourth one has all free slots on rank 0.
    if (!free_.empty() && experiment.pattern != Pattern::one_free) return free_;
    std::vector<std::uint64_t> free;
    for (const std::uint64_t part : experiment.free) free.push_back(slots_ * part / 25);
    return free;
  }

  void measure(int number, Pattern pattern, std::uint64_t free) {
    BlockComparison blocks(make_map(pattern, slots_, free), {block_bytes_});
    std::vector<Series> all;
    for (auto [method, options] : all_ways()) {
      set_common(options);
      if (methods_.empty() || std::ranges::count(methods_, method) > 0)
        all.push_back({method, blocks.migration(options, Places::slots)});
    }
    compare({{"experiment", number},
             {"method", ""},
             {"ranks", world_size()},
             {"blocks", slots_},
             {"block_bytes", block_bytes_},
             {"free", free},
             {"memory", parse_bytes(memory_)}},
            all, blocks.peer(),
            [](Case& row, const Report& report) { row["local_copies"] = report.local_copies; });
  }

  Case summary() override {
    if (processes_.empty() || world_rank() != 0) return Case::object();
    std::vector<Case> schedules;
    for (const int number : experiments_)
      for (const std::uint64_t free : free_slots_of(number))
        for (const int processes : processes_)
          for (const Case& row :
               count_schedules(experiment_of(number).pattern, slots_, free, processes)) {
            schedules.push_back({{"experiment", number}});
            schedules.back().update(row);
          }
    return counted(schedules);
  }

  Integers& experiments_ =
      option<Integers>("--experiment", {1, 2, 3, 4, 5},
                       "experiments to run, 1 to 5 (comma-separated)", in_range(1, 5));
  Number& slots_ = option<Number>(
      "--blocks", 5000, "slots per rank, including free slots; 25000 in the paper", positive());
  Number& block_bytes_ = option<Number>("--block-bytes", 16000, "bytes per block", positive());
  Numbers& free_ = option<Numbers>("--free", {},
                                   "free slots per rank, instead of those of the experiment "
                                   "(comma-separated); experiment 4 ignores them");
  Texts& methods_ =
      option<Texts>("--method", {}, "methods to measure (comma-separated); all by default",
                    one_of(names_in(all_ways())));
  Integers& processes_ =
      option<Integers>("--processes", {},
                       "measure nothing; compute the schedules of the experiments for these "
                       "numbers of processes with one block of scratch each (comma-separated)",
                       in_range(2, 4096));
};

}  // namespace

std::unique_ptr<Benchmark> make_madre_benchmark() {
  return std::make_unique<MadreBenchmark>(
      "madre",
      "The five experiments of MADRE (Siegel and Siegel, section 4). Each method is compared with "
      "MPI_Alltoallv into a second buffer. 1: all blocks to the next rank, no free slots. 2: the "
      "same with a fifth of the slots free. 3: the same with several numbers of free slots. 4: one "
      "rank empty, the others full and sending to all. 5: transpose with a fifth of the slots free",
      5);
}

}  // namespace valet::bench
