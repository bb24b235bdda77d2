// SPDX-License-Identifier: BSD-3-Clause
#include "solver.hpp"

#include <Cbc_C_Interface.h>

#include <memory>

namespace valet::plan {

bool has_solver() { return true; }

SolverResult solve(const LinearSystem& system, double seconds) {
  const std::unique_ptr<Cbc_Model, void (*)(Cbc_Model*)> model(Cbc_newModel(), Cbc_deleteModel);
  Cbc_setLogLevel(model.get(), 0);
  const std::vector<double> zeros(static_cast<std::size_t>(system.columns()), 0);
  Cbc_loadProblem(model.get(), system.columns(), static_cast<int>(system.row_least.size()),
                  system.starts.data(), system.rows.data(), system.coefficients.data(),
                  zeros.data(), system.most.data(), zeros.data(), system.row_least.data(),
                  system.row_most.data());
  for (int column = 0; column < system.columns(); ++column) Cbc_setInteger(model.get(), column);
  // Otherwise CBC counts processor time.
  Cbc_setParameter(model.get(), "timeMode", "elapsed");
  Cbc_setMaximumSeconds(model.get(), seconds);
  Cbc_solve(model.get());

  SolverResult result;
  if (Cbc_isProvenOptimal(model.get()) != 0 || Cbc_numberSavedSolutions(model.get()) > 0) {
    const double* const solution = Cbc_bestSolution(model.get());
    if (solution != nullptr) {
      result.status = SolverResult::Status::solved;
      result.solution.assign(solution, solution + system.columns());
    }
  } else if (Cbc_isProvenInfeasible(model.get()) != 0 &&
             Cbc_isSecondsLimitReached(model.get()) == 0) {
    result.status = SolverResult::Status::no_solution;
  }
  return result;
}

}  // namespace valet::plan
