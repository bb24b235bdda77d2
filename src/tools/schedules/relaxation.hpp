// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The continuous relaxation itself, for analysis and tests: see schedule/relaxation.hpp.

#include "schedule/relaxation.hpp"

#include <cstdint>
#include <span>

namespace valet::schedule {

/// The solution of the relaxation: its value is phases().
struct Relaxation {
  std::uint64_t pieces = 0;  ///< L
  double blocks_before = 0;  ///< moved by the phase before the pieces
  double blocks_after = 0;   ///< moved by the phase after them
  double volume = 0;         ///< moved in all
  [[nodiscard]] std::uint64_t phases() const {
    return pieces + (blocks_before > 0 ? 1 : 0) + (blocks_after > 0 ? 1 : 0);
  }
};

/// Solves the relaxation: at most ceil(T/M)+2 phases (Theorem 3), but not always as many: a phase
/// that has nothing to move is none. No schedule of whole blocks follows from it.
/// @param totals  Of every rank, feasible, with a free slot somewhere. Local; O(ranks).
[[nodiscard]] Relaxation relax(std::span<const RankTotals> totals);

}  // namespace valet::schedule
