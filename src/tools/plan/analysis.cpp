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
  for (const int interval : options.parking)
    if (interval < 0)
      tools::refuse("parking interval ", interval,
                    " is negative: give 0 for never or k for every k-th phase");
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

/// A number as it is in the file.
std::string text(const Case& object, const char* key) { return object[key].dump(); }

void print_problem(const Case& problem, const Case& bounds, const Case& relaxation) {
  std::printf("%s: %s ranks, %s transfers, T = %s blocks\n",
              problem["name"].get<std::string>().c_str(), text(problem, "ranks").c_str(),
              text(problem, "transfers").c_str(), text(problem, "volume").c_str());
  std::printf("free slots: M = %s, %s to %s on a rank\n", text(problem, "free").c_str(),
              text(problem, "free_least").c_str(), text(problem, "free_most").c_str());
  std::printf(
      "bounds: at least %s phases, ceil(T/M); with parking at every phase at most %s, "
      "ceil(2T/M)+1, but for continuous; published as %s, ceil(3T/2M)+1\n",
      text(bounds, "lower").c_str(), text(bounds, "upper").c_str(),
      text(bounds, "published").c_str());
  std::printf(
      "relaxation: %s phases, %s pieces; %.6g blocks moved before them, %.6g after, "
      "%.6g in all\n\n",
      text(relaxation, "phases").c_str(), text(relaxation, "pieces").c_str(),
      relaxation["blocks_before"].get<double>(), relaxation["blocks_after"].get<double>(),
      relaxation["volume"].get<double>());
}

void print_exact(const Case& exact) {
  if (exact["proved"].get<bool>())
    std::printf("\nexact minimum: %s phases (proved, %.3g s)\n", text(exact, "upper").c_str(),
                exact["seconds"].get<double>());
  else
    std::printf("\nexact minimum: not proved (%s), between %s and %s phases\n",
                exact["why"].get<std::string>().c_str(), text(exact, "lower").c_str(),
                text(exact, "upper").c_str());
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
  print_problem(analysis["problem"], bounds, analysis["relaxation"]);
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
  print_exact(analysis["exact"]);
  std::fflush(stdout);
}

}  // namespace valet::plan
