// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Phases that the ranks negotiate among neighbours (Pinar and Hendrickson, "Interprocessor
/// Communication with Limited Memory", IEEE TPDS 15(7), 2004, Figure 7): every receiver divides its
/// free memory among its sources and sends them their shares. A root is asked for parking (Figure
/// 8), and for the start of Heuristic::continuous (section 4): it sees a few numbers per rank. What
/// a rank decides is in schedule/phased_rank.hpp; here it is sent to those who have to know.
///
/// Without a root nobody knows all: each rank goes on until it has nothing to send and nothing to
/// receive, and may be some phases ahead of another.

#include "engine/phased/phases.hpp"
#include "plan/flows.hpp"
#include "schedule/phased_rank.hpp"

namespace valet::engine {

class DistributedPhases final : public Phases {
 public:
  DistributedPhases(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                    const plan::Flows& flows, const PhaseStart& start);

  bool next(const PhaseStart& start, PhaseMoves& moves) override;
  void waits_here(int target, std::uint64_t blocks) override {
    own_.parked_here(static_cast<std::uint32_t>(target), blocks);
  }

 private:
  /// What a rank is told: so many blocks go to `peer`, or come from it.
  struct Word {
    std::uint32_t to = 0;
    std::uint32_t peer = 0;
    std::uint64_t blocks = 0;
  };

  [[nodiscard]] std::uint32_t self() const { return static_cast<std::uint32_t>(channel_.rank()); }
  void begin_continuous(const PhaseStart& start);
  void receive(PhaseStart& left, PhaseMoves& moves);
  void park(const PhaseStart& left, PhaseMoves& moves);
  void reroute(PhaseMoves& moves);
  void hand_over();
  void report_waiting();
  template <class Receivers, class Senders, class Hear>
  void tell(Vector<Word>& words, Receivers&& receivers, Senders&& senders, Hear&& hear);

  const mpi::Channel& channel_;
  Ledger& ledger_;
  const PhasedOptions& options_;
  schedule::PhasedRank own_;
  Vector<std::uint64_t> counts_;  ///< of the row or column at hand
  std::uint64_t phase_ = 0;
  std::uint64_t pieces_ = 0;  ///< Heuristic::continuous: still to be sent
  bool levels_ = false;       ///< the phase before the pieces comes next
  bool hands_over_ = false;
  bool all_done_ = false;          ///< sent by the root
  Vector<schedule::Flow> giving_;  ///< from this rank, as the root matched them
  Vector<schedule::Flow> taking_;
  Vector<schedule::Flow> replaced_;     ///< Heuristic::continuous: others receive in our place
  Vector<schedule::Flow> replacing_;    ///< we receive in place of others
  schedule::KeyedCounts to_learn_;      ///< by substitute: what it has not reported yet
  schedule::KeyedCounts replaced_now_;  ///< by target: what we receive in its place in this phase
};

}  // namespace valet::engine
