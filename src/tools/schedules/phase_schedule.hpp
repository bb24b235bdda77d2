// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Whole schedules of phases, for analysis and tests.

#include "schedule/phase_scheduler.hpp"
#include "tools/schedules/transfer_matrix.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace valet::schedule {

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
                                       const PhaseOptions& options,
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

}  // namespace valet::schedule
