// SPDX-License-Identifier: BSD-3-Clause

// The index study of the ASPEN paper (section 5): the time to find the whole redistribution between
// two grids by CLASSICAL, FALLS and ASPEN. No data moves; layout_data.cpp measures that.

#include "layout_bench.hpp"

#include "commands.hpp"
#include "common_options.hpp"
#include "geometry/run_cursor.hpp"
#include "geometry/walks.hpp"
#include "layout_data.hpp"
#include "measure.hpp"
#include "output.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <type_traits>

namespace valet::bench {
namespace {

using layout::Algorithm;
using layout::DimensionIntersection;
using layout::DimensionPair;
using layout::SegmentFamily;

struct Settings {
  std::string study = "index";
  std::string extent;
  std::vector<std::string> blocks{"1024x1024", "256x256", "30x50", "654x321"};
  std::vector<std::string> remote_blocks{"same"};
  std::vector<std::string> local_grids{"2x2", "4x4", "8x8", "16x16", "32x32"};
  std::vector<std::string> remote_grids{"2x2", "4x4", "8x8", "16x16", "32x32"};
  std::vector<std::string> algorithms{"classical", "falls", "aspen"};
  int repeat = 31;
  std::string json;
  LayoutDataSettings data;
};

/// Short enough for hundreds of cases, long against the resolution of a clock.
constexpr double sample_seconds = 1e-4;
/// Far apart in time, of which the quickest is one measurement: these are fractions of a
/// microsecond, and what else the machine does must not decide between two algorithms.
constexpr std::size_t samples_per_measurement = 3;

/// One algorithm on one pair of layouts.
class Study {
 public:
  Study(Ledger& ledger, const BlockCyclic& local, const BlockCyclic& remote, Algorithm algorithm,
        Case names)
      : row(std::move(names)),
        local_(local),
        remote_(remote),
        algorithm_(algorithm),
        operations_(compute([this](const SegmentFamily&) { ++segments_; })),
        families_(ledger, segments_) {
    iterations_ = 1;
    const double once = std::max(slowest_seconds([this] { compute(); }), 1e-9);
    iterations_ = static_cast<long long>(std::ceil(sample_seconds / once));
  }

  /// What each coordinate of the local grid shares with every coordinate of the remote one, in
  /// each dimension: Algorithm 1 of the paper. Calls sink(SegmentFamily). @return Operations.
  template <class Sink>
  std::int64_t compute(Sink&& sink) const {
    const auto all = [&](auto&& walk) {
      std::int64_t operations = 0;
      for (std::size_t d = 0; d < local_.dimensions(); ++d) {
        const DimensionPair pair(local_.dimension(d), remote_.dimension(d), static_cast<int>(d));
        for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate)
          operations += walk(pair, coordinate);
      }
      return operations;
    };
    const auto walk_by = [&](auto constant) {
      return all([&](const DimensionPair& pair, int coordinate) {
        return layout::walk(pair, coordinate, constant(), sink);
      });
    };
    switch (algorithm_) {
      case Algorithm::classical: return walk_by(Constant<Algorithm::classical>());
      case Algorithm::falls: return walk_by(Constant<Algorithm::falls>());
      case Algorithm::aspen: break;
    }
    return walk_by(Constant<Algorithm::aspen>());
  }

  /// Into memory that is at hand, as in the paper.
  std::int64_t compute() {
    SegmentFamily* next = families_.data();
    return compute([&next](const SegmentFamily& family) { *next++ = family; });
  }

  void sample() {
    const double seconds = slowest_seconds([this] {
      for (long long k = 0; k < iterations_; ++k) operations_done_ += compute();
    });
    seconds_.push_back(seconds / static_cast<double>(iterations_));
  }

  void finish(bool& failed) {
    const bool verified = on_all_ranks(agrees_with_classical());
    failed = failed || !verified;
    const std::size_t measurements = seconds_.size() / samples_per_measurement;
    for (std::size_t k = measurements; k < seconds_.size(); ++k)
      seconds_[k % measurements] = std::min(seconds_[k % measurements], seconds_[k]);
    seconds_.resize(measurements);
    row["seconds_median"] = median(seconds_);
    row["operations"] = operations_;
    row["segments"] = segments_;
    row["local_blocks"] = local_blocks();
    row["verified"] = verified;
  }

