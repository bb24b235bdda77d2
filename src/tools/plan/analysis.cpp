// SPDX-License-Identifier: BSD-3-Clause
#include "analysis.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <numeric>

namespace valet::plan {
namespace {

/// The fewest phases of any schedule at hand: of those asked for, and of all heuristics with
/// parking at every phase, which always come to an end.
std::uint64_t fewest_phases(const Problem& problem, const Analysis& analysis, std::uint64_t seed) {
  std::uint64_t fewest = analysis.bounds.upper;
  for (const PhaseCase& one : analysis.phases)
    if (one.counts.complete) fewest = std::min(fewest, one.counts.phases);
  for (const Heuristic heuristic : all_heuristics()) {
    if (fewest == analysis.bounds.lower) break;
    const bool is_known =
        std::any_of(analysis.phases.begin(), analysis.phases.end(), [&](const PhaseCase& one) {
          return one.options.heuristic == heuristic && one.options.parking == 1;
        });
    if (is_known) continue;
    const auto counts = schedule::count_phases(problem.matrix, problem.free, {heuristic, 1, seed});
    fewest = std::min(fewest, counts.phases);
  }
  return fewest;
}

CyclicCase analyse_cyclic(const Problem& problem, EdgeOrder order) {
  CyclicCase one{
      order, schedule::run_cyclic(problem.matrix, problem.free,
                                  schedule::record_cyclic(problem.matrix, problem.free, order))};
  if (!one.run.violation.empty())
    throw Error(ErrorCode::internal, "the cyclic schedule is wrong: " + one.run.violation);
  return one;
}

}  // namespace

Analysis analyse(const Problem& problem, const AnalysisOptions& options) {
  schedule::check_feasible(problem.matrix, problem.free);
  Analysis analysis;
  analysis.all_free = std::accumulate(problem.free.begin(), problem.free.end(), std::uint64_t{0});
  analysis.bounds = schedule::phase_bounds(problem.matrix.volume(), analysis.all_free);
  analysis.relaxation = schedule::relax(problem.matrix.totals(problem.free));
  for (const Heuristic heuristic : options.heuristics)
    for (const std::uint64_t parking : options.parking) {
      const schedule::PhaseOptions phase_options{heuristic, parking, options.seed};
      analysis.phases.push_back(
          {phase_options, schedule::count_phases(problem.matrix, problem.free, phase_options)});
    }
  for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated})
    analysis.cyclic.push_back(analyse_cyclic(problem, order));
  analysis.exact =
      find_minimum(problem, analysis.bounds.lower, fewest_phases(problem, analysis, options.seed),
                   options.exact_seconds);
  return analysis;
}

}  // namespace valet::plan
