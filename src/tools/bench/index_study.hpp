// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The index study of C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data
/// Redistribution Between Producer and Consumer Grids", section 5: the time to find the whole
/// redistribution between two grids, of the algorithms that the paper compares and of ScaLAPACK's.
/// No data moves.

#include "base/names.hpp"
#include "benchmark.hpp"
#include "scalapack.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/intersect.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace valet::bench {

enum class IndexAlgorithm {
  aspen,  ///< as IntersectionAlgorithm, and the next two as well
  falls,
  classical,
  one_peer,   ///< ASPEN for one peer of each coordinate (ASPEN paper, section 4.1)
  scalapack,  ///< ScaLAPACK's, where it can be called
};

constexpr std::array index_algorithms{detail::Named{IndexAlgorithm::classical, "classical"},
                                      detail::Named{IndexAlgorithm::falls, "falls"},
                                      detail::Named{IndexAlgorithm::aspen, "aspen"},
                                      detail::Named{IndexAlgorithm::one_peer, "one_peer"},
                                      detail::Named{IndexAlgorithm::scalapack, "scalapack"}};

/// @throws Error invalid_argument: no such name, or a program built without ScaLAPACK's.
[[nodiscard]] inline IndexAlgorithm parse_index_algorithm(const std::string& name) {
  const auto algorithm = detail::value_of(index_algorithms, "intersection algorithm", name);
  if (algorithm == IndexAlgorithm::scalapack && !has_scalapack_intervals())
    refuse(
        "algorithm 'scalapack' is not in this program; build it where ScaLAPACK is found, with a "
        "library that shows dgescan_intervals");
  return algorithm;
}

/// Those that this program has.
[[nodiscard]] inline Texts known_index_algorithms() {
  Texts names = names_in(index_algorithms);
  if (!has_scalapack_intervals()) names.pop_back();
  return names;
}

/// The quickest of so many samples is one measurement: they are fractions of a microsecond, taken
/// far apart in time, and what else the machine does must not decide between two algorithms.
constexpr int samples_per_measurement = 3;

/// One algorithm on one pair of layouts: what each coordinate of the local grid shares with every
/// coordinate of the remote one, in each dimension (Algorithm 1 of the paper), by
/// valet::intersect(). Collective over MPI_COMM_WORLD: every rank does all of it, the slowest
/// counts.
class IndexStudy {
 public:
  IndexStudy(const BlockCyclic& local, const BlockCyclic& remote, IndexAlgorithm algorithm)
      : algorithm_(algorithm) {
    for (std::size_t d = 0; d < local.dimensions(); ++d)
      lines_.push_back({local.dimension(d), remote.dimension(d)});
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
  struct Line {
    layout::Dimension mine, theirs;
  };

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
    if (is_scalapack()) {
      std::size_t room = 0;
      for (const Line& along : lines_)
        for (const layout::Dimension& side : {along.mine, along.theirs})
          room += static_cast<std::size_t>(side.extent() / side.block_size() + 1);
      intervals_.resize(room);
    }
    operations_ = compute();
    families_.resize(segments_);
  }

  /// The same by ScaLAPACK, which looks at one peer at a time. Calls sink(line, coordinate, peer,
  /// how many it found) while they are in intervals_.
  template <class Sink>
  void scan(Sink&& sink) {
    for (const Line& along : lines_) {
      const ScalapackDimension mine(along.mine);
      const ScalapackDimension theirs(along.theirs);
      for (int coordinate = 0; coordinate < mine.ranks; ++coordinate)
        for (int peer = 0; peer < theirs.ranks; ++peer)
          sink(along, coordinate, peer,
               scalapack_intervals(mine, theirs, coordinate, peer, intervals_.data()));
    }
  }

  /// Counts segments_, and lists them in families_ as far as there is room. @return Operations, if
  /// known.
  std::int64_t compute() {
    if (!is_scalapack()) {
      const bool is_named = algorithm_ < IndexAlgorithm::one_peer;
      return compute_by(is_named ? static_cast<IntersectionAlgorithm>(algorithm_)
                                 : IntersectionAlgorithm::aspen);
    }
    segments_ = 0;
    scan(
        [this](const Line&, int, int, int count) { segments_ += static_cast<std::size_t>(count); });
    return 0;
  }

  std::int64_t compute_by(IntersectionAlgorithm algorithm) {
    segments_ = 0;
    std::int64_t operations = 0;
    for (const Line& along : lines_) {
      const layout::DimensionPair pair(along.mine, along.theirs);
      for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate) {
        const bool is_one = algorithm_ == IndexAlgorithm::one_peer;
        const FoundFamilies found = intersect(
            pair, coordinate, std::span(families_).subspan(std::min(segments_, families_.size())),
            {is_one ? coordinate % pair.theirs.ranks : IntersectOptions::all_peers, algorithm});
        segments_ += found.families;
        operations += found.operations;
      }
    }
    return operations;
  }

  /// Blocks of the local layout in one period, all coordinates and dimensions together.
  [[nodiscard]] std::int64_t local_blocks() const {
    std::int64_t blocks = 0;
    for (const Line& along : lines_) {
      const layout::DimensionPair pair(along.mine, along.theirs);
      blocks += (pair.period + pair.mine.block - 1) / pair.mine.block;
    }
    return blocks;
  }

  /// Whether CLASSICAL finds the same, and every computation that was timed found all.
  [[nodiscard]] bool agrees_with_classical() {
    if (operations_ != operations_done_ / (iterations_ * static_cast<long long>(seconds_.size())))
      return false;
    if (is_scalapack()) return scan_agrees_with_classical();
    std::vector<layout::IndexFamily> found = families_;
    compute_by(IntersectionAlgorithm::classical);
    for (auto* const list : {&found, &families_})
      std::ranges::sort(*list, {}, [](const layout::IndexFamily& one) {
        return std::tuple(one.position, one.local, one.length, one.count, one.peer);
      });
    return segments_ == found.size() && families_ == found;
  }

  [[nodiscard]] bool scan_agrees_with_classical() {
    bool agrees = true;
    scan([&](const Line& along, int coordinate, int peer, int count) {
      Ledger ledger;
      LocalRanges ours, theirs;
      layout::DimensionIntersection(ledger, {along.mine, along.theirs}, coordinate,
                                    {peer, IntersectionAlgorithm::classical})
          .for_each_run(peer, [&](std::int64_t, std::int64_t local, std::int64_t length) {
            ours.add(local, length);
          });
      for (const SharedInterval& one :
           std::span(intervals_.data(), static_cast<std::size_t>(count)))
        theirs.add(one.local, one.length);
      agrees = agrees && ours.ends == theirs.ends;
    });
    return agrees;
  }

  std::vector<Line> lines_;  ///< one for each dimension
  IndexAlgorithm algorithm_;
  std::size_t segments_ = 0;
  std::int64_t operations_ = 0;
  std::vector<layout::IndexFamily> families_;
  /// What one pair of coordinates shares: ScaLAPACK uses it at once.
  std::vector<SharedInterval> intervals_;
  std::int64_t operations_done_ = 0;
  long long iterations_ = 1;
  std::vector<double> seconds_;
};

}  // namespace valet::bench
