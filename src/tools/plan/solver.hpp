// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

namespace valet::plan {

/// A system of linear equations and inequalities over non-negative integers, by columns.
struct LinearSystem {
  std::vector<int> starts{0};  ///< where each column begins in `rows`, and the end
  std::vector<int> rows;
  std::vector<double> coefficients;
  std::vector<double> most;  ///< for each column
  std::vector<double> row_least;
  std::vector<double> row_most;

  [[nodiscard]] int columns() const { return static_cast<int>(most.size()); }
};

/// What a solver found out about a system.
struct SolverResult {
  enum class Status { solved, no_solution, unknown };
  Status status = Status::unknown;
  std::vector<double> solution = {};  ///< where it is solved
  std::string why = {};               ///< where it is unknown
};

/// Whether this program was built with a solver for integer systems.
[[nodiscard]] bool has_solver();

/// Looks for whole numbers that solve the system, for `seconds` at most; unknown when the time is
/// up. The solver runs in a process of its own, which is ended then: it looks at its own clock
/// between steps only, and a step can take minutes. Without a solver always unknown.
[[nodiscard]] SolverResult solve(const LinearSystem& system, double seconds);

}  // namespace valet::plan
