// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The phases of Pinar and Hendrickson for all ranks together, as a root computes them that knows
/// the whole matrix, one phase at a time: it lets the PhasedRank of every rank decide, and tells
/// each what it would get word of.

#include "schedule/phased_rank.hpp"
#include "schedule/relaxation.hpp"
#include "schedule/transfers.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// Blocks that one rank sends to another in a phase.
struct Move {
  std::uint32_t source = 0;
  std::uint32_t receiver = 0;  ///< where they go in this phase
  std::uint32_t target =
      0;  ///< where they belong; another rank than `receiver` when they wait there
  std::uint64_t blocks = 0;
  [[nodiscard]] bool operator==(const Move&) const = default;
};

/// Makes the phases of one redistribution.
///
/// Memory, all of it through the ledger: bytes(ranks, pairs()), where pairs are the transfers at
/// first, and parking adds those of a rank where blocks wait and a rank they wait for.
class VALET_EXPORT PhaseScheduler {
 public:
  /// @param transfers  Sorted by (source, destination) or the other way round, no zeros, no
  ///                   diagonal; read only here.
  /// @param starts     What every rank has: the number of ranks. Feasible (check_feasible).
  /// @param options    Heuristic::continuous parks when its equal phases are over.
  /// @param most_pairs  That there may be room for, at least the transfers: of parking and of what
  ///                    Heuristic::continuous adds, all that would need more is left out.
  PhaseScheduler(Ledger& ledger, std::span<const TransferEntry> transfers,
                 std::span<const PhaseStart> starts, const PhasedOptions& options,
                 std::size_t most_pairs = unlimited);

  /// What every rank has. Unless it is set before a phase these are the slots that it had and those
  /// that blocks left, and no less room for those that wait than at first.
  [[nodiscard]] std::span<PhaseStart> starts() { return starts_; }
  /// Plans the next phase. False when there is none: done() says whether all blocks are where they
  /// belong, or no block can move any more, which happens without parking only, and only where a
  /// rank ends without a free slot.
  bool next();
  [[nodiscard]] bool done() const { return left_ == 0; }

  /// The phase planned last: by (source, receiver, target). Valid until next() is called again, and
  /// not read any more, so that it may be sorted.
  [[nodiscard]] std::span<Move> moves() { return moves_; }

  /// Pairs that it had room for so far, in rows or in columns.
  [[nodiscard]] std::size_t pairs() const;
  /// Bytes at most of a scheduler that has room for so many pairs.
  [[nodiscard]] static std::size_t bytes(std::size_t ranks, std::size_t pairs);

 private:
  static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

  void fill(std::span<const TransferEntry> transfers);
  void relax();
  void receive(std::uint64_t equal_phases);
  void park();
  void reroute(std::span<Match> matches);
  void hand_over();
  void report_waiting();
  void move(const Move& move);
  void end_phase();
  [[nodiscard]] std::size_t pairs_left() const;

  Heuristic heuristic_;
  int parks_every_;  ///< PhasedOptions::parking
  std::size_t most_pairs_;
  std::uint64_t phase_ = 0;
  std::uint64_t left_ = 0;          ///< blocks that are not where they belong
  std::uint64_t equal_phases_ = 0;  ///< Heuristic::continuous: still to come
  Vector<Match> before_;            ///< likewise: the phase before these
  Vector<Match> after_;             ///< and who receives in place of others
  Vector<PhasedRank> ranks_;
  Vector<PhaseStart> starts_;
  Vector<std::uint64_t> sending_;  ///< blocks that each rank sends in this phase
  Vector<std::int64_t> balance_;
  Vector<Match> parking_;
  Vector<std::uint64_t> counts_;  ///< of the row or column at hand
  Vector<Move> moves_;
};

}  // namespace valet::schedule
