// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The index study of C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data
/// Redistribution Between Producer and Consumer Grids", section 5: the time to find the whole
/// redistribution between two grids, of the algorithms that the paper compares and of ScaLAPACK's.
/// No data moves.

#include "base/names.hpp"
#include "benchmark.hpp"
#include "index_walks.hpp"
#include "scalapack.hpp"
#include <valet/block_cyclic.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace valet::bench {

constexpr std::array index_algorithms{detail::Named{IndexAlgorithm::classical, "classical"},
                                      detail::Named{IndexAlgorithm::falls, "falls"},
                                      detail::Named{IndexAlgorithm::aspen, "aspen"},
                                      detail::Named{IndexAlgorithm::scalapack, "scalapack"}};

/// @throws Error invalid_argument: no such name, or a program built without ScaLAPACK's.
[[nodiscard]] inline IndexAlgorithm parse_index_algorithm(const std::string& name) {
  const auto algorithm = detail::value_of(index_algorithms, "intersection algorithm", name);
  if (algorithm == IndexAlgorithm::scalapack && !has_scalapack_intervals())
    refuse(
        "algorithm 'scalapack' is not in this program; build it where ScaLAPACK is found, "
        "with a library that shows dgescan_intervals");
  return algorithm;
}

/// The quickest of so many samples is one measurement: they are fractions of a microsecond, taken
/// far apart in time, and what else the machine does must not decide between two algorithms.
constexpr int samples_per_measurement = 3;

/// One algorithm on one pair of layouts. Collective over MPI_COMM_WORLD: every rank does all of it,
/// the slowest counts.
class IndexStudy {
 public:
  IndexStudy(const BlockCyclic& local, const BlockCyclic& remote, IndexAlgorithm algorithm)
      : local_(local), remote_(remote), algorithm_(algorithm) {
    make_room();
    // Short enough for hundreds of cases, long against the resolution of a clock.
    constexpr double sample_seconds = 1e-4;
    const double once = std::max(slowest_seconds([this] { compute(); }), 1e-9);
    iterations_ = static_cast<long long>(std::ceil(sample_seconds / once));
  }

  void sample() {
    const double seconds = slowest_seconds([this] {
      for (long long k = 0; k < iterations_; ++k) operations_done_ += compute();
    });
    seconds_.push_back(seconds / static_cast<double>(iterations_));
  }

  /// Sets seconds_median, operations (null for ScaLAPACK, which does not count them), segments
  /// found, local_blocks of one period, and verified: CLASSICAL finds the same.
  void add_results(Case& row) {
    const std::size_t measurements = seconds_.size() / samples_per_measurement;
    std::vector<double> quickest(seconds_.begin(),
                                 seconds_.begin() + static_cast<long>(measurements));
    for (std::size_t k = measurements; k < seconds_.size(); ++k)
      quickest[k % measurements] = std::min(quickest[k % measurements], seconds_[k]);
    row["seconds_median"] = median(quickest);
    row["operations"] = nullptr;
    if (!is_scalapack()) row["operations"] = operations_;
    row["segments"] = segments_;
    row["local_blocks"] = local_blocks();
    row["verified"] = on_all_ranks(agrees_with_classical());
  }

 private:
  /// Ranges of local indices, those that touch made one: where a dimension has one rank, Valet
  /// takes it for one block and ScaLAPACK does not.
  struct LocalRanges {
    std::vector<std::int64_t> ends;  ///< begin and end of each in turn

    void add(std::int64_t begin, std::int64_t length) {
      if (ends.empty() || ends.back() != begin) ends.insert(ends.end(), {begin, begin});
      ends.back() = begin + length;
    }
  };

  [[nodiscard]] bool is_scalapack() const { return algorithm_ == IndexAlgorithm::scalapack; }

