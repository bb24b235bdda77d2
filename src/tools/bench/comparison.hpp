// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure.hpp"
#include "output.hpp"
#include <valet/report.hpp>

#include <cstdint>
#include <vector>

namespace valet::bench {

/// Lets Valet and its peers take turns in one process: a round that warms up, then `repeat` that
/// count. Comparison has fill(), run_warm(), run_cold() and run_valet(), which return seconds,
/// verified() and report(). Appends the measured keys to `row`; `failed` is set when a result was
/// wrong.
template <class Comparison>
void measure_in_turn(Comparison& comparison, int repeat, Progress& progress, Case& row,
                     bool& failed) {
  std::vector<double> valet, warm, cold;
  bool verified = true;
  for (int k = 0; k <= repeat; ++k) {
    comparison.fill();
    const double warm_seconds = comparison.run_warm();
    const double cold_seconds = comparison.run_cold();
    const double valet_seconds = comparison.run_valet();
    verified = comparison.verified() && verified;
    progress.step();
    if (k == 0) continue;
    warm.push_back(warm_seconds);
    cold.push_back(cold_seconds);
    valet.push_back(valet_seconds);
  }
  failed = failed || !verified;
  const Report report = comparison.report();
  row["seconds_median"] = median(valet);
  row["seconds_plan"] = report.plan_seconds;
  row["seconds_exchange"] = report.exchange_seconds;
  row["seconds_local"] = report.local_seconds;
  row["ratio_warm"] = median(valet) / median(warm);
  row["ratio_cold"] = median(valet) / median(cold);
  row["peak_extra_bytes"] = report.peak_extra_bytes;
  row["extra_bytes_bound"] = report.extra_bytes_bound;
  row["messages"] = report.messages;
  row["local_copies"] = report.local_copies;
  row["verified"] = verified;
}

/// What one of several ways to do the same needed.
struct Measured {
  std::vector<double> seconds;
  Report report;
  bool verified = true;
};
struct MeasuredSeries {
  std::vector<Measured> series;  ///< in the order of the series
  Measured peer;                 ///< MPI_Alltoallv into a second buffer
};

/// Lets all series take turns with MPI_Alltoallv: a round that warms up, then `repeat` that count.
///
/// @param comparison  Has fill(), run_warm(), verified(), report() and peer_bytes().
/// @param run      run(one) carries the comparison out in the way of a series, and returns seconds.
template <class Comparison, class Series, class Run>
MeasuredSeries measure_series(Comparison& comparison, const std::vector<Series>& series, int repeat,
                              Progress& progress, Run&& run) {
  MeasuredSeries all{std::vector<Measured>(series.size()), {}};
  for (int round = 0; round <= repeat; ++round) {
    comparison.fill();
    const double peer_seconds = comparison.run_warm();
    if (round > 0) all.peer.seconds.push_back(peer_seconds);
    for (std::size_t k = 0; k < series.size(); ++k) {
      // Another one comes first in each round: what ran before it is in the caches.
      const std::size_t s = (k + static_cast<std::size_t>(round)) % series.size();
      comparison.fill();
      const double seconds = run(series[s]);
      Measured& measured = all.series[s];
      measured.verified = comparison.verified() && measured.verified;
      measured.report = comparison.report();
      if (round > 0) measured.seconds.push_back(seconds);
    }
    progress.step();
  }
  all.peer.report.peak_extra_bytes = largest_of_ranks(comparison.peer_bytes());
  return all;
}

/// Appends a row for each series, which has a name, and one for MPI_Alltoallv. `failed` is set when
/// a result was wrong.
///
/// @param setting  The first keys of all rows, "method" among them.
/// @param detail   detail(row, report) adds what the experiment shows.
template <class Series, class Detail>
void list_series(const Case& setting, const std::vector<Series>& series, const MeasuredSeries& all,
                 std::vector<Case>& cases, bool& failed, Detail&& detail) {
  const double peer_seconds = median(all.peer.seconds);
  const auto row_of = [&](const auto& name, const Measured& measured) {
    Case row = setting;
    row["method"] = name;
    row["seconds_median"] = median(measured.seconds);
    row["ratio_warm"] = median(measured.seconds) / peer_seconds;
    // CYCLIC has no phases: the steps of its critical path.
    row["phases"] = measured.report.phases + measured.report.steps;
    row["messages"] = measured.report.messages;
    detail(row, measured.report);
    row["peak_extra_bytes"] = measured.report.peak_extra_bytes;
    row["extra_bytes_bound"] = measured.report.extra_bytes_bound;
    row["verified"] = measured.verified;
    return row;
  };
  for (std::size_t s = 0; s < series.size(); ++s) {
    cases.push_back(row_of(series[s].name, all.series[s]));
    failed = failed || !all.series[s].verified;
  }
  cases.push_back(row_of("alltoallv", all.peer));
}

}  // namespace valet::bench
