// SPDX-License-Identifier: BSD-3-Clause
#include "analysis.hpp"

#include <cstdio>

namespace valet::plan {
namespace {

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
