// SPDX-License-Identifier: BSD-3-Clause
#include "benchmark.hpp"
#include "index_study.hpp"
#include "peak_memory.hpp"
#include "scalapack.hpp"
#include "tools/layouts.hpp"
#include <valet/intersect.hpp>
#include <valet/redistribute.hpp>

#include <algorithm>
#include <span>

namespace valet::bench {
namespace {

void require_ranks(const BlockCyclic& layout) {
  if (layout.ranks() > world_size()) refuse("a grid has more ranks than there are: ", world_size());
}

std::size_t elements(const BlockCyclic& layout) {
  return world_rank() < layout.ranks()
             ? static_cast<std::size_t>(layout.local_elements(world_rank()))
             : 0;
}

/// Elements that this rank has for each rank.
std::vector<std::uint64_t> shared_elements(const BlockCyclic& from, const BlockCyclic& to) {
  require_ranks(from);
  require_ranks(to);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(world_size()), 0);
  if (world_rank() >= from.ranks()) return counts;
  const layout::Intersection shared = intersect(from, world_rank(), to);
  for (int peer = 0; peer < to.ranks(); ++peer)
    counts[static_cast<std::size_t>(peer)] = static_cast<std::uint64_t>(shared.elements(peer));
  return counts;
}

/// A matrix of doubles from one block-cyclic layout to another: redistribute() and
/// redistribute_in_place() beside ScaLAPACK's pdgemr2d and MPI_Alltoallv of the same bytes, packed.
/// Collective over MPI_COMM_WORLD.
class LayoutMove {
 public:
  /// @throws Error invalid_argument where a grid has more ranks than there are.
  LayoutMove(const BlockCyclic& from, const BlockCyclic& to, const LayoutOptions& options)
      : from_{from},
        to_{to},
        options_(options),
        source_(elements(from)),
        peer_(shared_elements(from, to), sizeof(double), source_.data()),
        target_(elements(to)),
        array_(std::max(source_.size(), target_.size())) {
    pdgemr2d_ = make_pdgemr2d(from, to);
    tools::write_numbers(from, world_rank(), IndexOrder::column_major, source_);
  }

  Outcome run_alltoallv() { return peer_.run_warm(); }
  [[nodiscard]] bool has_pdgemr2d() const { return pdgemr2d_ != nullptr; }
  Outcome run_pdgemr2d() {
    std::ranges::fill(target_, -1.0);
    return timed([&] { pdgemr2d_(source_.data(), target_.data()); },
                 [&] { return is_right(target_); });
  }
  Outcome run_out_of_place() {
    std::ranges::fill(target_, -1.0);
    const auto move = [&] {
      return redistribute(MPI_COMM_WORLD, from_, to_, sizeof(double),
                          array_of<SourceArray>(source_), array_of<TargetArray>(target_), options_);
    };
    return timed(move, [&] { return is_right(target_); });
  }
  Outcome run_in_place() {
    std::ranges::copy(source_, array_.begin());
    const auto move = [&] {
      return redistribute_in_place(MPI_COMM_WORLD, from_, to_, sizeof(double),
                                   array_of<TargetArray>(array_), options_);
    };
    return timed(move, [&] { return is_right(array_); });
  }

 private:
  /// As the library takes it.
  template <class Described>
  static Described array_of(std::vector<double>& part) {
    return {part.data(), part.size() * sizeof(double), IndexOrder::column_major, {}};
  }
  [[nodiscard]] bool is_right(const std::vector<double>& part) const {
    return tools::has_numbers(to_.layout, world_rank(), IndexOrder::column_major, part);
  }

  GridLayout from_, to_;
  LayoutOptions options_;
  Pdgemr2d pdgemr2d_;
  std::vector<double> source_;
  Alltoallv peer_;
  std::vector<double> target_, array_;
};

class LayoutBenchmark final : public Benchmark {
  using Benchmark::Benchmark;

  Jobs jobs() override {
    if (extent_.empty()) extent_ = study_ == "index" ? "10000x10000" : "4096x4096";
    if (study_ == "index") return {[this] { study_index(); }};
    return jobs_of([this](const auto& move) { study_move(move); }, moves_);
  }

  [[nodiscard]] int rounds() const override {
    return study_ == "data" ? Benchmark::rounds() : samples_per_measurement * repeat_;
  }

