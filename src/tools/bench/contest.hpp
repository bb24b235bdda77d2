// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "measure.hpp"
#include "output.hpp"
#include <valet/report/report.hpp>

#include <vector>

namespace valet::bench {

/// Lets Valet and its peers take turns in one process: a round that warms up, then `repeat` that
/// count. Contest has fill(), run_warm(), run_cold() and run_valet(), which return seconds,
/// verified() and report(). Appends the measured keys to `row`; `failed` is set when a result was
/// wrong.
template <class Contest>
void measure_in_turn(Contest& contest, int repeat, Progress& progress, Case& row, bool& failed) {
  std::vector<double> valet, warm, cold;
  bool verified = true;
  for (int k = 0; k <= repeat; ++k) {
    contest.fill();
    const double warm_seconds = contest.run_warm();
    const double cold_seconds = contest.run_cold();
    const double valet_seconds = contest.run_valet();
    verified = contest.verified() && verified;
    progress.step();
    if (k == 0) continue;
    warm.push_back(warm_seconds);
    cold.push_back(cold_seconds);
    valet.push_back(valet_seconds);
  }
  failed = failed || !verified;
  const Report report = contest.report();
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

}  // namespace valet::bench
