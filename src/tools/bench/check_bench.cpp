// SPDX-License-Identifier: BSD-3-Clause

// Whether Valet pays on this machine: blocks to a few neighbours, in place and out of place.

#include "block_comparison.hpp"
#include "verdict.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

namespace valet::bench {
namespace {

/// Blocks to the next rank, the previous one, the one behind the next and so on, drawn by lot: a
/// map without a rule, which has to be read and packed. All ranks draw alike, so that each gets as
/// many blocks as leave it.
Map map_to_neighbours(std::uint64_t blocks, std::uint64_t neighbours) {
  const auto ranks = static_cast<std::uint64_t>(world_size());
  return {
      blocks, [=](int) { return blocks; },
      [=](int rank, std::uint64_t slot) {
        // The lowest bit is the same for the first hundred slots.
        const std::uint64_t neighbour = (mixed(slot) >> 32U) % neighbours;
        const std::uint64_t distance = neighbour / 2 + 1;
        const std::uint64_t ahead = neighbour % 2 == 0 ? distance : ranks - distance;
        return Address{static_cast<int>((static_cast<std::uint64_t>(rank) + ahead) % ranks), slot};
      }};
}

/// Nodes, as MPI sees them. Collective.
std::uint64_t count_hosts() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return sum_of_ranks(rank == 0 ? 1 : 0);
}

class CheckBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  enum Way : std::size_t { kept, allocated, ordinary, node };

  Jobs jobs() override {
    read_options();
    hosts_ = count_hosts();
    const Map map = map_to_neighbours(blocks_, neighbours_);
    blocks_in_[0].emplace(map, std::vector{block_bytes_}, Storage::ordinary);
    has_node_storage_ = hosts_ < static_cast<std::uint64_t>(world_size()) &&
                        on_all_ranks(node_array<std::byte>(MPI_COMM_WORLD, 1).is_shared());
    if (has_node_storage_) blocks_in_[1].emplace(map, std::vector{block_bytes_}, Storage::node);
    const auto options = common_options<Options>();
    Alltoallv& peer = blocks_in_[0]->peer();
    ways_ = {{"MPI_Alltoallv, buffers kept", [&peer] { return peer.run_warm(); }},
             {"MPI_Alltoallv, buffers allocated", [&peer] { return peer.run_cold(); }},
             {"Valet", blocks_in_[0]->migration(options)}};
    if (has_node_storage_)
      ways_.push_back({"Valet, node storage", blocks_in_[1]->migration(options)});
    const auto run_all = [&] {
      for (const Series& way : ways_) static_cast<void>(way.run());
    };
    run_all();  // what is slow once
    const double round = slowest_seconds(run_all);
    constexpr double seconds = 3;
    constexpr double least = 7, most = 300;
    if (repeat_ == 0) repeat_ = static_cast<int>(std::clamp(seconds / round, least, most));
    return {[this] { measure(); }};
  }

  void read_options() {
    block_bytes_ = parse_bytes(block_);
    require_room_for_address(block_bytes_);
    blocks_ = parse_bytes(bytes_) / block_bytes_;
    if (blocks_ == 0) refuse("--bytes is ", bytes_, ", less than a block of ", block_);
    const auto others = static_cast<std::uint64_t>(world_size()) - 1;
    if (others == 0) refuse("one rank has nobody to send to: start it with mpirun -n 2 or more");
    if (neighbours_ == 0) neighbours_ = std::min<std::uint64_t>(others, 2);
    if (neighbours_ > others)
      refuse("--neighbours is ", neighbours_, ", but a rank has ", others,
             " others: give that at most, or start more ranks");
  }

  void measure() {
    take_turns(ways_);
    const std::uint64_t buffers = largest_of_ranks(blocks_in_[0]->peer().bytes());
    ways_[kept].report.peak_extra_bytes = ways_[allocated].report.peak_extra_bytes = buffers;
    for (const Series& way : ways_)
      rows_.push_back({{"way", way.name},
                       {"peak_extra_bytes", way.report.peak_extra_bytes},
                       {"seconds_median", way.median()},
                       {"ratio_warm", ratios_of(measured(way), measured(ways_[kept])).middle},
                       {"verified", way.verified}});
  }

