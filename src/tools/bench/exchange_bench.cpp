// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"
#include "schedule/methods.hpp"

namespace valet::bench {
namespace {

class ExchangeBenchmark final : public Benchmark {
 public:
  ExchangeBenchmark()
      : Benchmark("exchange",
                  "Blocks between ranks, beside MPI_Alltoallv into a second buffer (ratio_warm) "
                  "and into freshly allocated memory (ratio_cold), packing included where blocks "
                  "are not in the order of their destinations",
                  5) {}

 private:
  std::vector<Option> own_options() override {
    return {pattern_option(patterns_),
            {"--blocks", &slots_, "slots per rank, free ones included", positive()},
            {"--block-bytes", &block_bytes_, "bytes of a block", positive()},
            {"--free", &free_, "free slots per rank"},
            memory_option(),
            {"--method", &methods_, schedule::method_names() + "; several are measured in turn"},
            {"--map", &map_, "what the map says: ranks or slots", one_of({"ranks", "slots"})},
            {"--order", &orders_,
             "any, fill or stable, for a map to ranks; several are measured in turn"},
            {"--message-bytes", &message_bytes_, "bytes of a message at most; 0: Valet chooses"},
            {"--window", &window_, "data messages outstanding in either direction"},
            sharing_flag(),
            {"--trace", &trace_,
             "record every migration; this file keeps the last one, for ui.perfetto.dev"}};
  }

  Jobs jobs() override {
    if (free_ > slots_)
      throw Error(ErrorCode::invalid_argument,
                  "--free is larger than --blocks, which counts all slots");
    require_room_for_address(block_bytes_);
    Jobs jobs;
    for (const std::string& pattern : patterns_)
      for (const std::string& method : methods_)
        for (const std::string& order : orders_)
          jobs.emplace_back([this, pattern, method, order] { measure(pattern, method, order); });
    return jobs;
  }

  void measure(const std::string& pattern, const std::string& method, const std::string& order) {
    auto options = common_options<Options>();
    options.message_bytes = message_bytes_;
    options.stream.window = window_;
    options.method = parse_method(method);
    options.order = parse_order(order);
    options.trace = trace_;
    BlockComparison blocks(make_map(parse_pattern(pattern), slots_, free_), {block_bytes_});
    compare({{"pattern", pattern},
             {"method", method},
             {"map", map_},
             {"order", order},
             {"ranks", world_size()},
             {"blocks", slots_},
             {"block_bytes", block_bytes_},
             {"free", free_},
             {"memory", options.budget_bytes}},
            blocks.migration(options, map_ == "slots" ? Places::slots : Places::any), blocks.peer(),
            blocks.field(0));
  }

  std::vector<std::string> patterns_{"ring"};
  std::uint64_t slots_ = 16384;
  std::uint64_t block_bytes_ = 16000;
  std::uint64_t free_ = 0;
  std::vector<std::string> methods_{"stream"};
  std::string map_ = "ranks";
  std::vector<std::string> orders_{"any"};
  std::uint64_t message_bytes_ = 0;
  int window_ = 32;
  std::string trace_;
};

}  // namespace

std::unique_ptr<Benchmark> make_exchange_benchmark() {
  return std::make_unique<ExchangeBenchmark>();
}

}  // namespace valet::bench
