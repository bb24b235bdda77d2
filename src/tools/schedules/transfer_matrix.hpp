// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What has to be moved, in numbers: who has how many blocks for whom, and what follows from these
/// numbers alone. T is the number of blocks that change their rank, M the number of free slots of
/// all ranks together, scratch included.

#include "schedule/transfers.hpp"

#include <cstdint>
#include <span>
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

}  // namespace valet::schedule