  /// Memory at hand, as in the paper.
  void make_room() {
    if (!is_scalapack()) {
      operations_ = walk([this](const IndexFamily&) { ++segments_; });
      families_.resize(segments_);
      return;
    }
    std::size_t room = 0;
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const layout::Dimension& mine = local_.dimension(d);
      const layout::Dimension& theirs = remote_.dimension(d);
      room = std::max(room, static_cast<std::size_t>(mine.extent() / mine.block_size() +
                                                     theirs.extent() / theirs.block_size() + 2));
    }
    intervals_.resize(room);
    operations_ = compute();
    segments_ = static_cast<std::size_t>(operations_);
  }

  /// What each coordinate of the local grid shares with every coordinate of the remote one, in each
  /// dimension: Algorithm 1 of the paper. Calls sink(IndexFamily). @return Operations.
  template <class Sink>
  std::int64_t walk(Sink&& sink) const {
    std::int64_t operations = 0;
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d), static_cast<int>(d));
      for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate)
        operations += bench::walk(pair, coordinate, algorithm_, sink);
    }
    return operations;
  }

  /// The same by ScaLAPACK, which looks at one peer at a time. Calls sink(dimension, coordinate,
  /// peer, how many it found) while they are in intervals_.
  template <class Sink>
  void scan(Sink&& sink) {
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const ScalapackDimension mine(local_.dimension(d));
      const ScalapackDimension theirs(remote_.dimension(d));
      for (int coordinate = 0; coordinate < mine.ranks; ++coordinate)
        for (int peer = 0; peer < theirs.ranks; ++peer)
          sink(d, coordinate, peer,
               scalapack_intervals(mine, theirs, coordinate, peer, intervals_.data()));
    }
  }

  std::int64_t compute() {
    if (!is_scalapack()) {
      IndexFamily* next = families_.data();
      return walk([&next](const IndexFamily& family) { *next++ = family; });
    }
    std::int64_t found = 0;
    scan([&found](std::size_t, int, int, int count) { found += count; });
    return found;
  }

  /// Blocks of the local layout in one period, all coordinates and dimensions together.
  [[nodiscard]] std::int64_t local_blocks() const {
    std::int64_t blocks = 0;
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
      blocks += (pair.period + pair.mine.block - 1) / pair.mine.block;
    }
    return blocks;
  }

  /// Whether every segment of every pair of coordinates is the one CLASSICAL finds, and every
  /// computation that was timed found all.
  [[nodiscard]] bool agrees_with_classical() {
    if (operations_ != operations_done_ / (iterations_ * static_cast<long long>(seconds_.size())))
      return false;
    if (is_scalapack()) return scan_agrees_with_classical();
    for (std::size_t d = 0; d < local_.dimensions(); ++d) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
      for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate)
        if (segments_of(pair, coordinate, algorithm_) !=
            segments_of(pair, coordinate, IndexAlgorithm::classical))
          return false;
    }
    return true;
  }

  [[nodiscard]] bool scan_agrees_with_classical() {
    bool agrees = true;
    scan([&](std::size_t d, int coordinate, int peer, int count) {
      const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
      const auto classical = segments_of(pair, coordinate, IndexAlgorithm::classical);
      LocalRanges ours, theirs;
      for (const Segment& one : classical[static_cast<std::size_t>(peer)])
        ours.add(one.local, one.length);
      for (const SharedInterval& one :
           std::span(intervals_.data(), static_cast<std::size_t>(count)))
        theirs.add(one.local, one.length);
      agrees = agrees && ours.ends == theirs.ends;
    });
    return agrees;
  }

  BlockCyclic local_;
  BlockCyclic remote_;
  IndexAlgorithm algorithm_;
  std::size_t segments_ = 0;
  std::int64_t operations_ = 0;
  std::vector<IndexFamily> families_;
  /// What one pair of coordinates shares: ScaLAPACK uses it at once.
  std::vector<SharedInterval> intervals_;
  std::int64_t operations_done_ = 0;
  long long iterations_ = 1;
  std::vector<double> seconds_;
};

}  // namespace valet::bench
