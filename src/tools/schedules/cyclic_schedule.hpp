// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Whole cyclic schedules, for analysis and tests.

#include "schedule/cyclic.hpp"
#include "tools/schedules/transfer_matrix.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace valet::schedule {

/// The actions of every rank.
using CyclicSchedule = std::vector<std::vector<Action>>;

/// What the root schedules for a matrix that it gets edge by edge. Local; O(nonzeros) memory.
/// @param free  Per rank, as CyclicRank::free. @param most_increment  CyclicRank's, of all ranks.
[[nodiscard]] CyclicSchedule record_cyclic(
    const TransferMatrix& matrix, std::span<const std::uint64_t> free, EdgeOrder order,
    std::uint32_t most_increment = std::numeric_limits<std::uint32_t>::max());

/// What a schedule costs.
struct CyclicCounts {
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;
  std::uint64_t volume = 0;
  std::uint64_t critical_path = 0;  ///< steps of the longest chain of actions, see Action::step
};
[[nodiscard]] CyclicCounts count_actions(const CyclicSchedule& schedule);

}  // namespace valet::schedule
