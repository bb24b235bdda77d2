// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "schedule/methods.hpp"

#include <algorithm>
#include <cstdio>
#include <span>

namespace valet::bench {
namespace {

class AutoBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    std::ranges::for_each(block_bytes_, require_room_for_address);
    return jobs_of([this](const auto&... of) { measure(of...); }, patterns_, bytes_, block_bytes_,
                   free_percent_);
  }

  void measure(const std::string& pattern, const std::string& bytes, std::uint64_t block_bytes,
               std::uint64_t free_percent) {
    const std::uint64_t blocks = std::max<std::uint64_t>(1, parse_bytes(bytes) / block_bytes);
    const std::uint64_t free = blocks * free_percent / 100;
    BlockComparison comparison(make_map(parse_pattern(pattern), blocks + free, free),
                               {block_bytes});
    // Method::automatic first, then all methods that fit, then the peer.
    auto options = common_options<Options>();
    std::vector<Series> all{{"auto", comparison.migration(options)}};
    for (const schedule::MethodTraits& method : schedule::methods()) {
      options.method = method.method;
      Series series{method.name, comparison.migration(options)};
      if (fits(series)) all.push_back(std::move(series));
    }
    all.push_back({"alltoallv", [&] { return comparison.peer().run_warm(); }});
    take_turns(all);
    Case row = {{"pattern", pattern},
                {"ranks", world_size()},
                {"block_bytes", block_bytes},
                {"free_percent", free_percent},
                {"blocks", blocks}};
    add_results(row, all);
    rows_.push_back(row);
  }

  /// Whether the budgets hold what a method needs. Collective.
  static bool fits(const Series& series) {
    try {
      static_cast<void>(series.run());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::budget_too_small) return false;
      throw;
    }
    return true;
  }

  /// @param all  "auto", the methods, the peer.
  static void add_results(Case& row, const std::vector<Series>& all) {
    const Report& report = all.front().report;
    const double seconds = all.front().median();
    Case seconds_of_methods;
    for (const schedule::MethodTraits& method : schedule::methods())
      seconds_of_methods["seconds_" + std::string(method.name)] = nullptr;
    const std::span methods(all.begin() + 1, all.end() - 1);
    for (const Series& one : methods) seconds_of_methods["seconds_" + one.name] = one.median();
    // Where there are no other methods, the best is the choice itself.
    const Series& best =
        methods.empty() ? all.front() : *std::ranges::min_element(methods, {}, &Series::median);
    row.update({{"method", report.method},
                {"seconds_median", seconds},
                {"best", best.name},
                {"auto_over_best", seconds / best.median()},
                {"ratio_warm", seconds / all.back().median()},
                {"peak_extra_bytes", report.peak_extra_bytes},
                {"verified", std::ranges::all_of(all, &Series::verified)}});
    row.update(seconds_of_methods);
  }

  Case summary() override {
    if (world_rank() != 0 || rows_.empty()) return Case::object();
    std::vector<double> regrets;
    for (const Case& row : rows_) regrets.push_back(row["auto_over_best"]);
    std::ranges::sort(regrets);
    std::printf("\nauto over best: median %.3f, 90 %% of the cases at most %.3f, worst %.3f\n",
                median(regrets), regrets[(regrets.size() * 9 + 9) / 10 - 1], regrets.back());
    return Case::object();
  }

  Texts& patterns_ = option<Texts>("--pattern", all_patterns(), about_patterns());
  Texts& bytes_ = option<Texts>(
      "--bytes", {"32M"}, "bytes of blocks per rank (suffix K, M or G allowed; comma-separated)");
  Numbers& block_bytes_ =
      option<Numbers>("--block-bytes", {64, 4096, 65536}, "bytes per block (comma-separated)");
  Numbers& free_percent_ = option<Numbers>(
      "--free-percent", {0, 10, 100}, "free slots, in percent of the blocks (comma-separated)");
};

}  // namespace

std::unique_ptr<Benchmark> make_auto_benchmark() {
  return std::make_unique<AutoBenchmark>(
      "auto",
      "Automatic choice of the method. For maps to ranks: its time over that of the best method "
      "that the budget holds (auto_over_best)",
      7);
}

}  // namespace valet::bench
