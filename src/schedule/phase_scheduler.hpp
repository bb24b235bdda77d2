// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The phases of Pinar and Hendrickson for all ranks together, as a root computes them that knows
/// the whole matrix, one phase at a time. It decides what the ranks would decide among themselves
/// with the same heuristic, seed and parking interval.

#include "schedule/apportionment.hpp"
#include "schedule/keyed_counts.hpp"
#include "schedule/parking.hpp"
#include "schedule/relaxation.hpp"
#include "schedule/transfers.hpp"
#include <valet/export.hpp>
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// How phases are made.
struct PhaseOptions {
  Heuristic heuristic = Heuristic::first_fit;
  /// Parking at every k-th phase: in phases k, 2k, ... counted from 1; 0 for never. MADRE's
  /// parking algorithm is first_fit with 1. Heuristic::continuous parks when its pieces are sent.
  std::uint64_t parking = 1;
  std::uint64_t seed = 1;  ///< for Heuristic::random and fortune_wheel
  /// Pairs of a rank that has blocks and one that they are for, that a PhaseScheduler may have room
  /// for, at least the transfers: of parking and of what Heuristic::continuous adds, all that would
  /// need more is left out.
  std::size_t most_pairs = static_cast<std::size_t>(-1);
};

/// Whether phase `phase`, counted from 1, has parking.
[[nodiscard]] inline bool parks_in(std::uint64_t phase, std::uint64_t parking) {
  return parking > 0 && phase % parking == 0;
}

/// Blocks that one rank sends to another in a phase.
struct Move {
  std::uint32_t source = 0;
  std::uint32_t place = 0;   ///< where they are received
  std::uint32_t target = 0;  ///< where they belong; another rank than `place` when they wait there
  std::uint64_t blocks = 0;
  [[nodiscard]] bool operator==(const Move&) const = default;
};

/// Makes the phases of one redistribution.
///
/// Memory, all of it through the ledger: bytes(ranks, pairs()), where pairs are the transfers at
/// first, and parking adds those of a rank where blocks wait and a rank they wait for.
class VALET_EXPORT PhaseScheduler {
 public:
  /// @param transfers  Sorted by (destination, source), no zeros, no diagonal; read only here.
  /// @param free       Free slots of every rank, scratch included: the number of ranks. Feasible
  ///                   (check_feasible).
  /// @param waiting_room  For Heuristic::continuous: of every rank; empty for no limit.
  PhaseScheduler(Ledger& ledger, std::span<const TransferEntry> transfers,
                 std::span<const std::uint64_t> free, const PhaseOptions& options,
                 std::span<const std::uint64_t> waiting_room = {});

  /// Plans the next phase. False when there is none: done() says whether all blocks are where they
  /// belong, or no block can move any more, which happens without parking only, and only where a
  /// rank ends without a free slot.
  /// @param starts  What every rank has now. Without it a rank has the slots that it had and those
  ///                that blocks left, and nothing limits what may wait there.
  bool next(std::span<const PhaseStart> starts = {});
  [[nodiscard]] bool done() const { return left_ == 0; }

  /// The phase planned last: by (source, place, target). Valid until next() is called again.
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  /// Messages of that phase: what moves between a pair of ranks is one.
  [[nodiscard]] std::uint64_t messages() const;

  /// Pairs that it had room for so far.
  [[nodiscard]] std::size_t pairs() const;
  /// Bytes at most of a scheduler that has room for so many pairs.
  [[nodiscard]] static std::size_t bytes(std::size_t ranks, std::size_t pairs);

 private:
  /// What a rank is to receive, by the sources; the target is another rank where it receives in
  /// place of that one.
  using Column = KeyedCounts<std::uint32_t>;

  enum class Stage {
    level,   ///< Heuristic::continuous: the phase before the pieces
    pieces,  ///< its pieces; what is received in another rank's place waits
    finish,  ///< all other heuristics, from the start
  };

  void fill_columns(std::span<const TransferEntry> transfers);
  /// What a rank has still to send, and what it is to receive in place of others.
  struct Left {
    std::uint64_t blocks = 0;
    std::uint64_t for_others = 0;
  };

  void receive();
  void park(std::span<const PhaseStart> starts);
  void count_left();
  void reroute(std::span<Flow> flows);
  void receive_for_others();
  [[nodiscard]] std::size_t pairs_left() const;
  void send_on();
  std::uint64_t take(std::uint32_t column, std::size_t entry, std::uint64_t wanted,
                     std::uint32_t place);
  void end_phase();

  PhaseOptions options_;
  Stage stage_ = Stage::finish;
  std::uint64_t phase_ = 0;
  std::uint64_t left_ = 0;  ///< blocks that are not where they belong
  std::uint64_t pieces_left_ = 0;
  Vector<Flow> levelling_;
  Vector<Flow> in_place_of_;
  Vector<Column> columns_;
  Vector<std::uint64_t> free_;
  Vector<ReceiverRandom> random_;
  Vector<std::uint64_t> credited_;
  Vector<std::uint64_t> sending_;  ///< blocks that each rank sends in this phase
  Vector<std::int64_t> balance_;
  Vector<Left> left_of_;  ///< per rank, for parking
  Vector<Flow> parking_;
  Vector<std::uint32_t> flow_of_;  ///< per rank: its first flow that is not done
  Column waiting_;                 ///< by substitute: blocks that it has received and not sent on
  Vector<Move> moves_;
};

}  // namespace valet::schedule
