// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The index study of C. Foyer, A. Tate, S. McIntosh-Smith, "ASPEN: An Efficient Algorithm for Data
/// Redistribution Between Producer and Consumer Grids", section 5: the time to find the whole
/// redistribution between two grids, of the algorithms that the paper compares and of ScaLAPACK's.
/// No data moves.

#include "benchmark.hpp"
#include "index_walks.hpp"
#include "scalapack.hpp"
#include <valet/block_cyclic.hpp>
#include <valet/ledger.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace valet::bench {

/// Names, "scalapack" only where it can be called.
[[nodiscard]] std::vector<std::string> all_index_algorithms();
/// @throws Error invalid_argument: no such name, or a program built without ScaLAPACK's.
[[nodiscard]] IndexAlgorithm parse_index_algorithm(const std::string& name);

/// The quickest of so many samples is one measurement: they are fractions of a microsecond, taken
/// far apart in time, and what else the machine does must not decide between two algorithms.
constexpr int samples_per_measurement = 3;

/// One algorithm on one pair of layouts. Collective over MPI_COMM_WORLD: every rank does all of it,
/// the slowest counts.
class IndexStudy {
 public:
  IndexStudy(Ledger& ledger, const BlockCyclic& local, const BlockCyclic& remote,
             IndexAlgorithm algorithm);

  void sample();

  /// Sets seconds_median, operations (null for ScaLAPACK, which does not count them), segments
  /// found, local_blocks of one period, and verified: CLASSICAL finds the same.
  void add_results(Case& row) const;

 private:
  [[nodiscard]] bool is_scalapack() const { return algorithm_ == IndexAlgorithm::scalapack; }
  template <class Sink>
  std::int64_t walk(Sink&& sink) const;
  template <class Sink>
  void scan(SharedInterval* found, Sink&& sink) const;
  void make_room(Ledger& ledger);
  std::int64_t compute();
  [[nodiscard]] std::int64_t local_blocks() const;
  [[nodiscard]] bool agrees_with_classical() const;
  [[nodiscard]] bool scan_agrees_with_classical() const;

  BlockCyclic local_;
  BlockCyclic remote_;
  IndexAlgorithm algorithm_;
  std::size_t segments_ = 0;
  std::int64_t operations_ = 0;
  Array<SegmentFamily> families_;
  Array<SharedInterval> intervals_;  ///< of one pair of coordinates: ScaLAPACK uses them at once
  std::int64_t operations_done_ = 0;
  long long iterations_ = 1;
  std::vector<double> seconds_;
};

}  // namespace valet::bench
