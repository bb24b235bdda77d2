// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a map to ranks makes all ranks do together, whatever is in it: what planning costs where
/// there are many ranks. Tests count it.

namespace valet::plan {

/// Of a plan to ranks by a method that is named, on a communicator that had a plan before, where no
/// layout is found: to look for layouts, to agree.
constexpr int reductions_of_plan = 2;
/// In the exchange of counts.
constexpr int barriers_of_plan = 1;
/// Of carrying the plan out, where neither storage nor callbacks may throw.
constexpr int reductions_of_execution = 1;

}  // namespace valet::plan
