// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "problem.hpp"
#include "tools/output.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace valet::plan {

using tools::Case;

struct AnalysisOptions {
  std::vector<std::string> heuristics;  ///< names; none: all
  std::vector<int> parking{0, 1};       ///< intervals, 0 for never
  std::uint64_t seed = 1;
  double exact_seconds = 10;
  std::uint64_t most_phases = 1'000'000;  ///< of a case; it is stopped then
};

/// What is known about a problem without moving a byte: {"problem": ..., "bounds": ...,
/// "relaxation": ..., "exact": ..., "cyclic": [...], "cases": [...]}, a case per heuristic and
/// parking interval.
/// @throws Error infeasible or invalid_argument as check_feasible(), or for an option.
[[nodiscard]] Case analyse(const Problem& problem, const AnalysisOptions& options);

/// Prints an analysis.
void print(const Case& analysis);

}  // namespace valet::plan
