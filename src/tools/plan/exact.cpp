// SPDX-License-Identifier: BSD-3-Clause
#include "exact.hpp"

#include "solver.hpp"
#include <valet/error.hpp>

#include <chrono>

namespace valet::plan {
namespace {

/// Larger systems are hopeless, and building them takes the memory of the machine.
constexpr std::uint64_t most_unknowns = 500'000;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check(const Problem& problem, const schedule::PhaseSchedule& schedule) {
  const auto violation = schedule::find_violation(problem.matrix, problem.free, schedule);
  if (violation) throw Error(ErrorCode::internal, "the solver's schedule is wrong: " + *violation);
}

}  // namespace

ExactMinimum find_minimum(const Problem& problem, std::uint64_t lower, std::uint64_t upper,
                          double seconds) {
  ExactMinimum minimum{.lower = lower, .upper = upper};
  const auto start = std::chrono::steady_clock::now();
  while (minimum.lower < minimum.upper) {
    if (!has_solver()) {
      minimum.why = "built without CBC";
      return minimum;
    }
    if (FlowModel::unknowns(problem, minimum.lower) > most_unknowns) {
      minimum.why = "too large: more than " + std::to_string(most_unknowns) + " unknowns";
      return minimum;
    }
    const double left = seconds - seconds_since(start);
    if (left <= 0) {
      minimum.why = seconds > 0 ? "time limit" : "not asked for";
      return minimum;
    }
    const FlowModel model(problem, minimum.lower);
    const SolverResult result = solve(model.system(), left);
    minimum.seconds = seconds_since(start);
    if (result.status == SolverResult::Status::unknown) {
      minimum.why = result.why;
      return minimum;
    }
    if (result.status == SolverResult::Status::solved) {
      check(problem, model.schedule(result.solution));
      minimum.upper = minimum.lower;
    } else {
      ++minimum.lower;
    }
  }
  minimum.proved = true;
  return minimum;
}

}  // namespace valet::plan
