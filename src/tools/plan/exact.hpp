// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "problem.hpp"

#include <cstdint>
#include <string>

namespace valet::plan {

/// What is known about the least number of phases.
struct ExactMinimum {
  bool proved = false;
  std::uint64_t lower = 0;  ///< no schedule has fewer
  std::uint64_t upper = 0;  ///< there is a schedule with as many
  double seconds = 0;
  std::string why = {};  ///< what kept it from being proved
};

/// Looks for the least number of phases from the lower bound on: solves the multicommodity flow for
/// one number of phases after the other. A schedule that is found is carried out on counts before
/// it is believed.
/// @param lower, upper  What is known already, by a bound and a schedule.
/// @param seconds       Time limit for all; 0 or less looks at the bounds only.
[[nodiscard]] ExactMinimum find_minimum(const Problem& problem, std::uint64_t lower,
                                        std::uint64_t upper, double seconds);

}  // namespace valet::plan
