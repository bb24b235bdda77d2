// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

#include <algorithm>
#include <utility>

namespace valet::bench {
namespace {

class SizesBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    std::ranges::for_each(block_bytes_, require_room_for_address);
    const std::uint64_t least = std::max<std::uint64_t>(1, parse_bytes(least_));
    const std::uint64_t most = parse_bytes(most_);
    Jobs jobs;
    for (const std::string& pattern : patterns_)
      for (const std::uint64_t block_bytes : block_bytes_)
        for (std::uint64_t bytes = least; bytes <= most; bytes *= 4)
          if (bytes >= block_bytes)
            jobs.emplace_back([=, this] { measure(pattern, block_bytes, bytes); });
    if (jobs.empty()) refuse("--most is below --least, or no size of a rank holds a block");
    return jobs;
  }

  void measure(const std::string& pattern, std::uint64_t block_bytes, std::uint64_t bytes) {
    const std::uint64_t blocks = bytes / block_bytes;
    BlockComparison comparison(make_map(parse_pattern(pattern), blocks, 0), {block_bytes});
    std::vector<Series> all;
    for (const std::string& method : methods_) {
      const Options options = options_with(method);
      all.push_back(
          {method, binds_ ? comparison.bound_execution(options) : comparison.migration(options)});
    }
    compare({{"pattern", pattern},
             {"method", ""},
             {"ranks", world_size()},
             {"bytes", blocks * block_bytes},
             {"blocks", blocks},
             {"block_bytes", block_bytes},
             {"memory", parse_bytes(memory_)},
             {"bound", binds_}},
            std::move(all), comparison.peer(),
            [](Case& row, const Report& report) { row["seconds_plan"] = report.plan_seconds; });
  }

  Texts& patterns_ = option<Texts>("--pattern", {"ring", "random"}, about_patterns());
  Numbers& block_bytes_ =
      option<Numbers>("--block-bytes", {64, 4096}, "bytes per block (comma-separated)", positive());
  Text& least_ = option<Text>("--least", "1K",
                              "smallest size: bytes of blocks per rank (suffix K, M or G allowed)");
  Text& most_ =
      option<Text>("--most", "1G", "largest size; each size is four times the previous one");
  Texts& methods_ = option<Texts>("--method", {"auto"}, about_methods());
  bool& binds_ = option("--bound", false, "executions of a plan that is made and bound before");
};

}  // namespace

std::unique_ptr<Benchmark> make_sizes_benchmark() {
  return std::make_unique<SizesBenchmark>(
      "sizes",
      "Migrations of increasing size. For maps to ranks without free slots: the time of a "
      "migration, including planning, compared with MPI_Alltoallv into an existing second buffer "
      "(ratio_warm)",
      9);
}

}  // namespace valet::bench
