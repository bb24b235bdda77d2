// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The phases of Pinar and Hendrickson for all ranks together, as a root computes them that knows
/// the whole matrix, one phase at a time. It decides what the ranks would decide among themselves
/// with the same heuristic, seed and parking interval.

#include <valet/export.hpp>
#include <valet/schedule/apportionment.hpp>
#include <valet/schedule/heuristic.hpp>
#include <valet/schedule/keyed_counts.hpp>
#include <valet/schedule/parking.hpp>
#include <valet/schedule/relaxation.hpp>
#include <valet/schedule/transfer_matrix.hpp>
#include <valet/storage/ledger.hpp>

#include <cstdint>
#include <span>

namespace valet::schedule {

/// How phases are made.
struct PhaseOptions {
  Heuristic heuristic = Heuristic::first_fit;
  /// Parking at every k-th phase: in phases k, 2k, ... counted from 1; 0 for never. MADRE's
  /// parking algorithm is first_fit with 1. Heuristic::continuous parks when its pieces are sent.
  std::uint64_t parking = 1;
  std::uint64_t seed = 1;  ///< of Heuristic::random and fortune_wheel
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
/// Memory, all of it through the ledger: bytes(ranks, nonzeros) at first, and what parking adds: 24
/// bytes (twice that while a list grows) for every pair of a rank where blocks wait and a rank they
/// wait for. The ledger has the sum after every phase; a caller with a limit looks there.
class VALET_EXPORT PhaseScheduler {
 public:
  /// @param transfers  Sorted by (destination, source), no zeros, no diagonal; read only here.
  /// @param free       Free slots of every rank, scratch included: the number of ranks. Feasible
  ///                   (check_feasible).
  PhaseScheduler(Ledger& ledger, std::span<const TransferEntry> transfers,
                 std::span<const std::uint64_t> free, const PhaseOptions& options);

  /// Plans the next phase. False when there is none: done() says whether all blocks are where they
  /// belong, or no block can move any more, which happens without parking only, and only where a
  /// rank ends without a free slot.
  bool next();
  [[nodiscard]] bool done() const { return left_ == 0; }

  /// The phase planned last: by (source, place, target). Valid until next() is called again.
  [[nodiscard]] std::span<const Move> moves() const { return moves_; }
  /// Messages of that phase: what moves between a pair of ranks is one.
  [[nodiscard]] std::uint64_t messages() const;

  /// Bytes of a scheduler before its first phase, and of its moves.
  [[nodiscard]] static std::size_t bytes(std::size_t ranks, std::size_t nonzeros);

 private:
  struct Incoming {
    std::uint32_t source;
    std::uint32_t target;  ///< not this rank: it receives in place of that one
    [[nodiscard]] bool operator==(const Incoming&) const = default;
    [[nodiscard]] bool operator<(const Incoming& other) const {
      return source != other.source ? source < other.source : target < other.target;
    }
  };
  using Column = KeyedCounts<Incoming>;  ///< what a rank is to receive

  enum class Stage {
    level,   ///< Heuristic::continuous: the phase before the pieces
    pieces,  ///< its pieces; what is received in another rank's place waits
    finish,  ///< all other heuristics, from the start
  };

  void fill_columns(std::span<const TransferEntry> transfers);
  void receive();
  void park();
  void reroute(std::span<Flow> flows);
  void receive_for_others();
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
  Vector<std::uint64_t> granted_;
  Vector<std::uint64_t> sending_;  ///< blocks that each rank sends in this phase
  Vector<std::int64_t> balance_;
  Vector<Flow> parking_;
  Vector<std::uint32_t> flow_of_;  ///< per rank: its first flow that is not done
  Vector<Move> waiting_;           ///< source: who has received them, place and target: for whom
  Vector<Move> moves_;
};

}  // namespace valet::schedule
