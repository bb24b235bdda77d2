// SPDX-License-Identifier: BSD-3-Clause
#include "tools/schedules.hpp"

#include "tools/errors.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace valet::schedule {
namespace {

using tools::fail;
using tools::refuse;

std::uint64_t ceil_quotient(std::uint64_t numerator, std::uint64_t denominator) {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

void check_ranks(std::uint32_t ranks, const TransferEntry& transfer) {
  if (transfer.source < ranks && transfer.destination < ranks) return;
  fail(ErrorCode::rank_out_of_range, "transfer from rank ", transfer.source, " to rank ",
       transfer.destination, ", but there are ", ranks, " ranks");
}

/// `sum` plus `blocks`, while it stays within most_blocks.
std::uint64_t checked_sum(std::uint64_t sum, std::uint64_t blocks, const char* what) {
  if (blocks <= most_blocks - sum) return sum + blocks;
  refuse("more than 2^60 ", what, " in all: use a larger block as the unit");
}

/// Blocks on one rank by the rank where they belong.
using Holding = std::map<std::uint32_t, std::uint64_t>;

std::string describe(const Move& move, std::size_t phase) {
  return joined("phase ", phase + 1, ": ", move.blocks, " blocks for rank ", move.target,
                " from rank ", move.source, " to rank ", move.receiver);
}

/// One phase: everything leaves and arrives at once.
std::optional<std::string> carry_out(const std::vector<Move>& moves, std::size_t phase,
                                     std::vector<Holding>& held, std::vector<std::uint64_t>& free) {
  for (const Move& move : moves) {
    if (move.source == move.receiver || move.source >= held.size() || move.receiver >= held.size())
      return describe(move, phase) + ": no such pair";
    std::uint64_t& there = held[move.source][move.target];
    if (there < move.blocks) return describe(move, phase) + ": it has " + std::to_string(there);
    there -= move.blocks;
    if (free[move.receiver] < move.blocks)
      return describe(move, phase) + ": it has room for " + std::to_string(free[move.receiver]);
    free[move.receiver] -= move.blocks;
  }
  for (const Move& move : moves) {
    held[move.receiver][move.target] += move.blocks;
    free[move.source] += move.blocks;
  }
  return std::nullopt;
}

/// A root that has the edges of all ranks at hand.
class Recorder final : public CyclicLink {
 public:
  Recorder(const TransferMatrix& matrix, EdgeOrder order)
      : edges_(matrix.ranks()), next_(matrix.ranks(), 0), schedule_(matrix.ranks()) {
    for (const TransferEntry& transfer : matrix.transfers())  // by destination
      edges_[transfer.source].push_back({transfer.destination, transfer.blocks});
    if (order == EdgeOrder::ascending) return;
    for (std::uint32_t rank = 0; rank < matrix.ranks(); ++rank) {
      std::vector<Edge>& edges = edges_[rank];
      const auto behind = std::ranges::upper_bound(edges, rank, {}, &Edge::destination);
      std::rotate(edges.begin(), behind, edges.end());
    }
  }

  [[nodiscard]] std::uint32_t edges(std::uint32_t rank) const {
    return static_cast<std::uint32_t>(edges_[rank].size());
  }
  Edge next_edge(std::uint32_t rank) override { return edges_[rank].at(next_[rank]++); }
  void schedule(std::uint32_t rank, const Action& action) override {
    schedule_[rank].push_back(action);
  }
  CyclicSchedule take_schedule() { return std::move(schedule_); }

 private:
  std::vector<std::vector<Edge>> edges_;
  std::vector<std::size_t> next_;
  CyclicSchedule schedule_;
};

}  // namespace

TransferMatrix::TransferMatrix(std::uint32_t ranks, std::vector<TransferEntry> transfers)
    : ranks_(ranks), transfers_(std::move(transfers)) {
  for (const TransferEntry& transfer : transfers_) check_ranks(ranks, transfer);
  std::erase_if(transfers_, [](const TransferEntry& transfer) {
    return transfer.source == transfer.destination || transfer.blocks == 0;
  });
  std::ranges::sort(transfers_, {}, [](const TransferEntry& each) {
    return std::tie(each.destination, each.source);
  });
  std::size_t kept = 0;
  for (const TransferEntry& transfer : transfers_) {
    volume_ = checked_sum(volume_, transfer.blocks, "blocks to move");
    const bool same = kept > 0 && transfers_[kept - 1].source == transfer.source &&
                      transfers_[kept - 1].destination == transfer.destination;
    if (same)
      transfers_[kept - 1].blocks += transfer.blocks;
    else
      transfers_[kept++] = transfer;
  }
  transfers_.resize(kept);
}

std::vector<RankTotals> TransferMatrix::totals(std::span<const std::uint64_t> free) const {
  std::vector<RankTotals> totals(ranks_);
  for (const TransferEntry& transfer : transfers_) {
    totals[transfer.source].sent += transfer.blocks;
    totals[transfer.destination].received += transfer.blocks;
  }
  for (std::size_t rank = 0; rank < totals.size(); ++rank) totals[rank].free = free[rank];
  return totals;
}

void check_feasible(const TransferMatrix& matrix, std::span<const std::uint64_t> free) {
  if (free.size() != matrix.ranks())
    refuse("free slots are given for ", free.size(), " ranks, but ", matrix.ranks(), " take part");
  std::uint64_t all_free = 0;
  for (const std::uint64_t slots : free) all_free = checked_sum(all_free, slots, "free slots");
  const std::vector<RankTotals> totals = matrix.totals(free);
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    const RankTotals& one = totals[rank];
    if (one.free + one.sent >= one.received) continue;
    fail(ErrorCode::infeasible, "rank ", rank, " receives ", one.received, " blocks, sends ",
         one.sent, " and has ", one.free, " free slots: it needs ",
         one.received - one.sent - one.free, " more");
  }
  if (all_free == 0 && matrix.volume() > 0)
    fail(ErrorCode::infeasible,
         "no rank has a free slot, so no block can move: give at least one free slot to one rank "
         "(scratch counts)");
}

