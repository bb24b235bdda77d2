// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The continuous relaxation (Pinar and Hendrickson section 4): blocks may be cut, so every
/// transfer is cut into L = ceil(T/M) equal pieces, one per phase. For the pieces to fit, a phase
/// before them levels what each rank sends and receives and gives everybody memory for its first
/// piece, and a phase after them puts right what was received in another rank's place.

#include "schedule/parking.hpp"
#include "schedule/transfer_matrix.hpp"
#include <valet/ledger.hpp>

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
[[nodiscard]] VALET_EXPORT Relaxation relax(std::span<const RankTotals> totals);

/// The relaxation rounded to whole blocks: what ranks must do before and after the pieces.
struct ContinuousFlows {
  std::uint64_t pieces = 0;
  /// Before the pieces: `from` sends so many of its outgoing blocks to `to`, chosen by
  /// choose_blocks() over its destinations; from then on `to` is their source. By `from`.
  Vector<Flow> before;
  /// During the pieces `from` receives so many blocks in place of `to`, chosen by choose_blocks()
  /// over the sources of `to`; those that `from` has itself stay where they are. They are sent on
  /// when the pieces have been sent, in phases of first fit. By `to`.
  Vector<Flow> after;
};

/// What the root of Heuristic::continuous computes from a few numbers per rank. The phase of
/// `before` fits into everybody's free memory; rounding may leave a rank with less memory than a
/// piece, which is why apportion() obeys the free memory of every phase.
/// Half of the room for blocks that wait is for those that a rank receives in another's place;
/// flows that would need more are cut. Local; O(ranks) time; 8 bytes a rank while it runs and at
/// most ranks-1 flows in each list.
[[nodiscard]] VALET_EXPORT ContinuousFlows continuous_flows(Ledger& ledger,
                                                            std::span<const RankTotals> totals);

}  // namespace valet::schedule
