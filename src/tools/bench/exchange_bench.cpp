// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

namespace valet::bench {
namespace {

class ExchangeBenchmark final : public Benchmark {
 public:
  ExchangeBenchmark()
      : Benchmark("exchange",
                  "Migration of blocks between ranks. Compared with MPI_Alltoallv into an existing "
                  "second buffer (ratio_warm) and into newly allocated memory (ratio_cold), "
                  "including packing if blocks are not ordered by destination",
                  5) {
    own_options_ = {
        pattern_option(patterns_),
        {"--blocks", &slots_, "slots per rank, including free slots", positive()},
        {"--block-bytes", &block_bytes_, "bytes per block", positive()},
        {"--free", &free_, "free slots per rank"},
        memory_option(),
        method_option(methods_),
        {"--map", &map_, "kind of map: ranks or slots", one_of({"ranks", "slots"})},
        {"--order", &orders_,
         "orders of blocks after a map to ranks (comma-separated): any, fill, stable"},
        sharing_flag(),
        storage_option(),
        {"--trace", &trace_,
         "write a trace of every migration to this file, for ui.perfetto.dev; the last one is "
         "kept"}};
  }

 private:
  Jobs jobs() override {
    if (free_ > slots_) refuse("--free is larger than --blocks, which counts all slots");
    require_room_for_address(block_bytes_);
    return jobs_of([this](const auto&... of) { measure(of...); }, patterns_, methods_, orders_);
  }

  void measure(const std::string& pattern, const std::string& method, const std::string& order) {
    auto options = common_options<Options>();
    options.method = parse_method(method);
    options.order = parse_order(order);
    options.trace = trace_;
    BlockComparison blocks(make_map(parse_pattern(pattern), slots_, free_), {block_bytes_},
                           storage());
    compare({{"pattern", pattern},
             {"method", method},
             {"map", map_},
             {"order", order},
             {"ranks", world_size()},
             {"blocks", slots_},
             {"block_bytes", block_bytes_},
             {"free", free_},
             {"memory", options.budget_bytes}},
            blocks.migration(options, map_ == "slots" ? Places::slots : Places::any),
            blocks.peer());
  }

  std::vector<std::string> patterns_{"ring"};
  std::uint64_t slots_ = 16384;
  std::uint64_t block_bytes_ = 16000;
  std::uint64_t free_ = 0;
  std::vector<std::string> methods_{"stream"};
  std::string map_ = "ranks";
  std::vector<std::string> orders_{"any"};
  std::string trace_;
};

}  // namespace

std::unique_ptr<Benchmark> make_exchange_benchmark() {
  return std::make_unique<ExchangeBenchmark>();
}

}  // namespace valet::bench
