// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "exact.hpp"
#include "problem.hpp"
#include "schedule/cyclic_run.hpp"
#include "schedule/phase_schedule.hpp"
#include "schedule/relaxation.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

struct AnalysisOptions {
  std::vector<Heuristic> heuristics;
  std::vector<std::uint64_t> parking;  ///< intervals, 0 for never
  std::uint64_t seed = 1;
  double exact_seconds = 10;
};

struct PhaseCase {
  schedule::PhaseOptions options;
  schedule::PhaseCounts counts;
};

struct CyclicCase {
  EdgeOrder order = EdgeOrder::ascending;
  schedule::CyclicRun run;
};

/// What is known about a problem without moving a byte.
struct Analysis {
  std::uint64_t all_free = 0;  ///< M
  schedule::PhaseBounds bounds;
  schedule::Relaxation relaxation;
  std::vector<PhaseCase> phases;
  std::vector<CyclicCase> cyclic;
  ExactMinimum exact;
};

/// @throws Error infeasible or invalid_argument as check_feasible().
[[nodiscard]] Analysis analyse(const Problem& problem, const AnalysisOptions& options);

/// The table. @param problem What was analysed.
void print(const Problem& problem, const Analysis& analysis);

/// {"version": ..., "problem": ..., "bounds": ..., "relaxation": ..., "exact": ..., "cyclic":
/// [...], "cases": [...]}, a case per heuristic and parking interval.
/// @throws std::runtime_error when the file cannot be written.
void write_json(const std::string& path, const Problem& problem, const Analysis& analysis);

}  // namespace valet::plan
