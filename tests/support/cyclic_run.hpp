// SPDX-License-Identifier: BSD-3-Clause
#pragma once

// Carries cyclic schedules out on counts, independent of how they were made.

#include "tools/schedules.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace valet::test {

using schedule::Action;
using schedule::CyclicSchedule;
using schedule::no_rank;
using schedule::TransferEntry;
using schedule::TransferMatrix;

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

/// Ranks that meet for their messages.
class CyclicExecution {
 public:
  CyclicExecution(const TransferMatrix& matrix, std::span<const std::uint64_t> free,
                  const CyclicSchedule& schedule)
      : schedule_(schedule),
        next_(schedule.size(), 0),
        time_(schedule.size(), 0),
        free_(free.begin(), free.end()) {
    for (const TransferEntry& transfer : matrix.transfers())
      left_[{transfer.source, transfer.destination}] = transfer.blocks;
  }

  CyclicRun run() {
    bool moved = true;
    while (moved && run_.violation.empty()) {
      moved = false;
      for (std::uint32_t rank = 0; rank < schedule_.size() && run_.violation.empty(); ++rank)
        while (meet(rank)) moved = true;
    }
    for (std::uint32_t rank = 0; rank < schedule_.size(); ++rank) {
      if (front(rank) != nullptr) violate(rank, "waits for ever");
      run_.critical_path = std::max(run_.critical_path, time_[rank]);
    }
    for (const auto& [pair, blocks] : left_)
      if (blocks > 0)
        violate(pair.first, "keeps " + std::to_string(blocks) + " blocks for rank " +
                                std::to_string(pair.second));
    return run_;
  }

 private:
  [[nodiscard]] const Action* front(std::uint32_t rank) const {
    return next_[rank] < schedule_[rank].size() ? &schedule_[rank][next_[rank]] : nullptr;
  }

  void violate(std::uint32_t rank, const std::string& what) {
    if (run_.violation.empty()) run_.violation = "rank " + std::to_string(rank) + " " + what;
  }

  /// Carries out the next action of a rank with all who take part, if all have come to it.
  bool meet(std::uint32_t rank) {
    if (front(rank) == nullptr || !run_.violation.empty()) return false;
    std::uint32_t first = rank;  // the beginning of a shift; in a cycle, this rank itself
    for (std::uint32_t source = front(rank)->source; source != no_rank && source != rank;
         source = front(first)->source) {
      if (front(source) == nullptr || front(source)->destination != first) return false;
      first = source;
    }
    group_.assign(1, first);
    for (std::uint32_t to = front(first)->destination; to != no_rank && to != first;
         to = front(to)->destination) {
      if (front(to) == nullptr || front(to)->source != group_.back()) return false;
      group_.push_back(to);
    }
    if (front(first)->source != no_rank && front(first)->source != group_.back()) return false;
    carry_out();
    return run_.violation.empty();
  }

  void carry_out() {
    const Action common = *front(group_.front());
    std::uint64_t start = 0;
    for (const std::uint32_t rank : group_) start = std::max(start, time_[rank]);
    for (const std::uint32_t rank : group_) {
      const Action& action = *front(rank);
      if (action.blocks != common.blocks || action.message_blocks != common.message_blocks ||
          action.message_blocks == 0)
        violate(rank, "disagrees with its partners on blocks or increment");
      receive(rank, action);
      send(rank, action);
      ++run_.actions;
      time_[rank] = start + 1;
    }
    for (const std::uint32_t rank : group_) ++next_[rank];
  }

  void receive(std::uint32_t rank, const Action& action) {
    if (action.source == no_rank) return;
    // Who sends as well has its free slots back after every message.
    const bool sends = action.destination != no_rank;
    const std::uint64_t needed = sends ? action.message_blocks : action.blocks;
    const std::uint64_t room = sends ? std::max<std::uint64_t>(1, free_[rank]) : free_[rank];
    if (needed > room)
      violate(rank, "has " + std::to_string(free_[rank]) + " free slots for " +
                        std::to_string(needed) + " blocks");
    if (!sends) free_[rank] -= std::min(needed, free_[rank]);
  }

  void send(std::uint32_t rank, const Action& action) {
    if (action.destination == no_rank) return;
    std::uint64_t& left = left_[{rank, action.destination}];
    if (left < action.blocks)
      violate(rank, "has only " + std::to_string(left) + " blocks for rank " +
                        std::to_string(action.destination));
    left -= std::min(left, action.blocks);
    run_.volume += action.blocks;
    if (action.message_blocks > 0) run_.messages += (action.blocks - 1) / action.message_blocks + 1;
    if (action.source == no_rank) free_[rank] += action.blocks;
  }

  const CyclicSchedule& schedule_;
  std::vector<std::size_t> next_;
  std::vector<std::uint64_t> time_;
  std::vector<std::uint64_t> free_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> left_;
  std::vector<std::uint32_t> group_;
  CyclicRun run_;
};

/// Carries the actions out on counts, every rank its own in order, as ranks would that meet for
/// their messages. It is a violation when ranks wait for each other for ever, when an increment
/// does not fit into the free slots of a receiver (or the one block of scratch, where it is 1), and
/// when a rank has not sent every other what the matrix says.
inline CyclicRun run_cyclic(const TransferMatrix& matrix, std::span<const std::uint64_t> free,
                            const CyclicSchedule& schedule) {
  return CyclicExecution(matrix, free, schedule).run();
}

}  // namespace valet::test
