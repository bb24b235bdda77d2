// SPDX-License-Identifier: BSD-3-Clause
#include "analysis.hpp"
#include <valet/version.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace valet::plan {
namespace {

using Json = nlohmann::ordered_json;

unsigned long long wide(std::uint64_t value) { return value; }

void print_problem(const Problem& problem, const Analysis& analysis) {
  const auto [least, most] = std::minmax_element(problem.free.begin(), problem.free.end());
  std::printf("%s: %u ranks, %zu transfers, T = %llu blocks\n", problem.name.c_str(),
              problem.matrix.ranks(), problem.matrix.transfers().size(),
              wide(problem.matrix.volume()));
  std::printf("free slots: M = %llu, %llu to %llu on a rank\n", wide(analysis.all_free),
              wide(*least), wide(*most));
  std::printf(
      "bounds: at least %llu phases, ceil(T/M); with parking at every phase at most %llu, "
      "ceil(2T/M)+1; published as %llu, ceil(3T/2M)+1\n",
      wide(analysis.bounds.lower), wide(analysis.bounds.upper), wide(analysis.bounds.published));
  const schedule::Relaxation& relaxation = analysis.relaxation;
  std::printf(
      "relaxation: %llu phases, %llu pieces; %.6g blocks moved before them, %.6g after, "
      "%.6g in all\n\n",
      wide(relaxation.phases()), wide(relaxation.pieces), relaxation.blocks_before,
      relaxation.blocks_after, relaxation.volume);
}

std::string note(const PhaseCase& one, const schedule::PhaseBounds& bounds) {
  if (!one.counts.complete) return "stuck: no block can move without parking";
  return one.options.parking == 1 && one.counts.phases > bounds.published
             ? "more than the published bound"
             : "";
}

void print_phases(const Analysis& analysis) {
  std::printf("%-13s  %7s  %10s  %10s  %12s  %10s\n", "heuristic", "parking", "phases", "messages",
              "volume", "detours");
  for (const PhaseCase& one : analysis.phases)
    std::printf("%-13s  %7llu  %10llu  %10llu  %12llu  %10llu  %s\n",
                to_string(one.options.heuristic), wide(one.options.parking),
                wide(one.counts.phases), wide(one.counts.messages), wide(one.counts.volume),
                wide(one.counts.detours), note(one, analysis.bounds).c_str());
}

void print_cyclic(const Analysis& analysis) {
  std::printf("\n%-13s  %8s  %10s  %12s  %13s\n", "cyclic", "actions", "messages", "volume",
              "critical path");
  for (const CyclicCase& one : analysis.cyclic)
    std::printf("%-13s  %8llu  %10llu  %12llu  %13llu\n", to_string(one.order),
                wide(one.run.actions), wide(one.run.messages), wide(one.run.volume),
                wide(one.run.critical_path));
}

void print_exact(const ExactMinimum& exact) {
  if (exact.proved)
    std::printf("\nexact minimum: %llu phases (proved, %.3g s)\n", wide(exact.upper),
                exact.seconds);
  else
    std::printf("\nexact minimum: not proved (%s), between %llu and %llu phases\n",
                exact.why.c_str(), wide(exact.lower), wide(exact.upper));
}

Json cases_of(const Analysis& analysis) {
  Json cases = Json::array();
  for (const PhaseCase& one : analysis.phases)
    cases.push_back({{"heuristic", to_string(one.options.heuristic)},
                     {"parking", one.options.parking},
                     {"seed", one.options.seed},
                     {"complete", one.counts.complete},
                     {"phases", one.counts.phases},
                     {"messages", one.counts.messages},
                     {"volume", one.counts.volume},
                     {"detours", one.counts.detours}});
  return cases;
}

Json cyclic_of(const Analysis& analysis) {
  Json cases = Json::array();
  for (const CyclicCase& one : analysis.cyclic)
    cases.push_back({{"edge_order", to_string(one.order)},
                     {"actions", one.run.actions},
                     {"messages", one.run.messages},
                     {"volume", one.run.volume},
                     {"critical_path", one.run.critical_path}});
  return cases;
}

Json exact_of(const ExactMinimum& exact) {
  Json json = {{"proved", exact.proved}, {"lower", exact.lower}, {"upper", exact.upper}};
  if (!exact.proved) json["why"] = exact.why;
  json["seconds"] = exact.seconds;
  return json;
}

}  // namespace

void print(const Problem& problem, const Analysis& analysis) {
  print_problem(problem, analysis);
  print_phases(analysis);
  print_cyclic(analysis);
  print_exact(analysis.exact);
  std::fflush(stdout);
}

void write_json(const std::string& path, const Problem& problem, const Analysis& analysis) {
  const std::string version = std::to_string(VALET_VERSION_MAJOR) + "." +
                              std::to_string(VALET_VERSION_MINOR) + "." +
                              std::to_string(VALET_VERSION_PATCH);
  const schedule::Relaxation& relaxation = analysis.relaxation;
  const Json document = {{"version", version},
                         {"problem",
                          {{"name", problem.name},
                           {"ranks", problem.matrix.ranks()},
                           {"transfers", problem.matrix.transfers().size()},
                           {"volume", problem.matrix.volume()},
                           {"free", analysis.all_free}}},
                         {"bounds",
                          {{"lower", analysis.bounds.lower},
                           {"published", analysis.bounds.published},
                           {"upper", analysis.bounds.upper}}},
                         {"relaxation",
                          {{"phases", relaxation.phases()},
                           {"pieces", relaxation.pieces},
                           {"blocks_before", relaxation.blocks_before},
                           {"blocks_after", relaxation.blocks_after},
                           {"volume", relaxation.volume}}},
                         {"exact", exact_of(analysis.exact)},
                         {"cyclic", cyclic_of(analysis)},
                         {"cases", cases_of(analysis)}};
  std::ofstream file(path);
  file << document.dump(2) << "\n";
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace valet::plan
