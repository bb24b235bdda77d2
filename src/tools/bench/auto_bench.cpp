// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "schedule/methods.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace valet::bench {
namespace {

/// Seconds that the first choice on a communicator takes beyond the following ones.
double calibration_seconds() {
  MPI_Comm fresh = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &fresh);
  std::array<std::uint64_t, 64> blocks{};
  const std::vector<int> ranks(blocks.size() / 2, (world_rank() + 1) % world_size());
  const BlockStorage storage{field(blocks.data(), blocks.size())};
  const auto plan = [&](const Options& options) {
    return slowest_seconds(
        [&] { static_cast<void>(plan_to_ranks(fresh, storage, ranks.size(), ranks, options)); });
  };
  // Makes the communicators that any method needs.
  plan({.method = Method::stream});
  const double first = plan({});
  const double second = plan({});
  MPI_Comm_free(&fresh);
  return first - second;
}

class AutoBenchmark final : public Benchmark {
 public:
  AutoBenchmark()
      : Benchmark(
            "auto",
            "Automatic choice of the method. For maps to ranks: its time over that of the best "
            "method (auto_over_best), and the accuracy of the predicted exchange and local time",
            7) {
    own_options_ = {
        pattern_option(patterns_),
        {"--bytes", &bytes_, "bytes of blocks per rank (suffix K, M or G allowed)"},
        {"--block-bytes", &block_bytes_, "bytes per block (comma-separated)"},
        {"--free-percent", &free_percent_,
         "free slots, in percent of the blocks (comma-separated)"},
        memory_option(),
        sharing_flag(),
        {"--predictions", &predictions_,
         "also print the reason for the choice and the predicted times of every method"}};
  }

 private:
  Jobs jobs() override {
    std::ranges::for_each(block_bytes_, require_room_for_address);
    calibration_ = calibration_seconds();
    return jobs_of([this](const auto&... of) { measure(of...); }, patterns_, block_bytes_,
                   free_percent_);
  }

  void measure(const std::string& pattern, std::uint64_t block_bytes, std::uint64_t free_percent) {
    const std::uint64_t blocks = std::max<std::uint64_t>(1, parse_bytes(bytes_) / block_bytes);
    const std::uint64_t free = blocks * free_percent / 100;
    BlockComparison comparison(make_map(parse_pattern(pattern), blocks + free, free),
                               {block_bytes});
    // Method::automatic first, then all methods that fit, then the peer.
    auto options = common_options<Options>();
    std::vector<Series> all{{"auto", comparison.migration(options)}};
    const auto choice = all.front().run().report.choice;
    for (const schedule::MethodTraits& method : schedule::methods()) {
      options.method = method.method;
      if (std::ranges::all_of(choice->predictions, [&](const schedule::Prediction& prediction) {
            return prediction.fits || prediction.method != method.method;
          }))
        all.push_back({method.name, comparison.migration(options)});
    }
    all.push_back({"alltoallv", [&] { return comparison.peer().run_warm(); }});
    take_turns(all);
    Case row = {{"pattern", pattern},
                {"ranks", world_size()},
                {"block_bytes", block_bytes},
                {"free_percent", free_percent},
                {"blocks", blocks}};
    add_results(row, all);
    row["calibration_seconds"] = calibration_;
    rows_.push_back(row);
    const Report& report = all.front().report;
    if (predictions_ && report.choice && world_rank() == 0)
      std::printf("%s, %llu bytes, %llu %% free: %s\n%s\n", pattern.c_str(),
                  static_cast<unsigned long long>(block_bytes),
                  static_cast<unsigned long long>(free_percent), report.choice->reason.c_str(),
                  schedule::to_table(report.choice->predictions).c_str());
  }

  /// @param all  "auto", the methods, the peer.
  static void add_results(Case& row, const std::vector<Series>& all) {
    const Report& report = all.front().report;
    const double seconds = median(all.front().seconds);
    Case seconds_of_methods;
    for (const schedule::MethodTraits& method : schedule::methods())
      seconds_of_methods["seconds_" + std::string(method.name)] = nullptr;
    // Where there are no other methods, the best is the choice itself.
    double best = seconds;
    std::string best_method = "auto";
    bool verified = all.front().verified;
    for (std::size_t s = 1; s + 1 < all.size(); ++s) {
      const double other = median(all[s].seconds);
      verified = verified && all[s].verified;
      seconds_of_methods["seconds_" + all[s].name] = other;
      if (s > 1 && other >= best) continue;
      best = other;
      best_method = all[s].name;
    }
    row.update({{"method", report.method},
                {"seconds_median", seconds},
                {"predicted_seconds", report.predicted_seconds()},
                {"best", best_method},
                {"auto_over_best", seconds / best},
                {"predicted_over_measured",
                 report.predicted_seconds() / (report.exchange_seconds + report.local_seconds)},
                {"ratio_warm", seconds / median(all.back().seconds)},
                {"achieved_fraction", report.achieved_fraction()},
                {"peak_extra_bytes", report.peak_extra_bytes},
                {"verified", verified}});
    row.update(seconds_of_methods);
  }

  Case summary() override {
    if (world_rank() != 0 || rows_.empty()) return Case::object();
    std::vector<double> regrets;
    std::size_t within = 0;
    for (const Case& row : rows_) {
      regrets.push_back(row["auto_over_best"]);
      const double ratio = row["predicted_over_measured"];
      if (ratio >= 0.5 && ratio <= 2) ++within;
    }
    std::ranges::sort(regrets);
    std::printf("\nauto over best: median %.3f, 90 %% of the cases at most %.3f, worst %.3f\n",
                median(regrets), regrets[(regrets.size() * 9 + 9) / 10 - 1], regrets.back());
    std::printf("predictions within a factor of 2: %zu of %zu cases\n", within, rows_.size());
    std::printf("calibrating the cost model took %.1f ms\n", calibration_ * 1e3);
    return Case::object();
  }

  std::vector<std::string> patterns_ = all_patterns();
  std::string bytes_ = "32M";
  std::vector<std::uint64_t> block_bytes_{64, 4096, 65536};
  std::vector<std::uint64_t> free_percent_{0, 10, 100};
  bool predictions_ = false;
  double calibration_ = 0;
};

}  // namespace

std::unique_ptr<Benchmark> make_auto_benchmark() { return std::make_unique<AutoBenchmark>(); }

}  // namespace valet::bench
