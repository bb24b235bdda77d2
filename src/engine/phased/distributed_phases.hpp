// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Phases that the ranks negotiate among neighbours (Pinar and Hendrickson, "Interprocessor
/// Communication with Limited Memory", IEEE TPDS 15(7), 2004, Figure 7): every receiver divides its
/// free memory among its sources and sends them their shares. A root is asked for parking (Figure
/// 8), and for the start of Heuristic::continuous (section 4): it sees a few numbers per rank.
///
/// Without a root nobody knows all: each rank goes on until it has nothing to send and nothing to
/// receive, and may be some phases ahead of another.

#include "engine/phased/phases.hpp"
#include "mpi/word_lists.hpp"
#include "schedule/apportionment.hpp"
#include "schedule/keyed_counts.hpp"
#include "schedule/parking.hpp"

namespace valet::engine {

class DistributedPhases final : public Phases {
 public:
  DistributedPhases(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                    const PhaseProblem& problem);

  bool next(const PhaseStart& start, PhaseMoves& moves) override;
  void waits_here(int target, std::uint64_t blocks) override;

 private:
  /// Blocks that one side of a pair has for a target: the same entry on both sides. Of a row, the
  /// peer is the rank that receives them; of a column, the one that sends them. The target is the
  /// receiver, but where that receives in place of another rank.
  using Side = schedule::KeyedCounts<int>;
  using Key = Side::Key;
  /// What a rank that receives in place of another still owes it word of.
  using Debts = Vector<PeerBlocks>;

  /// Blocks of one source that a substitute receives in place of another rank.
  struct Handed {
    int source = 0;
    int substitute = 0;
    std::uint64_t blocks = 0;
  };

  void begin_continuous(const PhaseStart& start);
  void hand_over();
  void inform_sources(Vector<Handed>& handed);
  void inform_substitutes(Vector<Handed>& handed);
  void send_on();
  [[nodiscard]] std::uint64_t incoming_for_others() const;
  void receive(const PhaseStart& start, PhaseMoves& moves);
  void park(const PhaseStart& start, std::uint64_t incoming, std::uint64_t sending,
            PhaseMoves& moves);
  void reroute(PhaseMoves& moves);
  void inform_targets();
  void take_over_moved_sources();
  [[nodiscard]] bool idle() const;

  const mpi::Channel& channel_;
  Ledger& ledger_;
  const Options& options_;
  Side row_, column_;
  Vector<std::uint64_t> credited_;
  mpi::WordLists sent_words_, received_words_;
  schedule::ReceiverRandom random_;
  std::uint64_t phase_ = 0;
  std::uint64_t pieces_ = 0;  ///< Heuristic::continuous: still to be sent
  bool levels_ = false;       ///< the phase before the pieces comes next
  bool hands_over_ = false;
  bool all_done_ = false;          ///< sent by the root
  Vector<schedule::Flow> giving_;  ///< from this rank, as the root matched them
  Vector<schedule::Flow> taking_;
  Vector<schedule::Flow> replaced_;   ///< Heuristic::continuous: others receive in our place
  Vector<schedule::Flow> replacing_;  ///< we receive in place of others
  struct Parked {
    int place = 0;
    int target = 0;
    std::uint64_t blocks = 0;
  };
  Vector<Parked> parked_;     ///< by this rank in this phase
  Vector<PeerBlocks> moved_;  ///< blocks for this rank that have a new source after the phase
  Debts to_report_, to_learn_;
  Vector<PeerBlocks> waiting_;     ///< blocks that wait here and are not reported
  Vector<PeerBlocks> handed_now_;  ///< in this phase, credited in place of others
};

}  // namespace valet::engine