  [[nodiscard]] static Measured measured(const Series& way) {
    return {way.report.peak_extra_bytes, way.seconds};
  }
  [[nodiscard]] Verdict verdict_on(Way way) const {
    return verdict_of(measured(ways_[way]), measured(ways_[kept]), parse_bytes(memory_));
  }

  static Case as_case(const Verdict& verdict) {
    return {{"saves_memory", verdict.saves_memory},
            {"time", verdict.is_faster   ? "less"
                     : verdict.is_slower ? "more"
                                         : "alike"},
            {"ratio_lower", verdict.ratios.lower},
            {"ratio_median", verdict.ratios.middle},
            {"ratio_upper", verdict.ratios.upper}};
  }

  Case summary() override {
    const bool shares = ways_[ordinary].report.shared_bytes > 0;
    const std::optional<std::uint64_t> copies = single_copy_calls();
    const bool copies_once = sum_of_ranks(copies.value_or(0)) > 0;
    const Verdict plain = verdict_on(ordinary);
    std::string text = "Valet " + plain.text;
    Case verdicts = {{"ordinary", as_case(plain)}};
    if (has_node_storage_) {
      const Verdict shared = verdict_on(node);
      text += ";\non node storage it " + shared.text;
      verdicts["node"] = as_case(shared);
    }
    if (world_rank() == 0)
      std::puts(joined(blocks_, " blocks of ", tools::readable_bytes(block_bytes_),
                       " leave each rank for ", neighbours_,
                       neighbours_ == 1 ? " other" : " others", "; medians of ", repeat_,
                       " rounds in turns\nfound: ",
                       hosts_ == 1 ? "one host" : std::to_string(hosts_) + " hosts",
                       !copies       ? ", perhaps "
                       : copies_once ? ", "
                                     : ", no ",
                       "single copies of MPI (CMA), ", shares ? "shared" : "no shared",
                       " memory between ranks, ",
                       has_node_storage_ ? "node storage" : "no node storage", "\n", text, ".")
                    .c_str());
    return {{"setting",
             {{"ranks", world_size()},
              {"bytes", blocks_ * block_bytes_},
              {"block_bytes", block_bytes_},
              {"neighbours", neighbours_},
              {"memory", parse_bytes(memory_)},
              {"rounds", repeat_}}},
            {"found",
             {{"hosts", hosts_},
              {"shared_memory", shares},
              {"node_storage", has_node_storage_},
              {"single_copy", copies ? Case(copies_once) : Case()}}},
            {"verdicts", verdicts},
            {"verdict", text}};
  }

  Text& bytes_ =
      option<Text>("--bytes", "64M", "bytes that leave each rank (suffix K, M or G allowed)");
  Number& neighbours_ = option<Number>(
      "--neighbours", 0, "ranks that a rank sends to; 0: two, or the only other one there is");
  Text& block_ =
      option<Text>("--block,--block-bytes", "16K", "bytes of a block (suffix K, M or G allowed)");
  std::uint64_t block_bytes_ = 0, blocks_ = 0;
  std::uint64_t hosts_ = 0;
  bool has_node_storage_ = false;
  std::array<std::optional<BlockComparison>, 2> blocks_in_;  ///< ordinary memory, node storage
  std::vector<Series> ways_;                                 ///< by Way
};

}  // namespace

std::unique_ptr<Benchmark> make_check_benchmark() {
  return std::make_unique<CheckBenchmark>(
      "check",
      "Says in a few seconds whether Valet pays on this machine, in memory and in time, where all "
      "blocks of a rank go to a few others. Compared with MPI_Alltoallv into a second buffer, "
      "packing included",
      0);
}

}  // namespace valet::bench