  Case row;

 private:
  template <Algorithm algorithm>
  using Constant = std::integral_constant<Algorithm, algorithm>;

  /// Blocks of the local layout in one period, all coordinates and dimensions together.
  [[nodiscard]] std::int64_t local_blocks() const {
    std::int64_t blocks = 0;
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
      blocks += (pair.period + pair.mine.block - 1) / pair.mine.block;
    }
    return blocks;
  }

  /// Whether every segment of every pair of coordinates is the one CLASSICAL finds.
  [[nodiscard]] bool agrees_with_classical() const {
    Ledger ledger;
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
      for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate) {
        const DimensionIntersection found(ledger, pair, coordinate, algorithm_);
        const DimensionIntersection expected(ledger, pair, coordinate, Algorithm::classical);
        for (int peer = 0; peer < pair.theirs.ranks; ++peer)
          if (!same_segments(found, expected, peer)) return false;
      }
    }
    return operations_ ==
           operations_done_ / (iterations_ * static_cast<long long>(seconds_.size()));
  }

  static bool same_segments(const DimensionIntersection& one, const DimensionIntersection& other,
                            int peer) {
    layout::SegmentCursor here(one, peer);
    layout::SegmentCursor there(other, peer);
    layout::Segment a{}, b{};
    for (;;) {
      const bool more = here.next(a);
      if (more != there.next(b)) return false;
      if (!more) return true;
      if (a.position != b.position || a.local != b.local || a.length != b.length) return false;
    }
  }

  BlockCyclic local_;
  BlockCyclic remote_;
  Algorithm algorithm_;
  std::size_t segments_ = 0;
  std::int64_t operations_ = 0;
  Array<SegmentFamily> families_;
  std::int64_t operations_done_ = 0;
  long long iterations_ = 1;
  std::vector<double> seconds_;
};

std::vector<std::unique_ptr<Study>> make_studies(const Settings& settings, Ledger& ledger) {
  std::vector<std::unique_ptr<Study>> studies;
  for (const std::string& block : settings.blocks)
    for (const std::string& wish : settings.remote_blocks) {
      const std::string remote_block = wish == "same" ? block : wish;
      std::string blocks = block;
      if (remote_block != block) blocks.append("->").append(remote_block);
      for (const std::string& local_grid : settings.local_grids)
        for (const std::string& remote_grid : settings.remote_grids)
          for (const std::string& algorithm : settings.algorithms)
            studies.push_back(
                std::make_unique<Study>(ledger, make_layout(settings.extent, block, local_grid),
                                        make_layout(settings.extent, remote_block, remote_grid),
                                        layout::parse_algorithm(algorithm),
                                        Case{{"algorithm", algorithm},
                                             {"local_grid", local_grid},
                                             {"remote_grid", remote_grid},
                                             {"block", blocks}}));
    }
  return studies;
}

/// How many times slower `algorithm` was than ASPEN, per block, from and to the grids named.
void print_ratios(const std::vector<Case>& cases, const std::string& algorithm,
                  const std::string& remote_grid) {
  for (const Case& aspen : cases) {
    if (aspen["algorithm"] != "aspen" || aspen["remote_grid"] != remote_grid) continue;
    for (const Case& other : cases)
      if (other["algorithm"] == algorithm && other["remote_grid"] == remote_grid &&
          other["block"] == aspen["block"] && other["local_grid"] == aspen["local_grid"])
        std::printf(
            "%10s / aspen  %12s  %6s to %-6s  %8.1f in time  %8.1f in operations\n",
            algorithm.c_str(), aspen["block"].get<std::string>().c_str(),
            aspen["local_grid"].get<std::string>().c_str(), remote_grid.c_str(),
            other["seconds_median"].get<double>() / aspen["seconds_median"].get<double>(),
            other["operations"].get<double>() / std::max(1.0, aspen["operations"].get<double>()));
  }
}

