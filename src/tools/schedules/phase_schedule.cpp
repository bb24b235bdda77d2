// SPDX-License-Identifier: BSD-3-Clause
#include "tools/schedules/phase_schedule.hpp"

#include <map>

namespace valet::schedule {
namespace {

/// Blocks on one rank by the rank where they belong.
using Holding = std::map<std::uint32_t, std::uint64_t>;

std::string describe(const Move& move, std::size_t phase) {
  return "phase " + std::to_string(phase + 1) + ": " + std::to_string(move.blocks) +
         " blocks for rank " + std::to_string(move.target) + " from rank " +
         std::to_string(move.source) + " to rank " + std::to_string(move.place);
}

/// One phase: everything leaves and arrives at once.
std::optional<std::string> carry_out(const std::vector<Move>& moves, std::size_t phase,
                                     std::vector<Holding>& held, std::vector<std::uint64_t>& free) {
  for (const Move& move : moves) {
    if (move.source == move.place || move.source >= held.size() || move.place >= held.size())
      return describe(move, phase) + ": no such pair";
    std::uint64_t& there = held[move.source][move.target];
    if (there < move.blocks) return describe(move, phase) + ": it has " + std::to_string(there);
    there -= move.blocks;
    if (free[move.place] < move.blocks)
      return describe(move, phase) + ": it has room for " + std::to_string(free[move.place]);
    free[move.place] -= move.blocks;
  }
  for (const Move& move : moves) {
    held[move.place][move.target] += move.blocks;
    free[move.source] += move.blocks;
  }
  return std::nullopt;
}

}  // namespace

std::uint64_t count_messages(std::span<const Move> moves) {
  std::uint64_t count = 0;
  const Move* last = nullptr;
  for (const Move& move : moves) {
    if (last == nullptr || last->source != move.source || last->place != move.place) ++count;
    last = &move;
  }
  return count;
}

std::vector<PhaseStart> starts_with(std::span<const std::uint64_t> free) {
  std::vector<PhaseStart> starts;
  for (const std::uint64_t slots : free) starts.push_back({.free = slots});
  return starts;
}

PhaseCounts count_phases(const TransferMatrix& matrix, std::span<const std::uint64_t> free,
                         const PhaseOptions& options, std::uint64_t most_phases) {
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers(), starts_with(free), options);
  PhaseCounts counts;
  while (counts.phases < most_phases && scheduler.next()) {
    ++counts.phases;
    counts.messages += count_messages(scheduler.moves());
    for (const Move& move : scheduler.moves()) {
      counts.volume += move.blocks;
      if (move.place != move.target) counts.detours += move.blocks;
    }
  }
  counts.complete = scheduler.done();
  counts.stopped = !counts.complete && counts.phases == most_phases;
  return counts;
}

std::optional<std::string> find_violation(const TransferMatrix& matrix,
                                          std::span<const std::uint64_t> free,
                                          const PhaseSchedule& schedule) {
  std::vector<Holding> held(matrix.ranks());
  for (const TransferEntry& transfer : matrix.transfers())
    held[transfer.source][transfer.destination] += transfer.blocks;
  std::vector<std::uint64_t> free_now(free.begin(), free.end());
  for (std::size_t phase = 0; phase < schedule.size(); ++phase)
    if (auto violation = carry_out(schedule[phase], phase, held, free_now)) return violation;
  for (std::uint32_t rank = 0; rank < held.size(); ++rank)
    for (const auto& [target, blocks] : held[rank])
      if (target != rank && blocks > 0)
        return "at the end: " + std::to_string(blocks) + " blocks for rank " +
               std::to_string(target) + " are on rank " + std::to_string(rank);
  return std::nullopt;
}

}  // namespace valet::schedule
