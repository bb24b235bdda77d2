// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Whole cyclic schedules, for analysis and tests.

#include "schedule/cyclic.hpp"
#include "schedule/transfer_matrix.hpp"
#include <valet/export.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace valet::schedule {

/// The actions of every rank.
using CyclicSchedule = std::vector<std::vector<Action>>;

/// What the root schedules for a matrix that it gets edge by edge. Local; O(nonzeros) memory.
/// @param free  Per rank, as CyclicRank::free. @param most_increment  CyclicRank's, of all ranks.
[[nodiscard]] VALET_EXPORT CyclicSchedule
record_cyclic(const TransferMatrix& matrix, std::span<const std::uint64_t> free, EdgeOrder order,
              std::uint32_t most_increment = std::numeric_limits<std::uint32_t>::max());

/// What carrying a schedule out comes to.
struct CyclicRun {
  std::string violation;  ///< empty when all went well; otherwise what went wrong first
  std::uint64_t actions = 0;
  std::uint64_t messages = 0;
  std::uint64_t volume = 0;
  /// Steps of the longest chain of actions that wait for each other, each action one step: all
  /// ranks of a cycle or shift begin together, when the last of them has ended what it did before.
  std::uint64_t critical_path = 0;
};

/// Carries the actions out on counts, every rank its own in order, as ranks would that meet for
/// their messages. It is a violation when ranks wait for each other for ever, when an increment
/// does not fit into the free slots of a receiver (or the one block of scratch, where it is 1), and
/// when a rank has not sent every other what the matrix says.
[[nodiscard]] VALET_EXPORT CyclicRun run_cyclic(const TransferMatrix& matrix,
                                                std::span<const std::uint64_t> free,
                                                const CyclicSchedule& schedule);

}  // namespace valet::schedule
