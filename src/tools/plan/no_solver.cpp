// SPDX-License-Identifier: BSD-3-Clause
#include "solver.hpp"

namespace valet::plan {

bool has_solver() { return false; }

SolverResult solve(const LinearSystem&, double) { return {}; }

}  // namespace valet::plan
