// SPDX-License-Identifier: BSD-3-Clause

// valet-plan: analyses a redistribution from its transfer matrix and free memory, or a job of any
// number of ranks from its numbers, on one process and without moving anything. Exit code 0: done,
// 1: failed, 2: bad input.

#include "analysis.hpp"
#include "junction.hpp"
#include "problem.hpp"
#include "scale.hpp"
#include "tools/command_line.hpp"
#include "tools/errors.hpp"
#include "transfers.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <utility>

namespace valet::plan {
namespace {

struct Arguments {
  std::string matrix;
  std::string graph;
  PatternOptions pattern;
  std::string free;
  std::uint64_t scratch = 0;
  AnalysisOptions analysis;
  std::string json;
  ScaleOptions scale;
  JunctionSizes junction;
};

std::vector<tools::Option> options_of(Arguments& arguments) {
  return {
      {"matrix", &arguments.matrix,
       "transfer matrix: a Matrix Market file (coordinate integer) of the number of blocks from "
       "row to column, ranks counted from 1, such as Options::transfers writes; give either this, "
       "--pattern, --graph, --neighbours or --junction. Or a file that ranks have written, "
       "NAME.valet: prints what is in it"},
      {"--pattern", &arguments.pattern.name,
       "generated transfer matrix: " + tools::listed(pattern_names())},
      {"--graph", &arguments.graph,
       "Matrix Market file of a directed graph; the redistribution takes |V|+1 phases if and only "
       "if the graph has a Hamiltonian circuit"},
      {"--neighbours", &arguments.scale.neighbours,
       "print the memory and planning time of a rank among --ranks for the method stream; each "
       "rank deals its blocks out to this number of neighbours in turn"},
      {"--block-bytes", &arguments.scale.block_bytes,
       "with --neighbours and matrix files that Valet has not written: bytes per block"},
      {"--junction", &arguments.junction.move,
       "print the messages and memory of an array that one job puts and another gets, by the "
       "layouts block:grid:block:grid, as in 64x64:2x2:30x50:4x1"},
      {"--extent", &arguments.junction.extent, "with --junction: extents of the array"},
      {"--element-bytes", &arguments.junction.element_bytes, "with --junction: bytes per element"},
      {"--budget", &arguments.scale.budget_bytes,
       "with --neighbours, --junction and such matrix files: bytes of scratch per rank"},
      {"--latency", &arguments.scale.latency_seconds,
       "with --neighbours and matrix files: latency of a message in seconds"},
      {"--bandwidth", &arguments.scale.bandwidth,
       "with --neighbours and matrix files: bytes per second, of the network and of memory"},
      {"--free", &arguments.free,
       "free slots: one number for all ranks, or a file with a number per rank; required with a "
       "matrix file that Valet has not written, patterns and graphs have defaults"},
      {"--scratch", &arguments.scratch, "additional free slots on every rank"},
      {"--ranks", &arguments.pattern.ranks,
       "number of ranks of a pattern, or with --neighbours of the job; 0: the default of the "
       "pattern, which is 8 (figure5: 3, figure6: 7, counterexample: 9)"},
      {"--blocks", &arguments.pattern.blocks,
       "blocks per pair of ranks in a pattern; 0: 100 (figure6 and counterexample: 1); with "
       "--neighbours: blocks per rank, which fill all of its slots; 0: 100000"},
      {"--heuristic", &arguments.analysis.heuristics,
       "heuristics (comma-separated); all by default"},
      {"--parking", &arguments.analysis.parking,
       "parking intervals (comma-separated): 0 for never, k for every k-th phase",
       tools::in_range(0, std::numeric_limits<int>::max())},
      {"--seed", &arguments.pattern.seed, "seed of random patterns and heuristics"},
      {"--most-phases", &arguments.analysis.most_phases,
       "number of phases after which a heuristic is stopped", tools::positive()},
      {"--exact-seconds", &arguments.analysis.exact_seconds,
       "time limit in seconds for finding the exact minimum; 0: do not search"},
      {"--json", &arguments.json, "also write the results to this JSON file"}};
}

void require_one_source(const Arguments& arguments) {
  const std::array given{!arguments.matrix.empty(), !arguments.graph.empty(),
                         !arguments.pattern.name.empty(), arguments.scale.neighbours > 0,
                         !arguments.junction.move.empty()};
  if (std::ranges::count(given, true) != 1)
    tools::refuse(
        "give exactly one of: a matrix file, --pattern, --graph, --neighbours, --junction");
}

TransferOptions transfer_options(const ScaleOptions& scale) {
  return {scale.block_bytes, scale.budget_bytes, scale.latency_seconds, scale.bandwidth};
}

Problem source_of(const Arguments& arguments, std::vector<RankFacts>& facts) {
  if (!arguments.graph.empty()) {
    const auto graph = read_matrix(arguments.graph, true);
    return hamiltonian_gadget(graph, default_start(graph));
  }
  if (!arguments.pattern.name.empty()) return make_pattern(arguments.pattern);
  schedule::TransferMatrix matrix = read_matrix(arguments.matrix);
  facts = read_facts(arguments.matrix, matrix.ranks());
  if (arguments.free.empty() && facts.empty())
    tools::refuse(
        "free slots are needed with a matrix that Valet has not written: --free NUMBER or --free "
        "FILE");
  const std::uint64_t block_bytes =
      mean_block_bytes(matrix, facts, transfer_options(arguments.scale));
  std::vector<std::uint64_t> free = free_of(facts, block_bytes, matrix.volume());
  return {arguments.matrix, std::move(matrix), std::move(free)};
}

Problem problem_of(const Arguments& arguments, std::vector<RankFacts>& facts) {
  Problem problem = source_of(arguments, facts);
  if (!arguments.free.empty()) problem.free = read_free(arguments.free, problem.matrix.ranks());
  if (arguments.scratch > schedule::most_blocks) tools::refuse("--scratch is more than 2^60 slots");
  for (std::uint64_t& slots : problem.free) slots += arguments.scratch;
  return problem;
}

void analyse_matrix(const Arguments& arguments, tools::Case& analysis) {
  std::vector<RankFacts> facts;
  const Problem problem = problem_of(arguments, facts);
  tools::Case transfers;
  if (!arguments.matrix.empty()) {
    transfers = analyse_transfers(problem.matrix, facts, transfer_options(arguments.scale));
    print_transfers(transfers, problem.matrix);
  }
  analysis = analyse(problem, arguments.analysis);
  print(analysis);
  if (!arguments.matrix.empty()) analysis["transfers"] = transfers;
}

void run(Arguments& arguments) {
  require_one_source(arguments);
  tools::JsonFile file;
  if (const int error = file.create(arguments.json); error != 0)
    tools::refuse("--json: ", tools::JsonFile::complaint(arguments.json, error));
  tools::Case analysis;
  if (is_file_of_ranks(arguments.matrix)) {
    analysis = contents_of(arguments.matrix);
    print_contents(analysis);
  } else if (!arguments.junction.move.empty()) {
    analysis = analyse(arguments.junction, arguments.scale.budget_bytes);
    print_junction(analysis);
  } else if (arguments.scale.neighbours > 0) {
    ScaleOptions& scale = arguments.scale;
    if (arguments.pattern.ranks > 0) scale.ranks = arguments.pattern.ranks;
    if (arguments.pattern.blocks > 0) scale.blocks = arguments.pattern.blocks;
    analysis = analyse(scale);
    print_scale(analysis);
  } else {
    arguments.analysis.seed = arguments.pattern.seed;
    analyse_matrix(arguments, analysis);
  }
  file.write(analysis);
}

}  // namespace
}  // namespace valet::plan

int main(int argc, char** argv) {
  try {
    valet::plan::Arguments arguments;
    valet::tools::run_command_line(
        {"valet-plan", "Analyses a redistribution from its transfer matrix and free memory",
         valet::plan::options_of(arguments), [&] { valet::plan::run(arguments); }},
        {}, argc, argv, true);
    return 0;
  } catch (const valet::Error& error) {
    std::fprintf(stderr, "valet-plan: %s\n", error.what());
    return error.code() == valet::ErrorCode::internal ? 1 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "valet-plan: %s\n", error.what());
  }
  return 1;
}
