// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Phases that rank 0 makes from the whole matrix (Pinar and Hendrickson section 6.1): gather,
/// solve, scatter. One phase is scattered at a time, so that no schedule is stored, and the ranks
/// send the root what memory they have before each.

#include "engine/phased/phases.hpp"
#include "schedule/phase_scheduler.hpp"
#include <valet/error.hpp>
#include <valet/storage_backend.hpp>

#include <optional>

namespace valet::engine {

class CentralizedPhases final : public Phases {
 public:
  /// Collective: gathers. Counts the seconds of its parts in `report`.
  CentralizedPhases(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                    const PhaseProblem& problem, std::size_t schedule_bytes, Report& report);

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

/// Whether rank 0 has room for its schedule in its budget. Collective.
/// @param transfers    Ranks that this rank sends to.
/// @param least_bytes  Of the budget, for everything else.
/// @param reserved     On the root: gets the bytes to take off the budget.
/// @return What this rank finds wrong, if anything.
[[nodiscard]] std::optional<Diagnostic> find_room_for_schedule(
    const mpi::Channel& channel, Ledger& ledger, const Options& options, std::uint64_t transfers,
    std::size_t least_bytes, std::size_t& reserved);

}  // namespace valet::engine
