// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Phases that rank 0 makes from the whole matrix (Pinar and Hendrickson section 6.1): gather,
/// solve, scatter. One phase is scattered at a time, so that no schedule is stored, and the ranks
/// send the root what memory they have before each.

#include "engine/phased/phases.hpp"
#include "plan/flows.hpp"
#include "schedule/phase_scheduler.hpp"

namespace valet::engine {

class CentralizedPhases final : public Phases {
 public:
  /// Collective: gathers. Counts the seconds of its parts in `report`.
  CentralizedPhases(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                    const plan::Flows& flows, const PhaseStart& begin, std::size_t schedule_bytes,
                    Report& report);

  bool next(const PhaseStart& start, PhaseMoves& moves) override;
  void waits_here(int, std::uint64_t) override {}

 private:
  bool solve(const PhaseStart& start);
  void scatter(PhaseMoves& moves);

  const mpi::Channel& channel_;
  Ledger& ledger_;
  Report& report_;
  std::unique_ptr<schedule::PhaseScheduler> scheduler_;  ///< on the root
};

/// What the schedule of all ranks takes of the budget of rank 0; nothing on the others.
struct ScheduleNeed {
  std::uint64_t transfers = 0;  ///< of all ranks
  std::size_t least_bytes = 0;
  std::size_t wanted_bytes = 0;  ///< with room for what parking adds
};
/// Collective.
/// @param transfers  Ranks that this rank sends to.
[[nodiscard]] ScheduleNeed schedule_need(const mpi::Channel& channel, Ledger& ledger,
                                         const Options& options, std::uint64_t transfers);

}  // namespace valet::engine
