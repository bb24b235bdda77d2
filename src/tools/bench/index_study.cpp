// SPDX-License-Identifier: BSD-3-Clause
#include "index_study.hpp"

#include "base/names.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <array>
#include <cmath>

namespace valet::bench {
namespace {

using detail::Named;
constexpr std::array algorithms{
    Named{IndexAlgorithm::classical, "classical"}, Named{IndexAlgorithm::falls, "falls"},
    Named{IndexAlgorithm::aspen, "aspen"}, Named{IndexAlgorithm::scalapack, "scalapack"}};

/// Short enough for hundreds of cases, long against the resolution of a clock.
constexpr double sample_seconds = 1e-4;

/// Ranges of local indices, those that touch made one: where a dimension has one rank, Valet takes
/// it for one block and ScaLAPACK does not.
struct LocalRanges {
  std::vector<std::int64_t> ends;  ///< begin and end of each in turn

  void add(std::int64_t begin, std::int64_t length) {
    if (ends.empty() || ends.back() != begin) {
      ends.push_back(begin);
      ends.push_back(begin);
    }
    ends.back() = begin + length;
  }
};

}  // namespace

std::vector<std::string> all_index_algorithms() {
  std::vector<std::string> names;
  for (const auto& algorithm : algorithms)
    if (algorithm.value != IndexAlgorithm::scalapack || has_scalapack_intervals())
      names.emplace_back(algorithm.name);
  return names;
}

IndexAlgorithm parse_index_algorithm(const std::string& name) {
  const IndexAlgorithm algorithm = detail::value_of(algorithms, "intersection algorithm", name);
  if (algorithm == IndexAlgorithm::scalapack && !has_scalapack_intervals())
    throw Error(ErrorCode::invalid_argument,
                "algorithm 'scalapack' is not in this program; build it where ScaLAPACK is found, "
                "with a library that shows dgescan_intervals");
  return algorithm;
}

IndexStudy::IndexStudy(Ledger& ledger, const BlockCyclic& local, const BlockCyclic& remote,
                       IndexAlgorithm algorithm)
    : local_(local), remote_(remote), algorithm_(algorithm) {
  make_room(ledger);
  const double once = std::max(slowest_seconds([this] { compute(); }), 1e-9);
  iterations_ = static_cast<long long>(std::ceil(sample_seconds / once));
}

/// Memory at hand, as in the paper.
void IndexStudy::make_room(Ledger& ledger) {
  if (!is_scalapack()) {
    operations_ = walk([this](const SegmentFamily&) { ++segments_; });
    families_ = Array<SegmentFamily>(ledger, segments_);
    return;
  }
  std::size_t room = 0;
  for (std::size_t d = 0; d < local_.dimensions(); ++d) {
    const layout::Dimension& mine = local_.dimension(d);
    const layout::Dimension& theirs = remote_.dimension(d);
    room = std::max(room, static_cast<std::size_t>(mine.extent() / mine.block_size() +
                                                   theirs.extent() / theirs.block_size() + 2));
  }
  intervals_ = Array<SharedInterval>(ledger, room);
  scan(intervals_.data(),
       [this](std::size_t, int, int, int count) { segments_ += static_cast<std::size_t>(count); });
  operations_ = static_cast<std::int64_t>(segments_);
}

void IndexStudy::sample() {
  const double seconds = slowest_seconds([this] {
    for (long long k = 0; k < iterations_; ++k) operations_done_ += compute();
  });
  seconds_.push_back(seconds / static_cast<double>(iterations_));
}

void IndexStudy::add_results(Case& row) const {
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

/// What each coordinate of the local grid shares with every coordinate of the remote one, in each
/// dimension: Algorithm 1 of the paper. Calls sink(SegmentFamily). @return Operations.
template <class Sink>
std::int64_t IndexStudy::walk(Sink&& sink) const {
  std::int64_t operations = 0;
  for (std::size_t d = 0; d < local_.dimensions(); ++d) {
    const DimensionPair pair(local_.dimension(d), remote_.dimension(d), static_cast<int>(d));
    for (int coordinate = 0; coordinate < pair.mine.ranks; ++coordinate)
      operations += bench::walk(pair, coordinate, algorithm_, sink);
  }
  return operations;
}

/// The same by ScaLAPACK, which looks at one peer at a time. Calls sink(dimension, coordinate,
/// peer, how many it found) while they are in `found`.
template <class Sink>
void IndexStudy::scan(SharedInterval* found, Sink&& sink) const {
  for (std::size_t d = 0; d < local_.dimensions(); ++d) {
    const ScalapackDimension mine(local_.dimension(d));
    const ScalapackDimension theirs(remote_.dimension(d));
    for (int coordinate = 0; coordinate < mine.ranks; ++coordinate)
      for (int peer = 0; peer < theirs.ranks; ++peer)
        sink(d, coordinate, peer, scalapack_intervals(mine, theirs, coordinate, peer, found));
  }
}

std::int64_t IndexStudy::compute() {
  if (!is_scalapack()) {
    SegmentFamily* next = families_.data();
    return walk([&next](const SegmentFamily& family) { *next++ = family; });
  }
  std::int64_t found = 0;
  scan(intervals_.data(), [&found](std::size_t, int, int, int count) { found += count; });
  return found;
}

/// Blocks of the local layout in one period, all coordinates and dimensions together.
std::int64_t IndexStudy::local_blocks() const {
  std::int64_t blocks = 0;
  for (std::size_t d = 0; d < local_.dimensions(); ++d) {
    const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
    blocks += (pair.period + pair.mine.block - 1) / pair.mine.block;
  }
  return blocks;
}

/// Whether every segment of every pair of coordinates is the one CLASSICAL finds, and every
/// computation that was timed found all.
bool IndexStudy::agrees_with_classical() const {
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

bool IndexStudy::scan_agrees_with_classical() const {
  Ledger ledger;
  Array<SharedInterval> found(ledger, intervals_.size());
  bool agrees = true;
  scan(found.data(), [&](std::size_t d, int coordinate, int peer, int count) {
    const DimensionPair pair(local_.dimension(d), remote_.dimension(d));
    const auto classical = segments_of(pair, coordinate, IndexAlgorithm::classical);
    LocalRanges ours, theirs;
    for (const Segment& one : classical[static_cast<std::size_t>(peer)])
      ours.add(one.local, one.length);
    for (int k = 0; k < count; ++k)
      theirs.add(found[static_cast<std::size_t>(k)].local,
                 found[static_cast<std::size_t>(k)].length);
    agrees = agrees && ours.ends == theirs.ends;
  });
  return agrees;
}

}  // namespace valet::bench
