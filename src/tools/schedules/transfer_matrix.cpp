// SPDX-License-Identifier: BSD-3-Clause
#include "tools/schedules/transfer_matrix.hpp"

#include <valet/error.hpp>

#include <algorithm>
#include <string>
#include <tuple>

namespace valet::schedule {
namespace {

std::uint64_t ceil_quotient(std::uint64_t numerator, std::uint64_t denominator) {
  return numerator / denominator + (numerator % denominator != 0 ? 1 : 0);
}

void check_ranks(std::uint32_t ranks, const TransferEntry& transfer) {
  if (transfer.source < ranks && transfer.destination < ranks) return;
  throw Error(ErrorCode::rank_out_of_range,
              "transfer from rank " + std::to_string(transfer.source) + " to rank " +
                  std::to_string(transfer.destination) + ", but there are " +
                  std::to_string(ranks) + " ranks");
}

/// `sum` plus `blocks`, while it stays within most_blocks.
std::uint64_t checked_sum(std::uint64_t sum, std::uint64_t blocks, const char* what) {
  if (blocks <= most_blocks - sum) return sum + blocks;
  throw Error(ErrorCode::invalid_argument,
              std::string("more than 2^60 ") + what + " in all: use a larger block as the unit");
}

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
    throw Error(ErrorCode::invalid_argument, "free slots are given for " +
                                                 std::to_string(free.size()) + " ranks, but " +
                                                 std::to_string(matrix.ranks()) + " take part");
  std::uint64_t all_free = 0;
  for (const std::uint64_t slots : free) all_free = checked_sum(all_free, slots, "free slots");
  const std::vector<RankTotals> totals = matrix.totals(free);
  for (std::size_t rank = 0; rank < totals.size(); ++rank) {
    const RankTotals& one = totals[rank];
    if (one.free + one.sent >= one.received) continue;
    throw Error(ErrorCode::infeasible,
                "rank " + std::to_string(rank) + " receives " + std::to_string(one.received) +
                    " blocks, sends " + std::to_string(one.sent) + " and has " +
                    std::to_string(one.free) + " free slots: it needs " +
                    std::to_string(one.received - one.sent - one.free) + " more");
  }
  if (all_free == 0 && matrix.volume() > 0)
    throw Error(ErrorCode::infeasible,
                "no rank has a free slot, so no block can move: give at least one free slot to "
                "one rank (scratch counts)");
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

}  // namespace valet::schedule
