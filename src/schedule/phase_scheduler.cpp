// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/phase_scheduler.hpp"

#include <algorithm>
#include <tuple>

namespace valet::schedule {
namespace {

/// Calls handle(rank, matches) for the matches of each rank, which follow one another.
template <class Handle>
void for_ranks(std::span<Match> matches, std::uint32_t Match::*end, Handle&& handle) {
  for (auto first = matches.begin(); first != matches.end();) {
    const std::uint32_t rank = (*first).*end;
    const auto last =
        std::find_if(first, matches.end(), [&](const Match& match) { return match.*end != rank; });
    handle(rank, std::span<Match>(first, last));
    first = last;
  }
}

}  // namespace

PhaseScheduler::PhaseScheduler(Ledger& ledger, std::span<const TransferEntry> transfers,
                               std::span<const PhaseStart> starts, const PhasedOptions& options,
                               std::size_t most_pairs)
    : heuristic_(options.heuristic),
      parks_every_(options.parking),
      most_pairs_(most_pairs),
      before_(ledger),
      after_(ledger),
      ranks_(ledger),
      starts_(starts.begin(), starts.end(), ledger),
      sending_(starts.size(), 0, ledger),
      balance_(starts.size(), 0, ledger),
      parking_(ledger),
      counts_(ledger),
      moves_(ledger) {
  ranks_.reserve(starts.size());
  for (std::uint32_t rank = 0; rank < starts.size(); ++rank)
    ranks_.emplace_back(ledger, options.seed, rank);
  parking_.reserve(starts.size());
  moves_.reserve((most_pairs == unlimited ? transfers.size() : most_pairs) + starts.size());
  fill(transfers);
  if (options.heuristic == Heuristic::continuous) relax();
}

/// Counted first, so that nothing grows by doubling.
void PhaseScheduler::fill(std::span<const TransferEntry> transfers) {
  const auto reserve = [&](KeyedCounts PhasedRank::*side, std::uint32_t TransferEntry::*end) {
    std::fill(sending_.begin(), sending_.end(), std::uint64_t{0});
    for (const TransferEntry& transfer : transfers) ++sending_[transfer.*end];
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
      (ranks_[rank].*side).reserve(static_cast<std::size_t>(sending_[rank]));
  };
  reserve(&PhasedRank::row, &TransferEntry::source);
  reserve(&PhasedRank::column, &TransferEntry::destination);
  for (const auto& [source, target, blocks] : transfers) {
    ranks_[source].row.append({target, target}, blocks);
    ranks_[target].column.append({source, target}, blocks);
    left_ += blocks;
  }
}

void PhaseScheduler::relax() {
  Ledger& ledger = ranks_.get_allocator().ledger();
  Vector<RankTotals> totals(ledger);
  totals.reserve(ranks_.size());
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    totals.push_back({ranks_[rank].row.sum(), ranks_[rank].column.sum(), starts_[rank].free,
                      starts_[rank].waiting_room});
  ContinuousMatches matches = continuous_matches(ledger, totals);
  equal_phases_ = matches.equal_phases;
  before_ = std::move(matches.before);
  after_ = std::move(matches.after);
}

std::size_t PhaseScheduler::pairs() const {
  std::size_t rows = 0;
  std::size_t columns = 0;
  for (const PhasedRank& rank : ranks_) {
    rows += rank.row.keys.capacity();
    columns += rank.column.keys.capacity();
  }
  return std::max(rows, columns);
}

std::size_t PhaseScheduler::pairs_left() const {
  return most_pairs_ - std::min(most_pairs_, pairs());
}

std::size_t PhaseScheduler::bytes(std::size_t ranks, std::size_t pairs) {
  constexpr std::size_t per_rank = sizeof(PhasedRank) + sizeof(PhaseStart) + sizeof(std::uint64_t) +
                                   sizeof(std::int64_t) + sizeof(Match) + sizeof(Move);
  // The totals and matches of the relaxation.
  constexpr std::size_t continuous = sizeof(RankTotals) + sizeof(std::int64_t) + 2 * sizeof(Match);
  // A row or a column may have them all. When it grows, its keys or its counts are there twice.
  constexpr std::size_t per_list = 2 * sizeof(std::uint64_t);
  constexpr std::size_t per_pair =
      2 * (sizeof(PhasedRank::Key) + sizeof(std::uint64_t)) + sizeof(Move) + per_list;
  return ranks * (per_rank + continuous) + pairs * per_pair;
}

/// Reserves the slots at once; those that the blocks leave are free when the phase ends.
void PhaseScheduler::move(const Move& move) {
  moves_.push_back(move);
  starts_[move.receiver].free -= move.blocks;
  sending_[move.source] += move.blocks;
  if (move.receiver == move.target) left_ -= move.blocks;
}

void PhaseScheduler::receive(std::uint64_t equal_phases) {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].credit(heuristic_, starts_[rank].free, equal_phases, counts_,
                        [&](const PhasedRank::Key& key, std::uint64_t blocks) {
                          if (blocks == 0) return;
                          ranks_[key.peer].row.add({rank, key.target}, std::uint64_t{0} - blocks);
                          move({key.peer, rank, key.target, blocks});
                        });
}

