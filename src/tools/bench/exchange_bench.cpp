// SPDX-License-Identifier: BSD-3-Clause
#include "block_comparison.hpp"

namespace valet::bench {
namespace {

class ExchangeBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    if (free_ > slots_) refuse("--free is larger than --blocks, which counts all slots");
    require_room_for_address(block_bytes_);
    return jobs_of([this](const auto&... of) { measure(of...); }, patterns_, methods_, orders_);
  }

  void measure(const std::string& pattern, const std::string& method, const std::string& order) {
    Options options = options_with(method);
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

  Texts& patterns_ = option<Texts>("--pattern", {"ring"}, about_patterns());
  Number& slots_ =
      option<Number>("--blocks", 16384, "slots per rank, including free slots", positive());
  Number& block_bytes_ = option<Number>("--block-bytes", 16000, "bytes per block", positive());
  Number& free_ = option<Number>("--free", 0, "free slots per rank");
  Texts& methods_ = option<Texts>("--method", {"stream"}, about_methods());
  Text& map_ =
      option<Text>("--map", "ranks", "kind of map: ranks or slots", one_of({"ranks", "slots"}));
  Texts& orders_ =
      option<Texts>("--order", {"any"},
                    "orders of blocks after a map to ranks (comma-separated): any, fill, stable");
  Text& trace_ = option<Text>(
      "--trace", "",
      "write a trace of every migration to this file, for ui.perfetto.dev; the last one is kept");
};

}  // namespace

std::unique_ptr<Benchmark> make_exchange_benchmark() {
  return std::make_unique<ExchangeBenchmark>(
      "exchange",
      "Migration of blocks between ranks. Compared with MPI_Alltoallv into an existing second "
      "buffer (ratio_warm) and into newly allocated memory (ratio_cold), including packing if "
      "blocks are not ordered by destination",
      5, CommonOptions{.has_storage = true});
}

}  // namespace valet::bench
