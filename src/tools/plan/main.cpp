// SPDX-License-Identifier: BSD-3-Clause

// valet-plan: analyses a redistribution from its transfer matrix and free memory, on one process
// and without moving anything. Exit code 0: done, 1: failed, 2: bad input.

#include "analysis.hpp"
#include "input.hpp"
#include "patterns.hpp"
#include <valet/error.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <optional>

namespace {

using valet::Error;
using valet::ErrorCode;

struct Arguments {
  std::string matrix;
  std::string graph;
  std::optional<std::uint32_t> start;
  valet::plan::PatternOptions pattern;
  std::string free;
  std::uint64_t scratch = 0;
  std::vector<std::string> heuristics;
  std::vector<std::int64_t> parking{0, 1};
  std::uint64_t seed = 1;
  double exact_seconds = 10;
  std::string json;
};

void declare(CLI::App& app, Arguments& arguments) {
  std::string names;
  for (const std::string& name : valet::plan::pattern_names())
    names += (names.empty() ? "" : ", ") + name;
  auto* const source = app.add_option_group("source", "What is analysed, one of");
  source->add_option("matrix", arguments.matrix,
                     "Matrix Market file (coordinate integer): blocks from row to column, ranks "
                     "counted from 1");
  source->add_option("--pattern", arguments.pattern.name, "made here: " + names);
  source->add_option("--graph", arguments.graph,
                     "Matrix Market file of a directed graph, for the redistribution that takes "
                     "|V|+1 phases if and only if it has a Hamiltonian circuit");
  source->require_option(1);
  app.add_option("--free", arguments.free,
                 "free slots: a number for every rank alike, or a file with a number per rank; "
                 "patterns and graphs have their own");
  app.add_option("--scratch", arguments.scratch, "further free slots on every rank");
  app.add_option("--ranks", arguments.pattern.ranks,
                 "ranks of a pattern (8; figure5 3, figure6 7, counterexample 9)");
  app.add_option("--blocks", arguments.pattern.blocks,
                 "blocks of a pair of ranks in a pattern (100; figure6, counterexample 1)");
  app.add_option("--start", arguments.start,
                 "vertex of the graph, counted from 1, with one edge into it (the first such)");
  app.add_option("--heuristic", arguments.heuristics, "heuristics, separated by commas (all)")
      ->delimiter(',');
  app.add_option("--parking", arguments.parking,
                 "parking intervals, separated by commas: 0 never, k every k-th phase (0,1)")
      ->delimiter(',');
  app.add_option("--seed", arguments.seed, "of random patterns and heuristics (1)");
  app.add_option("--exact-seconds", arguments.exact_seconds,
                 "time limit for the exact minimum; 0 does without (10)");
  app.add_option("--json", arguments.json, "file for the numbers");
}

valet::plan::Problem source_of(const Arguments& arguments) {
  if (!arguments.graph.empty()) {
    const valet::plan::Graph graph = valet::plan::read_graph(arguments.graph);
    if (arguments.start == 0U)
      throw Error(ErrorCode::invalid_argument, "--start counts vertices from 1");
    return valet::plan::hamiltonian_gadget(
        graph, arguments.start ? *arguments.start - 1 : valet::plan::default_start(graph));
  }
  if (!arguments.pattern.name.empty()) return valet::plan::make_pattern(arguments.pattern);
  if (arguments.free.empty())
    throw Error(ErrorCode::invalid_argument,
                "free slots are needed with a matrix: --free NUMBER or --free FILE");
  return {arguments.matrix, valet::plan::read_matrix(arguments.matrix), {}};
}

valet::plan::Problem problem_of(const Arguments& arguments) {
  valet::plan::Problem problem = source_of(arguments);
  if (!arguments.free.empty())
    problem.free = valet::plan::read_free(arguments.free, problem.matrix.ranks());
  for (std::uint64_t& slots : problem.free) {
    if (arguments.scratch > valet::schedule::most_blocks)
      throw Error(ErrorCode::invalid_argument, "--scratch is more than 2^60 slots");
    slots += arguments.scratch;
  }
  return problem;
}

valet::plan::AnalysisOptions analysis_of(const Arguments& arguments) {
  valet::plan::AnalysisOptions options;
  options.seed = arguments.seed;
  options.exact_seconds = arguments.exact_seconds;
  for (const std::string& name : arguments.heuristics)
    options.heuristics.push_back(valet::parse_heuristic(name));
  if (options.heuristics.empty())
    options.heuristics.assign(valet::all_heuristics().begin(), valet::all_heuristics().end());
  for (const std::int64_t interval : arguments.parking) {
    if (interval < 0)
      throw Error(ErrorCode::invalid_argument,
                  "parking interval " + std::to_string(interval) +
                      " is negative: give 0 for never or k for every k-th phase");
    options.parking.push_back(static_cast<std::uint64_t>(interval));
  }
  return options;
}

void run(int argc, char** argv) {
  CLI::App app("Analyses the redistribution of a transfer matrix within free memory", "valet-plan");
  Arguments arguments;
  declare(app, arguments);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw Error(ErrorCode::invalid_argument, error.what());
    app.exit(error);
    return;
  }
  const valet::plan::AnalysisOptions options = analysis_of(arguments);
  arguments.pattern.seed = arguments.seed;
  const valet::plan::Problem problem = problem_of(arguments);
  const valet::plan::Analysis analysis = valet::plan::analyse(problem, options);
  valet::plan::print(problem, analysis);
  if (!arguments.json.empty()) valet::plan::write_json(arguments.json, problem, analysis);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "valet-plan: %s\n", error.what());
    return error.code() == ErrorCode::internal ? 1 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "valet-plan: %s\n", error.what());
  }
  return 1;
}
