// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/phase_scheduler.hpp"

#include <algorithm>
#include <tuple>
#include <vector>

namespace valet::schedule {

PhaseScheduler::PhaseScheduler(Ledger& ledger, std::span<const TransferEntry> transfers,
                               std::span<const std::uint64_t> free, const PhaseOptions& options,
                               std::span<const std::uint64_t> waiting_room)
    : options_(options),
      levelling_(ledger),
      in_place_of_(ledger),
      columns_(ledger),
      free_(free.begin(), free.end(), ledger),
      random_(ledger),
      credited_(ledger),
      sending_(free.size(), 0, ledger),
      balance_(free.size(), 0, ledger),
      left_of_(options.parking > 0 ? free.size() : 0, Left{}, ledger),
      parking_(ledger),
      flow_of_(free.size(), 0, ledger),
      waiting_(ledger),
      moves_(ledger) {
  columns_.reserve(free.size());
  random_.reserve(free.size());
  for (std::uint32_t rank = 0; rank < free.size(); ++rank) {
    columns_.emplace_back(ledger);
    random_.emplace_back(options.seed, rank);
  }
  credited_.reserve(free.size());
  parking_.reserve(free.size());
  const bool limited = options.most_pairs != PhaseOptions().most_pairs;
  moves_.reserve((limited ? options.most_pairs : transfers.size()) + free.size());
  fill_columns(transfers);
  if (options.heuristic == Heuristic::continuous) {
    Vector<RankTotals> totals(free.size(), RankTotals{}, ledger);
    for (std::size_t rank = 0; rank < free.size(); ++rank) totals[rank].free = free[rank];
    for (std::size_t rank = 0; rank < waiting_room.size(); ++rank)
      totals[rank].waiting_room = waiting_room[rank];
    for (const TransferEntry& transfer : transfers) {
      totals[transfer.source].sent += transfer.blocks;
      totals[transfer.destination].received += transfer.blocks;
    }
    ContinuousFlows flows = continuous_flows(ledger, totals);
    pieces_left_ = flows.pieces;
    levelling_ = std::move(flows.before);
    in_place_of_ = std::move(flows.after);
    stage_ = Stage::level;
  }
}

void PhaseScheduler::fill_columns(std::span<const TransferEntry> transfers) {
  for (auto first = transfers.begin(); first != transfers.end();) {
    const std::uint32_t destination = first->destination;
    const auto last = std::find_if(first, transfers.end(), [&](const TransferEntry& transfer) {
      return transfer.destination != destination;
    });
    Column& column = columns_[destination];
    column.keys.reserve(static_cast<std::size_t>(last - first));
    column.counts.reserve(static_cast<std::size_t>(last - first));
    for (; first != last; ++first) {
      column.keys.push_back({first->source, destination});
      column.counts.push_back(first->blocks);
      left_ += first->blocks;
    }
  }
}

std::size_t PhaseScheduler::pairs() const {
  std::size_t sum = 0;
  for (const Column& column : columns_) sum += column.keys.capacity();
  return sum;
}

std::size_t PhaseScheduler::pairs_left() const {
  return options_.most_pairs - std::min(options_.most_pairs, pairs());
}

std::size_t PhaseScheduler::bytes(std::size_t ranks, std::size_t pairs) {
  constexpr std::size_t per_rank = sizeof(Column) + sizeof(ReceiverRandom) + sizeof(Flow) +
                                   3 * sizeof(std::uint64_t) + sizeof(std::int64_t) + sizeof(Left) +
                                   sizeof(std::uint32_t) + sizeof(Move);
  // The totals and flows of the relaxation, and what waits.
  constexpr std::size_t continuous = sizeof(RankTotals) + sizeof(std::int64_t) + 2 * sizeof(Flow) +
                                     sizeof(Column::Key) + sizeof(std::uint64_t);
  // A column may have them all. When it grows, its keys or its counts are there twice.
  constexpr std::size_t per_column = 2 * sizeof(std::uint64_t);
  constexpr std::size_t per_pair =
      sizeof(Column::Key) + sizeof(std::uint64_t) + sizeof(Move) + per_column;
  return ranks * (per_rank + continuous) + pairs * per_pair;
}

/// Sends blocks of a column's entry to `place`, where their slots are reserved at once; those that
/// they leave are free when the phase ends.
std::uint64_t PhaseScheduler::take(std::uint32_t column, std::size_t entry, std::uint64_t wanted,
                                   std::uint32_t place) {
  const Column::Key key = columns_[column].keys[entry];
  const std::uint64_t blocks = std::min(wanted, columns_[column].counts[entry]);
  if (blocks == 0) return 0;
  columns_[column].counts[entry] -= blocks;
  moves_.push_back({key.peer, place, key.target, blocks});
  free_[place] -= blocks;
  sending_[key.peer] += blocks;
  return blocks;
}

void PhaseScheduler::receive() {
  const std::uint64_t pieces_left = stage_ == Stage::pieces ? pieces_left_ : 0;
  for (std::uint32_t rank = 0; rank < columns_.size(); ++rank) {
    const Column& column = columns_[rank];
    if (column.counts.size() > credited_.capacity()) {
      Vector<std::uint64_t>(credited_.get_allocator()).swap(credited_);
      credited_.reserve(column.counts.size());
    }
    credited_.resize(column.counts.size());
    apportion(options_.heuristic, {column.counts, free_[rank], pieces_left}, random_[rank],
              credited_);
    for (std::size_t entry = 0; entry < credited_.size(); ++entry)
      take(rank, entry, credited_[entry], rank);
  }
}

void PhaseScheduler::count_left() {
  std::fill(left_of_.begin(), left_of_.end(), Left{});
  for (std::uint32_t rank = 0; rank < columns_.size(); ++rank)
    for (std::size_t entry = 0; entry < columns_[rank].keys.size(); ++entry) {
      const std::uint64_t blocks = columns_[rank].counts[entry];
      if (blocks == 0) continue;
      left_of_[columns_[rank].keys[entry].peer].blocks += blocks;
      if (columns_[rank].keys[entry].target != rank) left_of_[rank].for_others += blocks;
    }
  for (const Move& move : moves_)
    if (move.place != move.target) left_of_[move.place].for_others += move.blocks;
}

/// No rank is asked to part with more than it has, or to take more than can be accounted for, there
/// and here: blocks that it is to receive in place of others wait there too.
void PhaseScheduler::park(std::span<const PhaseStart> starts) {
  count_left();
  for (std::size_t rank = 0; rank < columns_.size(); ++rank) {
    // Credits are taken off both sides already, which leaves the balance as it is.
    const std::int64_t balance = parking_balance(columns_[rank].sum(), free_[rank], sending_[rank]);
    balance_[rank] = std::min(balance, static_cast<std::int64_t>(left_of_[rank].blocks));
    if (starts.empty()) continue;
    std::uint64_t room = starts[rank].waiting_room;
    room -= std::min(room, left_of_[rank].for_others);
    balance_[rank] = std::max(balance_[rank], -static_cast<std::int64_t>(room));
  }
  parking_.clear();
  match_in_order(balance_, [&](const Flow& flow) { parking_.push_back(flow); });
  reroute(parking_);
}

/// Sends what the flows say: what choose_blocks() is for one rank and its row, from the columns and
/// for all ranks at once. Stops where memory for pairs or moves would have to grow.
void PhaseScheduler::reroute(std::span<Flow> flows) {
  std::size_t moves_left = options_.most_pairs == PhaseOptions().most_pairs
                               ? options_.most_pairs
                               : std::min(pairs_left(), moves_.capacity() - moves_.size());
  for (std::size_t i = flows.size(); i-- > 0;) {
    Flow& flow = flows[i];
    flow_of_[flow.from] = static_cast<std::uint32_t>(i);
    const auto& keys = columns_[flow.to].keys;
    const Column::Key key{flow.from, flow.to};
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    if (found == keys.end() || *found != key || moves_left == 0) continue;
    --moves_left;
    flow.blocks -=
        take(flow.to, static_cast<std::size_t>(found - keys.begin()), flow.blocks, flow.to);
  }
  for (std::uint32_t target = 0; target < columns_.size(); ++target) {
    for (std::size_t entry = 0; entry < columns_[target].keys.size(); ++entry) {
      const std::uint32_t source = columns_[target].keys[entry].peer;
      std::uint32_t& current = flow_of_[source];
      while (current < flows.size() && flows[current].from == source &&
             columns_[target].counts[entry] > 0) {
        if (moves_left-- == 0) return;
        Flow& flow = flows[current];
        flow.blocks -= take(target, entry, flow.blocks, flow.to);
        if (flow.blocks == 0) ++current;
      }
    }
  }
}

/// Hands over the duty to receive: blocks that the substitute has itself stay where they are.
void PhaseScheduler::receive_for_others() {
  std::size_t left = pairs_left();
  for (auto first = in_place_of_.begin(); first != in_place_of_.end();) {
    const std::uint32_t rank = first->to;
    const auto last =
        std::find_if(first, in_place_of_.end(), [&](const Flow& flow) { return flow.to != rank; });
    Column& column = columns_[rank];
    const std::span<Flow> flows(first, last);
    first = last;
    const std::size_t most = flows.size() + column.keys.size();
    if (most > left) continue;
    left -= most;
    choose_blocks(
        flows, [](const Flow& flow) { return flow.from; },
        [&](std::size_t entry) { return column.keys[entry].peer; }, column.counts,
        [&](const Flow& flow, std::size_t entry, std::uint64_t blocks) {
          const std::uint32_t source = column.keys[entry].peer;
          if (source == flow.from)
            waiting_.add({source, rank}, blocks);
          else
            columns_[flow.from].add({source, rank}, blocks);
        });
  }
  for (Column& column : columns_) column.drop_zeros();
}

void PhaseScheduler::send_on() {
  for (std::size_t i = 0; i < waiting_.keys.size(); ++i) {
    columns_[waiting_.keys[i].target].add(waiting_.keys[i], waiting_.counts[i]);
  }
  waiting_.keys.clear();
  waiting_.counts.clear();
}

/// What was received is where it belongs, waits for the pieces to be sent, or has a new source.
void PhaseScheduler::end_phase() {
  for (const Move& move : moves_) {
    free_[move.source] += move.blocks;
    if (move.place == move.target)
      left_ -= move.blocks;
    else if (stage_ == Stage::pieces)
      waiting_.add({move.place, move.target}, move.blocks);
    else
      columns_[move.target].add({move.place, move.target}, move.blocks);
  }
  for (Column& column : columns_) column.drop_zeros();
  std::ranges::sort(
      moves_, {}, [](const Move& each) { return std::tie(each.source, each.place, each.target); });
}

bool PhaseScheduler::next(std::span<const PhaseStart> starts) {
  moves_.clear();
  std::fill(sending_.begin(), sending_.end(), std::uint64_t{0});
  for (std::size_t rank = 0; rank < starts.size(); ++rank) free_[rank] = starts[rank].free;
  if (done()) return false;
  ++phase_;
  if (stage_ == Stage::level) {
    if (!levelling_.empty()) {
      reroute(levelling_);
      end_phase();
      levelling_.clear();
      return true;
    }
    receive_for_others();
    stage_ = Stage::pieces;
  }
  if (stage_ == Stage::pieces) {
    if (pieces_left_ > 0) {
      receive();
      --pieces_left_;
      end_phase();
      return true;
    }
    send_on();
    stage_ = Stage::finish;
  }
  receive();
  const bool parks = parks_in(phase_, options_.parking);
  if (parks) park(starts);
  end_phase();
  return !moves_.empty() || (options_.parking > 0 && !parks);
}

std::uint64_t PhaseScheduler::messages() const {
  std::uint64_t count = 0;
  const Move* last = nullptr;
  for (const Move& move : moves_) {
    if (last == nullptr || last->source != move.source || last->place != move.place) ++count;
    last = &move;
  }
  return count;
}

}  // namespace valet::schedule
