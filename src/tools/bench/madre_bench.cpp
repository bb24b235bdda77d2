// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "madre_schedules.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

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

std::vector<std::string> names_of_ways() {
  std::vector<std::string> names;
  std::ranges::transform(all_ways(), std::back_inserter(names), &Way::name);
  return names;
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

class MadreBenchmark final : public Benchmark {
 public:
  MadreBenchmark()
      : Benchmark("madre",
                  "The five experiments of MADRE (Siegel and Siegel, section 4). Each method is "
                  "compared with MPI_Alltoallv into a second buffer. 1: all blocks to the next "
                  "rank, no free slots. 2: the same with a fifth of the slots free. 3: the same "
                  "with several numbers of free slots. 4: one rank empty, the others full and "
                  "sending to all. 5: transpose with a fifth of the slots free",
                  5) {}

 private:
  std::vector<Option> own_options() override {
    return {{"--experiment", &experiments_, "experiments to run, 1 to 5 (comma-separated)",
             in_range(1, 5)},
            {"--blocks", &slots_, "slots per rank, including free slots; 25000 in the paper",
             positive()},
            {"--block-bytes", &block_bytes_, "bytes per block", positive()},
            {"--free", &free_,
             "free slots per rank, instead of those of the experiment (comma-separated); "
             "experiment 4 ignores them"},
            memory_option(),
            {"--method", &methods_, "methods to measure (comma-separated); all by default",
             one_of(names_of_ways())},
            {"--processes", &processes_,
             "measure nothing; compute the schedules of the experiments for these numbers of "
             "processes with one block of scratch each (comma-separated)",
             in_range(2, 4096)},
            sharing_flag()};
  }

  Jobs jobs() override {
    for (const std::uint64_t free : free_)
      if (free > slots_)
        throw Error(ErrorCode::invalid_argument,
                    "--free is larger than --blocks, which counts all slots");
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
    for (auto [name, options] : all_ways()) {
      set_common(options);
      if (methods_.empty() || std::ranges::count(methods_, name) > 0)
        all.push_back({name, blocks.migration(options, Places::slots)});
    }
    compare({{"experiment", number},
             {"method", ""},
             {"ranks", world_size()},
             {"blocks", slots_},
             {"block_bytes", block_bytes_},
             {"free", free},
             {"memory", parse_bytes(memory_)}},
            all, blocks.peer(), blocks.field(0),
            [](Case& row, const Report& report) { row["local_copies"] = report.local_copies; });
  }

  Case summary() override {
    if (processes_.empty() || world_rank() != 0) return Case::object();
    std::vector<Case> schedules;
    for (const int number : experiments_)
      for (const std::uint64_t free : free_slots_of(number))
        for (const int processes : processes_)
          for (const Case& counted :
               count_madre_schedules(experiment_of(number).pattern, slots_, free,
                                     static_cast<std::uint32_t>(processes))) {
            schedules.push_back({{"experiment", number}});
            schedules.back().update(counted);
          }
    std::printf("Computed without moving data:\n");
    tools::print_table(schedules);
    return {{"schedules", schedules}};
  }

  std::vector<int> experiments_{1, 2, 3, 4, 5};
  std::vector<int> processes_;
  std::uint64_t slots_ = 5000;
  std::uint64_t block_bytes_ = 16000;
  std::vector<std::uint64_t> free_;
  std::vector<std::string> methods_;
};

}  // namespace

std::unique_ptr<Benchmark> make_madre_benchmark() { return std::make_unique<MadreBenchmark>(); }

}  // namespace valet::bench
