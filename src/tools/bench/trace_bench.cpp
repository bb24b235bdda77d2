// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace valet::bench {
namespace {

/// A path for rank 0, the same on all ranks: those that know the file of rank 0 write their part of
/// it themselves.
std::string temporary_path() {
  long long number = getpid();
  MPI_Bcast(&number, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
  return std::filesystem::temp_directory_path() /
         ("valet_bench_trace_" + std::to_string(number) + ".json");
}

/// Events and bytes of a trace. An event is a line; metadata does not count.
std::array<std::uint64_t, 2> size_of(const std::string& path) {
  std::array<std::uint64_t, 2> sizes{};
  std::ifstream file(path);
  for (std::string line; std::getline(file, line); sizes[1] += line.size() + 1)
    if (line.starts_with("{\"ph\":") && !line.starts_with("{\"ph\":\"M\"")) ++sizes[0];
  return sizes;
}

class TraceBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    std::ranges::for_each(block_bytes_, require_room_for_address);
    return jobs_of([this](const auto&... of) { measure(of...); }, patterns_, methods_,
                   block_bytes_);
  }

  void measure(const std::string& pattern, const std::string& method, std::uint64_t block_bytes) {
    Options options = options_with(method);
    const std::uint64_t blocks = std::max<std::uint64_t>(1, parse_bytes(bytes_) / block_bytes);
    BlockComparison comparison(make_map(parse_pattern(pattern), blocks, 0), {block_bytes});
    std::vector<Series> all{{"off", comparison.migration(options)}};
    options.trace = file_.empty() ? temporary_path() : file_;
    all.push_back({"on", comparison.migration(options)});
    take_turns(all);
    const auto [entries, file_bytes] = size_of(world_rank() == 0 ? options.trace : "");
    if (file_.empty() && world_rank() == 0) std::filesystem::remove(options.trace);
    rows_.push_back({{"pattern", pattern},
                     {"method", method},
                     {"ranks", world_size()},
                     {"blocks", blocks},
                     {"block_bytes", block_bytes},
                     {"seconds_off", all[0].median()},
                     {"seconds_on", all[1].median()},
                     {"ratio_on", ratios_of({0, all[1].seconds}, {0, all[0].seconds}).middle},
                     {"entries", entries},
                     {"file_bytes", file_bytes},
                     {"verified", all[0].verified && all[1].verified}});
  }

  Texts& patterns_ = option<Texts>("--pattern", {"ring", "transpose"}, about_patterns());
  Texts& methods_ = option<Texts>("--method", {"stream"}, about_methods());
  Text& bytes_ =
      option<Text>("--bytes", "64M", "bytes of blocks per rank (suffix K, M or G allowed)");
  Numbers& block_bytes_ =
      option<Numbers>("--block-bytes", {64, 4096, 65536}, "bytes per block (comma-separated)");
  Text& file_ = option<Text>("--file", "",
                             "trace file, which is kept; by default a temporary file in $TMPDIR");
};

}  // namespace

std::unique_ptr<Benchmark> make_trace_benchmark() {
  return std::make_unique<TraceBenchmark>(
      "trace",
      "Cost of a trace. Alternates a migration without and with a trace, including planning and "
      "writing the file (ratio_on: the median over the rounds)",
      21);
}

}  // namespace valet::bench
