// SPDX-License-Identifier: BSD-3-Clause
#include "analysis.hpp"

#include "exact.hpp"
#include "tools/errors.hpp"
#include "tools/schedules.hpp"

#include <algorithm>
#include <cstdio>
#include <numeric>

namespace valet::plan {
namespace {

std::vector<Heuristic> heuristics_of(const AnalysisOptions& options) {
  std::vector<Heuristic> heuristics;
  for (const std::string& name : options.heuristics) heuristics.push_back(parse_heuristic(name));
  if (heuristics.empty()) heuristics.assign(all_heuristics().begin(), all_heuristics().end());
  return heuristics;
}

/// A case for each heuristic and parking interval.
Case analyse_phases(const Problem& problem, const AnalysisOptions& options) {
  Case cases = Case::array();
  for (const Heuristic heuristic : heuristics_of(options))
    for (const int parking : options.parking) {
      const schedule::PhaseCounts counts = schedule::count_phases(
          problem.matrix, problem.free,
          {.heuristic = heuristic, .parking = parking, .seed = options.seed}, options.most_phases);
      cases.push_back({{"heuristic", to_string(heuristic)},
                       {"parking", parking},
                       {"seed", options.seed},
                       {"complete", counts.complete},
                       {"stopped", counts.stopped},
                       {"phases", counts.phases},
                       {"messages", counts.messages},
                       {"volume", counts.volume},
                       {"detours", counts.detours}});
    }
  return cases;
}

Case analyse_cyclic(const Problem& problem) {
  Case cases = Case::array();
  for (const EdgeOrder order : {EdgeOrder::ascending, EdgeOrder::rotated}) {
    const schedule::CyclicCounts run =
        schedule::count_actions(schedule::record_cyclic(problem.matrix, problem.free, order));
    if (run.volume != problem.matrix.volume())
      tools::fail(ErrorCode::internal, "the cyclic schedule is wrong: it moves ", run.volume,
                  " of ", problem.matrix.volume(), " blocks");
    cases.push_back({{"edge_order", to_string(order)},
                     {"actions", run.actions},
                     {"messages", run.messages},
                     {"volume", run.volume},
                     {"critical_path", run.critical_path}});
  }
  return cases;
}

/// The fewest phases of any schedule at hand: of those asked for, and of all heuristics with
/// parking at every phase, which always come to an end. None is followed beyond what is known.
std::uint64_t fewest_phases(const Problem& problem, const Case& cases,
                            const schedule::PhaseBounds& bounds, const AnalysisOptions& options) {
  std::uint64_t fewest = bounds.upper;
  for (const Case& one : cases)
    if (one["complete"].get<bool>()) fewest = std::min(fewest, one["phases"].get<std::uint64_t>());
  for (const Heuristic heuristic : all_heuristics()) {
    if (fewest == bounds.lower) break;
    const bool is_known = std::ranges::any_of(cases, [&](const Case& one) {
      return one["heuristic"] == to_string(heuristic) && one["parking"] == 1;
    });
    if (is_known) continue;
    const auto counts = schedule::count_phases(
        problem.matrix, problem.free, {.heuristic = heuristic, .parking = 1, .seed = options.seed},
        std::min(fewest, options.most_phases));
    if (counts.complete) fewest = std::min(fewest, counts.phases);
  }
  return fewest;
}

Case to_case(const ExactMinimum& exact) {
  Case result = {{"proved", exact.proved}, {"lower", exact.lower}, {"upper", exact.upper}};
  if (!exact.proved) result["why"] = exact.why;
  result["seconds"] = exact.seconds;
  return result;
}

std::string note(const Case& one, const Case& bounds) {
  if (one["stopped"].get<bool>()) return "stopped; a larger --most-phases continues";
  if (!one["complete"].get<bool>()) return "stuck: no block can move without parking";
  if (one["parking"] != 1) return "";
  if (one["heuristic"] == "continuous" && one["phases"] > bounds["upper"])
    return "more than the bound of the others";
  return one["phases"] > bounds["published"] ? "more than the published bound" : "";
}

}  // namespace

Case analyse(const Problem& problem, const AnalysisOptions& options) {
  const schedule::TransferMatrix& matrix = problem.matrix;
  schedule::check_feasible(matrix, problem.free);
  const std::uint64_t all_free =
      std::accumulate(problem.free.begin(), problem.free.end(), std::uint64_t{0});
  const schedule::PhaseBounds bounds = schedule::phase_bounds(matrix.volume(), all_free);
  const schedule::Relaxation relaxation = schedule::relax(matrix.totals(problem.free));
  const Case cases = analyse_phases(problem, options);
  const ExactMinimum exact = find_minimum(
      problem, bounds.lower, fewest_phases(problem, cases, bounds, options), options.exact_seconds);
  return {{"problem",
           {{"name", problem.name},
            {"ranks", matrix.ranks()},
            {"transfers", matrix.transfers().size()},
            {"volume", matrix.volume()},
            {"free", all_free},
            {"free_least", std::ranges::min(problem.free)},
            {"free_most", std::ranges::max(problem.free)}}},
          {"bounds",
           {{"lower", bounds.lower}, {"published", bounds.published}, {"upper", bounds.upper}}},
          {"relaxation",
           {{"phases", relaxation.phases()},
            {"pieces", relaxation.pieces},
            {"blocks_before", relaxation.blocks_before},
            {"blocks_after", relaxation.blocks_after},
            {"volume", relaxation.volume}}},
          {"exact", to_case(exact)},
          {"cyclic", analyse_cyclic(problem)},
          {"cases", cases}};
}

void print(const Case& analysis) {
  const Case& bounds = analysis["bounds"];
  tools::print_filled(
      "{problem/name}: {problem/ranks} ranks, {problem/transfers} transfers, T = {problem/volume} "
      "blocks\n"
      "free slots: M = {problem/free}, {problem/free_least} to {problem/free_most} on a rank\n"
      "bounds: at least {bounds/lower} phases, ceil(T/M); with parking at every phase at most "
      "{bounds/upper}, ceil(2T/M)+1, but for continuous; published as {bounds/published}, "
      "ceil(3T/2M)+1\n"
      "relaxation: {relaxation/phases} phases, {relaxation/pieces} pieces; "
      "{relaxation/blocks_before} blocks moved before them, {relaxation/blocks_after} after, "
      "{relaxation/volume} in all\n\n",
      analysis);
  std::vector<Case> phases = analysis["cases"];
  for (Case& row : phases) {
    row["note"] = note(row, bounds);
    row.erase("seed");
    row.erase("complete");
    row.erase("stopped");
  }
  tools::print_table(phases);
  std::printf("\n");
  tools::print_table(analysis["cyclic"]);
  const Case& exact = analysis["exact"];
  tools::print_filled(
      exact["proved"].get<bool>()
          ? "\nexact minimum: {upper} phases (proved, {seconds} s)\n"
          : "\nexact minimum: not proved ({why}), between {lower} and {upper} phases\n",
      exact);
}

}  // namespace valet::plan
