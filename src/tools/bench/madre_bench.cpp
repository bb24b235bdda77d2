// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

#include <algorithm>
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
                  "The five experiments of MADRE (Siegel and Siegel, section 4), each method "
                  "beside MPI_Alltoallv into a second buffer. 1: everything to the next rank, "
                  "nothing free. 2: the same with a fifth of the slots free. 3: with more or less "
                  "free. 4: one rank empty, the others full and sending to all. 5: transpose with "
                  "a fifth free",
                  5) {}

 private:
  std::vector<Option> own_options() override {
    return {{"--experiment", &experiments_, "1 to 5; several are measured in turn", in_range(1, 5)},
            {"--blocks", &slots_, "slots per rank, free ones included; the paper has 25000",
             positive()},
            {"--block-bytes", &block_bytes_, "bytes of a block", positive()},
            {"--free", &free_,
             "free slots per rank in place of those of the experiment, but for the fourth; several "
             "are measured in turn"},
            memory_option(),
            {"--method", &methods_, "only these; several are measured in turn",
             one_of(names_of_ways())},
            sharing_flag()};
  }

  Jobs jobs() override {
    for (const std::uint64_t free : free_)
      if (free > slots_)
        throw Error(ErrorCode::invalid_argument,
                    "--free is larger than --blocks, which counts all slots");
    require_room_for_address(block_bytes_);
    Jobs jobs;
    for (const int number : experiments_) {
      const Experiment experiment = experiment_of(number);
      // The fourth one has all free slots on rank 0.
      const bool is_given = !free_.empty() && experiment.pattern != Pattern::one_free;
      for (const std::uint64_t free : is_given ? free_ : experiment.free)
        jobs.emplace_back([=, this] {
          measure(number, experiment.pattern, is_given ? free : slots_ * free / 25);
        });
    }
    return jobs;
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

  std::vector<int> experiments_{1, 2, 3, 4, 5};
  std::uint64_t slots_ = 5000;
  std::uint64_t block_bytes_ = 16000;
  std::vector<std::uint64_t> free_;
  std::vector<std::string> methods_;
};

}  // namespace

std::unique_ptr<Benchmark> make_madre_benchmark() { return std::make_unique<MadreBenchmark>(); }

}  // namespace valet::bench