void run_index(Settings settings, bool& failed) {
  if (settings.extent.empty()) settings.extent = "10000x10000";
  Ledger ledger;
  const auto studies = make_studies(settings, ledger);
  {
    // All cases take their turn in each round, so that a slow moment does not hit one of them.
    const std::size_t rounds = samples_per_measurement * static_cast<std::size_t>(settings.repeat);
    Progress progress("measuring", rounds);
    for (std::size_t round = 0; round < rounds; ++round, progress.step())
      for (const auto& study : studies) study->sample();
  }
  std::vector<Case> cases;
  for (const auto& study : studies) {
    study->finish(failed);
    cases.push_back(study->row);
  }
  print_table(cases);
  if (world_rank() == 0) {
    std::printf("\n");
    for (const char* const algorithm : {"falls", "classical"})
      print_ratios(cases, algorithm, settings.remote_grids.back());
  }
  write_json(settings.json, cases);
}

}  // namespace

BlockCyclic::Extents parse_shape(const std::string& text) {
  std::vector<std::int64_t> values;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;;) {
    std::int64_t value = 0;
    const auto [behind, error] = std::from_chars(at, end, value);
    if (error == std::errc::result_out_of_range)
      throw Error(ErrorCode::invalid_argument, "'" + text + "' has a number beyond 2^63-1");
    if (error != std::errc() || (behind != end && *behind != 'x'))
      throw Error(ErrorCode::invalid_argument,
                  "'" + text + "' is not a shape; write one number per dimension, as in 30x50");
    values.push_back(value);
    if (behind == end) break;
    at = behind + 1;
  }
  return BlockCyclic::Extents(std::span<const std::int64_t>(values));
}

BlockCyclic make_layout(const std::string& extent, const std::string& block,
                        const std::string& grid) {
  const BlockCyclic::Extents wide = parse_shape(grid);
  auto ranks = BlockCyclic::Coordinates::filled(wide.size(), 0);
  for (std::size_t d = 0; d < wide.size(); ++d) {
    if (wide[d] > std::numeric_limits<int>::max())
      throw Error(ErrorCode::invalid_argument, "grid " + grid + " has more ranks than 2^31-1");
    ranks[d] = static_cast<int>(wide[d]);
  }
  return {parse_shape(extent), parse_shape(block), ranks};
}

namespace {

void add_data_options(CLI::App& command, LayoutDataSettings& data) {
  command
      .add_option("--move", data.moves,
                  "data: block and grid of the source, block and grid of the target")
      ->delimiter(',')
      ->capture_default_str();
  add_budget_option(command, data.memory);
  add_sharing_flag(command, data.share_memory);
}

/// Gives both studies what they share.
void run(const Settings& settings, bool& failed) {
  if (settings.study == "index") return run_index(settings, failed);
  LayoutDataSettings data = settings.data;
  if (!settings.extent.empty()) data.extent = settings.extent;
  data.repeat = settings.repeat;
  data.json = settings.json;
  run_layout_data(data, failed);
}

}  // namespace

void add_layout_command(CLI::App& app, bool& failed) {
  auto settings = std::make_shared<Settings>();
  CLI::App* const command = app.add_subcommand(
      "layout",
      "Block-cyclic layouts. Study index: the time to find what every rank of the local grid "
      "shares with every rank of the remote grid, without moving data; every rank of mpirun does "
      "it alone, the slowest counts. Study data: arrays of doubles moved by Valet, by ScaLAPACK's "
      "pdgemr2d and, packed, by MPI_Alltoallv");
  command->add_option("--study", settings->study, "index or data")
      ->check(CLI::IsMember({"index", "data"}))
      ->capture_default_str();
  command->add_option("--extent", settings->extent,
                      "of the global array; 10000x10000 for index, 4096x4096 for data");
  add_data_options(*command, settings->data);
  command->add_option("--block", settings->blocks, "block sizes; several are measured in turn")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--remote-block", settings->remote_blocks,
                   "block sizes of the remote layout, each with each of --block; 'same': as there")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--local-grid", settings->local_grids, "ranks per dimension")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--remote-grid", settings->remote_grids,
                   "ranks per dimension; ratios are printed for the last one")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--algorithm", settings->algorithms, "classical, falls, aspen")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option(
          "--repeat", settings->repeat,
          "measurements, of which the median is printed; for index each is the quickest of "
          "three")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  add_json_option(*command, settings->json);
  command->callback([settings, &failed] { run(*settings, failed); });
}

}  // namespace valet::bench
