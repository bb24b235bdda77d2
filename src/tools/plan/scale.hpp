// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "tools/output.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

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

/// One structure, or a few that belong together.
struct FootprintPart {
  const char* name = "";
  std::uint64_t bytes = 0;
};

/// What is there at one moment.
using FootprintParts = std::vector<FootprintPart>;

[[nodiscard]] std::uint64_t sum_of(const FootprintParts& parts);

struct Footprint {
  /// Whether the budget holds the blocks that wait for their slots. Else arrivals are listed, and
  /// what follows does not hold.
  bool lands_in_order = true;
  FootprintParts planning;  ///< at the moment of planning when most is there
  FootprintParts moving;    ///< while data moves; scratch is the part behind `state`
  /// Report::peak_extra_bytes of a first plan whose ranks share no memory and keep none.
  [[nodiscard]] std::uint64_t peak() const { return std::max(sum_of(planning), sum_of(moving)); }
  /// The part of `moving` that is not for blocks: no budget pays for it.
  [[nodiscard]] std::uint64_t state() const {
    return sum_of(moving) - (moving.empty() ? 0 : moving.back().bytes);
  }
};

/// What a rank takes of its memory, by structure, from its flows alone: the number of ranks adds
/// nothing. Each structure says itself what it takes, so nothing here is a copy of a number. Takes
/// the memory that planning takes, but neither MPI nor memory for blocks.
/// @param options  Checked.
[[nodiscard]] Footprint footprint_of(const ScaleOptions& options);

/// How long planning takes by the alpha-beta model: reductions and barriers by recursive doubling,
/// one latency a level; a round trip for as many counts as are received at a time; the map read
/// twice. Nothing for the processor's time for a message.
struct PlanningTime {
  std::uint32_t levels = 0;       ///< ceil(log2 P)
  std::uint32_t rounds = 0;       ///< reductions and barriers
  double collective_seconds = 0;  ///< in those
  double neighbour_seconds = 0;   ///< to tell the neighbours how much comes
  double local_seconds = 0;       ///< to read the map and sort the exports
  double least_seconds = 0;       ///< two reductions and a barrier
  [[nodiscard]] double seconds() const {
    return collective_seconds + neighbour_seconds + local_seconds;
  }
};
[[nodiscard]] PlanningTime planning_time(const ScaleOptions& options);

/// @throws Error invalid_argument, naming the option that is wrong, and where the budget is too
///         small to land in order.
/// {"scale": ..., "planning": [...], "moving": [...], "memory": ..., "time": ...}.
[[nodiscard]] tools::Case analyse(const ScaleOptions& options);
void print_scale(const tools::Case& analysis);

}  // namespace valet::plan
