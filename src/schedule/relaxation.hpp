// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The continuous relaxation (Pinar and Hendrickson section 4): blocks may be cut, so an equal part
/// of every transfer moves in each of L = ceil(T/M) phases. For the parts to fit, a phase before
/// these levels what each rank sends and receives and gives everybody memory for its first part,
/// and a phase after them puts right what was received in place of another rank.

#include "schedule/parking.hpp"
#include "schedule/transfers.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// L, for ranks of which at least one has a free slot unless nothing moves.
[[nodiscard]] inline std::uint64_t equal_phases_of(std::span<const RankTotals> totals) {
  std::uint64_t volume = 0;
  std::uint64_t free = 0;
  for (const RankTotals& rank : totals) {
    volume += rank.received;
    free += rank.free;
  }
  return volume == 0 ? 0 : (volume - 1) / free + 1;
}

/// What rank i lacks for its first equal phase, positive, or has beyond it, negative, in units of
/// 1/(L+1) block. Levelled, it has A' = A+S-R free slots and receives R. A block that it gives away
/// together with the duty to receive one adds a free slot and takes a block from what it receives,
/// so that A' + x >= (R - x)/L needs x >= (R - L*A')/(L+1). L*A' <= T+M: no overflow.
[[nodiscard]] inline std::int64_t lacking(const RankTotals& rank, std::uint64_t equal_phases) {
  return static_cast<std::int64_t>(rank.received) -
         static_cast<std::int64_t>(equal_phases * (rank.free + rank.sent - rank.received));
}

/// The relaxation rounded to whole blocks: what ranks must do before and after the equal phases.
struct ContinuousMatches {
  std::uint64_t equal_phases = 0;
  /// Before these phases: `from` sends so many of its outgoing blocks to `to`, chosen by
  /// choose_blocks() over its destinations; from then on `to` is their source. By `from`.
  Vector<Match> before;
  /// During these phases `from` receives so many blocks in place of `to`, chosen by choose_blocks()
  /// over the sources of `to`; those that `from` has itself stay where they are. They are sent on
  /// when these phases are over, in phases of first fit. By `to`.
  Vector<Match> after;
};

/// What the root of Heuristic::continuous computes from a few numbers per rank. The phase of
/// `before` fits into everybody's free memory; rounding may leave a rank with less memory than its
/// part, which is why apportion() obeys the free memory of every phase. Half of the room for blocks
/// that wait is for those that a rank receives in another's place; matches that would need more are
/// cut. Local; O(ranks) time; 8 bytes a rank while it runs and at most ranks-1 matches in each
/// list.
[[nodiscard]] VALET_EXPORT ContinuousMatches continuous_matches(Ledger& ledger,
                                                                std::span<const RankTotals> totals);

}  // namespace valet::schedule
