// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Whole schedules from numbers alone, for analysis and tests: what has to be moved, that is who
/// has how many blocks for whom, and the phases, cycles and the relaxation that follow from it. T
/// is the number of blocks that change their rank, M the number of free slots of all ranks
/// together, scratch included.

#include "schedule/cyclic.hpp"
#include "schedule/phase_scheduler.hpp"
#include "schedule/relaxation.hpp"
#include "schedule/transfers.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet::schedule {

/// The sparse matrix T_ij of all transfers. For analysis: memory O(nonzeros) on the caller.
class TransferMatrix {
 public:
  TransferMatrix() = default;
  /// @param ranks      P; sources and destinations are 0 to P-1.
  /// @param transfers  In any order; equal pairs are added, what stays on its rank is dropped.
  /// @throws Error rank_out_of_range, invalid_argument (more than most_blocks in all). Local.
  TransferMatrix(std::uint32_t ranks, std::vector<TransferEntry> transfers);

  [[nodiscard]] std::uint32_t ranks() const { return ranks_; }
  /// Sorted by destination, then source; no zeros.
  [[nodiscard]] std::span<const TransferEntry> transfers() const { return transfers_; }
  /// T
  [[nodiscard]] std::uint64_t volume() const { return volume_; }
  /// Per rank, with free[i] free slots of rank i.
  [[nodiscard]] std::vector<RankTotals> totals(std::span<const std::uint64_t> free) const;

 private:
  std::uint32_t ranks_ = 0;
  std::uint64_t volume_ = 0;
  std::vector<TransferEntry> transfers_;
};

/// Refuses what no schedule can do: a rank that would end with more blocks than slots, or blocks
/// to move and no free slot on any rank.
/// @param free  Free slots of every rank, scratch included.
/// @throws Error infeasible, naming the rank and the slots it lacks; invalid_argument when the
///         number of ranks differs or there are more than most_blocks slots. Local.
void check_feasible(const TransferMatrix& matrix, std::span<const std::uint64_t> free);

/// Free slots of every rank: what the matrix needs to be feasible, and `extra` more. Local.
[[nodiscard]] std::vector<std::uint64_t> least_free(const TransferMatrix& matrix,
                                                    std::uint64_t extra);

/// What the number of phases is between.
struct PhaseBounds {
  std::uint64_t lower = 0;      ///< ceil(T/M), Pinar and Hendrickson's Lemma 3
  std::uint64_t published = 0;  ///< ceil(3T/2M)+1, their Theorem 4, which does not hold
  std::uint64_t upper = 0;      ///< ceil(2T/M)+1: parking at every phase, but not continuous
};

/// Theorem 4 rests on Lemma 5, which takes every parked block to enable a direct one; it fails
/// when both blocks of a swap are parked. What holds: a block is parked once at most, so at most 2T
/// blocks are moved; every phase before the last two fills all M slots, for otherwise nobody has
/// anything left to park and the next phase is the last.
/// @param volume  T. @param free  M, at least 1 unless T is 0.
[[nodiscard]] PhaseBounds phase_bounds(std::uint64_t volume, std::uint64_t free);
/// @param free  Free slots of every rank.
[[nodiscard]] PhaseBounds phase_bounds(const TransferMatrix& matrix,
                                       std::span<const std::uint64_t> free);

/// What ranks have with so many free slots, and room for all that may wait.
[[nodiscard]] std::vector<PhaseStart> starts_with(std::span<const std::uint64_t> free);

/// Messages of a phase, whose moves are by (source, place): what moves between a pair of ranks is
/// one.
[[nodiscard]] std::uint64_t count_messages(std::span<const Move> moves);

/// What a schedule costs.
struct PhaseCounts {
  bool complete = false;  ///< false: some blocks could not move any more, or were not waited for
  bool stopped = false;   ///< after as many phases as were wanted
  std::uint64_t phases = 0;
  std::uint64_t messages = 0;  ///< pairs of ranks, summed over phases
  std::uint64_t volume = 0;    ///< blocks moved; one that waits on the way is moved twice
  std::uint64_t detours = 0;   ///< moves of blocks to a rank where they wait
};

/// Runs a PhaseScheduler to its end, or for so many phases, and counts. Local; memory of a
/// PhaseScheduler.
[[nodiscard]] PhaseCounts count_phases(const TransferMatrix& matrix,
                                       std::span<const std::uint64_t> free,
                                       const PhasedOptions& options,
                                       std::uint64_t most_phases = ~std::uint64_t{0});

/// The moves of each phase.
using PhaseSchedule = std::vector<std::vector<Move>>;

/// Carries a schedule out on counts and says what is wrong with it: a rank that sends what it does
/// not have at the beginning of the phase, or receives more than its free slots then, or blocks
/// that are not where they belong at the end. Nothing when it is right. Independent of how the
/// schedule was made.
[[nodiscard]] std::optional<std::string> find_violation(const TransferMatrix& matrix,
                                                        std::span<const std::uint64_t> free,
                                                        const PhaseSchedule& schedule);

/// The actions of every rank.
using CyclicSchedule = std::vector<std::vector<Action>>;

/// What the root schedules for a matrix that it gets edge by edge. Local; O(nonzeros) memory.
/// @param free  Per rank, as CyclicRank::free. @param most_message_blocks  CyclicRank's, of all
/// ranks.
[[nodiscard]] CyclicSchedule record_cyclic(
    const TransferMatrix& matrix, std::span<const std::uint64_t> free, EdgeOrder order,
    std::uint32_t most_message_blocks = std::numeric_limits<std::uint32_t>::max());

/// What a schedule costs.
struct CyclicCounts {
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;
  std::uint64_t volume = 0;
  std::uint64_t critical_path = 0;  ///< steps of the longest chain of actions, see Action::step
};
[[nodiscard]] CyclicCounts count_actions(const CyclicSchedule& schedule);

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
/// @param totals  Those of every rank, feasible, with a free slot somewhere. Local; O(ranks).
[[nodiscard]] Relaxation relax(std::span<const RankTotals> totals);

}  // namespace valet::schedule