std::vector<std::uint64_t> least_free(const TransferMatrix& matrix, std::uint64_t extra) {
  std::vector<std::uint64_t> free(matrix.ranks(), 0);
  const std::vector<RankTotals> totals = matrix.totals(free);
  for (std::size_t rank = 0; rank < free.size(); ++rank)
    free[rank] = std::max(totals[rank].received, totals[rank].sent) - totals[rank].sent + extra;
  return free;
}

PhaseBounds phase_bounds(std::uint64_t volume, std::uint64_t free) {
  if (volume == 0) return {};
  return {.lower = ceil_quotient(volume, free),
          .published = ceil_quotient(3 * volume, 2 * free) + 1,
          .upper = ceil_quotient(2 * volume, free) + 1};
}

PhaseBounds phase_bounds(const TransferMatrix& matrix, std::span<const std::uint64_t> free) {
  return phase_bounds(matrix.volume(), std::accumulate(free.begin(), free.end(), std::uint64_t{0}));
}

std::uint64_t count_messages(std::span<const Move> moves) {
  std::uint64_t count = 0;
  const Move* last = nullptr;
  for (const Move& move : moves) {
    if (last == nullptr || last->source != move.source || last->receiver != move.receiver) ++count;
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
                         const PhasedOptions& options, std::uint64_t most_phases) {
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers(), starts_with(free), options);
  PhaseCounts counts;
  while (counts.phases < most_phases && scheduler.next()) {
    ++counts.phases;
    counts.messages += count_messages(scheduler.moves());
    for (const Move& move : scheduler.moves()) {
      counts.volume += move.blocks;
      if (move.receiver != move.target) counts.detours += move.blocks;
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
        return joined("at the end: ", blocks, " blocks for rank ", target, " are on rank ", rank);
  return std::nullopt;
}

CyclicSchedule record_cyclic(const TransferMatrix& matrix, std::span<const std::uint64_t> free,
                             EdgeOrder order, std::uint32_t most_message_blocks) {
  Recorder recorder(matrix, order);
  Ledger ledger;
  CyclicScheduler scheduler(ledger, matrix.ranks());
  for (std::uint32_t rank = 0; rank < matrix.ranks(); ++rank)
    scheduler.set(rank, {.edges = recorder.edges(rank),
                         .most_message_blocks = most_message_blocks,
                         .free = free[rank]});
  scheduler.run(recorder);
  return recorder.take_schedule();
}

CyclicCounts count_actions(const CyclicSchedule& schedule) {
  CyclicCounts counts;
  for (const std::vector<Action>& actions : schedule)
    for (const Action& action : actions) {
      ++counts.actions;
      counts.critical_path = std::max<std::uint64_t>(counts.critical_path, action.step + 1);
      if (action.destination == no_rank) continue;
      counts.volume += action.blocks;
      counts.messages += (action.blocks - 1) / action.message_blocks + 1;
    }
  return counts;
}

Relaxation relax(std::span<const RankTotals> totals) {
  Relaxation solution{.pieces = equal_phases_of(totals)};
  if (solution.pieces == 0) return solution;
  std::vector<std::int64_t> balance;
  for (const RankTotals& rank : totals) balance.push_back(lacking(rank, solution.pieces));
  std::vector<double> given(totals.size(), 0);
  const auto parts = static_cast<double>(solution.pieces + 1);
  match_in_order(balance, [&](const Match& match) {
    const double blocks = static_cast<double>(match.blocks) / parts;
    given[match.from] += blocks;
    given[match.to] -= blocks;
    solution.blocks_after += blocks;
  });
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const double sent =
        static_cast<double>(totals[i].sent) - static_cast<double>(totals[i].received) + given[i];
    // A send and a receive of the same rank cancel each other.
    solution.blocks_before += std::max(0.0, sent);
    solution.volume += static_cast<double>(totals[i].received);
  }
  solution.volume += solution.blocks_before + solution.blocks_after;
  return solution;
}

}  // namespace valet::schedule
