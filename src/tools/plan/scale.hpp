// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/output.hpp"

#include <cstdint>

namespace valet::plan {

/// What a map to ranks makes all ranks do together, whatever is in it. Of a plan to ranks by a
/// method that is named, on a communicator that had a plan before, where no layout is found: to
/// look for layouts, to agree.
constexpr int reductions_of_plan = 2;
/// In the exchange of counts.
constexpr int barriers_of_plan = 1;
/// In its execution, where neither storage nor callbacks may throw.
constexpr int reductions_of_execution = 1;

/// A job in numbers: a map to ranks in the order of any, by STREAM, in which all blocks leave and
/// each rank deals its own out to as many neighbours ahead of it as behind it.
struct ScaleOptions {
  std::uint32_t ranks = 0;
  std::uint32_t neighbours = 0;
  std::uint64_t blocks = 100'000;  ///< on a rank, as many as slots
  std::uint64_t block_bytes = 64;
  std::uint64_t budget_bytes = std::uint64_t{4} << 20;
  double latency_seconds = 2e-6;
  double bandwidth = 1e10;  ///< bytes a second
};

/// What a rank takes of its memory, by structure, from its flows alone, and how long planning
/// takes: the number of ranks adds nothing to the memory. Each structure says itself what it takes,
/// so nothing here is a copy of a number. "peak" is Report::peak_extra_bytes of a first plan whose
/// ranks share no memory and keep none; "planning" is at the moment of planning when most is there.
/// Takes the memory that planning takes, but neither MPI nor memory for blocks.
/// @throws Error invalid_argument, naming the option that is wrong, and where the budget is too
///         small to land in order.
/// {"scale": ..., "planning": [...], "moving": [...], "memory": ..., "time": ...}.
[[nodiscard]] tools::Case analyse(const ScaleOptions& options);
void print_scale(const tools::Case& analysis);

}  // namespace valet::plan