  void study_index() {
    std::vector<IndexStudy> studies;
    const auto add = [&](const auto& block, const auto& wish, const auto& local_grid,
                         const auto& remote_grid, const auto& algorithm) {
      const std::string remote_block = wish == "same" ? block : wish;
      studies.emplace_back(tools::make_layout(extent_, block, local_grid),
                           tools::make_layout(extent_, remote_block, remote_grid),
                           parse_index_algorithm(algorithm));
      rows_.push_back({{"algorithm", algorithm},
                       {"local_grid", local_grid},
                       {"remote_grid", remote_grid},
                       {"block", remote_block == block ? block : block + "->" + remote_block}});
    };
    for (const auto& job :
         jobs_of(add, blocks_, remote_blocks_, local_grids_, remote_grids_, algorithms_))
      job();
    // All cases take their turn in each round, so that a slow moment does not hit one of them.
    for (int round = 0; round < rounds(); ++round, step())
      for (IndexStudy& study : studies) study.sample();
    for (std::size_t k = 0; k < studies.size(); ++k) studies[k].add_results(rows_[k]);
  }

  void study_move(const std::string& text) {
    const auto [from, to] = tools::parse_move(extent_, text);
    LayoutMove move(from, to, common_options<LayoutOptions>());
    std::vector<Series> all{{"MPI_Alltoallv", [&] { return move.run_alltoallv(); }},
                            {"redistribute", [&] { return move.run_out_of_place(); }},
                            {"redistribute_in_place", [&] { return move.run_in_place(); }}};
    if (move.has_pdgemr2d()) all.push_back({"pdgemr2d", [&] { return move.run_pdgemr2d(); }});
    take_turns(all);
    if (move.has_pdgemr2d()) {
      // It does not tell what it takes, so the system does, for one run more.
      const PeakMemory memory;
      (void)move.run_pdgemr2d();
      all[3].report.peak_extra_bytes = largest_of_ranks(memory.grown());
    }
    const double warm = all[0].median();
    for (const Series& series : std::span(all).subspan(1)) {
      const double seconds = series.median();
      Case row = {{"method", series.name},
                  {"move", text},
                  {"ranks", world_size()},
                  {"seconds_median", seconds},
                  {"seconds_alltoallv", warm}};
      if (move.has_pdgemr2d()) row["ratio_pdgemr2d"] = seconds / all[3].median();
      row["ratio_warm"] = seconds / warm;
      row["peak_extra_bytes"] = series.report.peak_extra_bytes;
      row["extra_bytes_bound"] = series.report.extra_bytes_bound;
      if (&series == &all[3]) row["extra_bytes_bound"] = nullptr;
      row["verified"] = series.verified && all.back().verified;
      rows_.push_back(row);
    }
  }

  Text& study_ =
      option<Text>("--study", "index", "index (a measurement is the fastest of three) or data",
                   one_of({"index", "data"}));
  Text& extent_ = option<Text>(
      "--extent", "",
      "extents of the global array; 10000x10000 by default for index, 4096x4096 for data");
  Texts& moves_ = option<Texts>(
      "--move", {"64x64:2x2:30x50:4x1", "256x256:2x2:100x100:2x2"},
      "data: moves (comma-separated), each as block:grid:block:grid of source and target");
  Texts& blocks_ = option<Texts>("--block", {"1024x1024", "256x256", "30x50", "654x321"},
                                 "index: block sizes of the local layout (comma-separated)");
  Texts& remote_blocks_ =
      option<Texts>("--remote-block", {"same"},
                    "index: block sizes of the remote layout, each combined with each --block; "
                    "'same': those of --block (comma-separated)");
  Texts& local_grids_ =
      option<Texts>("--local-grid", {"2x2", "4x4", "8x8", "16x16", "32x32"},
                    "index: grids of the local layout, in ranks per dimension (comma-separated)");
  Texts& remote_grids_ = option<Texts>("--remote-grid", {"2x2", "4x4", "8x8", "16x16", "32x32"},
                                       "index: grids of the remote layout (comma-separated)");
  Texts& algorithms_ = option<Texts>(
      "--algorithm", known_index_algorithms(),
      "index: algorithms (comma-separated): classical, falls, aspen, one_peer (ASPEN for one peer "
      "of each coordinate), scalapack. The last is the function that pdgemr2d calls for each pair "
      "of processes; like the others, it is called here for each pair of coordinates");
};

}  // namespace

std::unique_ptr<Benchmark> make_layout_benchmark() {
  return std::make_unique<LayoutBenchmark>(
      "layout",
      "Redistribution between block-cyclic layouts. Study index: the time to find the elements "
      "that every rank of the local grid shares with every rank of the remote grid, without moving "
      "data; every MPI rank finds all of them, and the slowest counts. Study data: the time to "
      "move an array of doubles with Valet, with ScaLAPACK's pdgemr2d and, packed, with "
      "MPI_Alltoallv",
      31);
}

}  // namespace valet::bench