void PhaseScheduler::park() {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    balance_[rank] = ranks_[rank].balance(starts_[rank], sending_[rank]);
  parking_.clear();
  match_in_order(balance_, [&](const Match& match) { parking_.push_back(match); });
  reroute(parking_);
}

/// Sends what the matches say. Leaves out that for which memory for pairs or moves would have to
/// grow.
void PhaseScheduler::reroute(std::span<Match> matches) {
  std::size_t moves_left = most_pairs_ == unlimited
                               ? unlimited
                               : std::min(pairs_left(), moves_.capacity() - moves_.size());
  for_ranks(matches, &Match::from, [&](std::uint32_t rank, std::span<Match> own) {
    KeyedCounts& row = ranks_[rank].row;
    ranks_[rank].choose_parked(
        own, counts_, [&](std::size_t entry, std::uint32_t receiver, std::uint64_t blocks) {
          if (moves_left == 0) return;
          --moves_left;
          const std::uint32_t target = row.keys[entry].target;
          row.counts[entry] -= blocks;
          ranks_[target].sent_to(rank, receiver, blocks);
          if (receiver != target) ranks_[receiver].parked_here(target, blocks);
          move({rank, receiver, target, blocks});
        });
  });
}

/// Hands over the duty to receive, as far as memory for pairs need not grow: a match adds one to
/// the row of the substitute when it receives, and one there and to a column when it reports.
void PhaseScheduler::hand_over() {
  std::size_t left = pairs_left();
  left -= std::min(left, 2 * after_.size());
  for_ranks(after_, &Match::to, [&](std::uint32_t rank, std::span<Match> own) {
    KeyedCounts& column = ranks_[rank].column;
    ranks_[rank].choose_handed(
        own, counts_, [&](std::size_t entry, std::uint32_t substitute, std::uint64_t blocks) {
          if (left == 0) return;
          --left;
          const std::uint32_t source = column.keys[entry].peer;
          column.counts[entry] -= blocks;
          ranks_[source].goes_to_substitute(rank, substitute, blocks);
          ranks_[substitute].replaces(rank, source, blocks);
        });
  });
  after_.clear();
}

void PhaseScheduler::report_waiting() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].report_waiting([&](std::uint32_t target, std::uint64_t blocks) {
      ranks_[target].column.add({rank, target}, blocks);
    });
}

void PhaseScheduler::end_phase() {
  for (const Move& move : moves_) starts_[move.source].free += move.blocks;
  for (PhasedRank& rank : ranks_) rank.drop_zeros();
  std::ranges::sort(moves_, {}, [](const Move& each) {
    return std::tie(each.source, each.receiver, each.target);
  });
}

bool PhaseScheduler::next() {
  moves_.clear();
  std::fill(sending_.begin(), sending_.end(), std::uint64_t{0});
  if (done()) return false;
  ++phase_;
  bool is_last = false;
  if (!before_.empty()) {
    reroute(before_);
    before_.clear();
  } else {
    hand_over();
    if (equal_phases_ > 0) {
      receive(equal_phases_--);
    } else {
      if (heuristic_ == Heuristic::continuous) report_waiting();
      receive(0);
      const bool parks = parks_in(phase_, parks_every_);
      if (parks) park();
      is_last = moves_.empty() && (parks_every_ == 0 || parks);
    }
  }
  end_phase();
  return !is_last;
}

}  // namespace valet::schedule
