// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/distributed_phases.hpp"

#include "engine/phased/parking_match.hpp"
#include "mpi/root.hpp"
#include "schedule/phase_scheduler.hpp"

#include <algorithm>
#include <array>
#include <tuple>

namespace valet::engine {
namespace {

using schedule::Flow;

/// All lists of this kind are ascending by rank: a rank may have an entry for every other.
Vector<PeerBlocks>::iterator entry_of(Vector<PeerBlocks>& list, int rank) {
  return std::ranges::lower_bound(list, rank, {}, &PeerBlocks::rank);
}

void add_to(Vector<PeerBlocks>& list, int rank, std::uint64_t blocks) {
  const auto at = entry_of(list, rank);
  if (at == list.end() || at->rank != rank)
    list.insert(at, {rank, blocks});
  else
    at->blocks += blocks;
}

/// Nothing where the rank has no entry.
std::uint64_t blocks_of(Vector<PeerBlocks>& list, int rank) {
  const auto at = entry_of(list, rank);
  return at == list.end() || at->rank != rank ? 0 : at->blocks;
}

std::uint32_t from_of(const Flow& flow) { return flow.from; }
std::uint32_t to_of(const Flow& flow) { return flow.to; }

}  // namespace

DistributedPhases::DistributedPhases(const mpi::Channel& channel, Ledger& ledger,
                                     const Options& options, const PhaseProblem& problem)
    : channel_(channel),
      ledger_(ledger),
      options_(options),
      row_(ledger),
      column_(ledger),
      credited_(ledger),
      sent_words_(ledger),
      received_words_(ledger),
      random_(options.phased.seed, static_cast<std::uint32_t>(channel.rank())),
      giving_(ledger),
      taking_(ledger),
      replaced_(ledger),
      replacing_(ledger),
      parked_(ledger),
      moved_(ledger),
      to_report_(ledger),
      to_learn_(ledger),
      waiting_(ledger),
      handed_now_(ledger) {
  const auto fill = [](Side& side, const Vector<PeerBlocks>& list, auto&& target_of) {
    side.keys.reserve(list.size());
    side.counts.reserve(list.size());
    for (const PeerBlocks& entry : list) {
      side.keys.push_back({entry.rank, target_of(entry)});
      side.counts.push_back(entry.blocks);
    }
  };
  fill(row_, problem.outgoing, [](const PeerBlocks& entry) { return entry.rank; });
  fill(column_, problem.incoming, [&](const PeerBlocks&) { return channel.rank(); });
  if (options.phased.heuristic != Heuristic::continuous) return;
  begin_continuous(problem.start);
}

/// The root solves the relaxation; every rank receives the number of pieces and its own flows. The
/// root has up to 72 bytes a rank for it: what is more than the 64 that are promised is there of
/// the lists that phased_list_bytes() reckons with and that are empty yet.
void DistributedPhases::begin_continuous(const PhaseStart& start) {
  static_assert(sizeof(schedule::RankTotals) == 4 * sizeof(std::uint64_t));
  const std::array<std::uint64_t, 4> mine{row_.sum(), column_.sum(), start.free,
                                          start.waiting_room};
  Array<schedule::RankTotals> totals(ledger_, mpi::ranks_on_root(channel_));
  mpi::gather_words(channel_, mine,
                    {reinterpret_cast<std::uint64_t*>(totals.data()), mine.size() * totals.size()});
  schedule::ContinuousFlows flows =
      schedule::continuous_flows(ledger_, {totals.data(), totals.size()});
  totals = {};
  std::array<std::uint64_t, 2> words{flows.pieces, flows.before.empty() ? 0U : 1U};
  mpi::broadcast_words(channel_, words);
  pieces_ = words[0];
  levels_ = words[1] != 0;
  hands_over_ = true;
  scatter_flows(channel_, ledger_, flows.before, giving_, taking_);
  scatter_flows(channel_, ledger_, flows.after, replacing_, replaced_);
}

bool DistributedPhases::idle() const {
  return row_.keys.empty() && column_.keys.empty() && to_report_.empty() && to_learn_.empty() &&
         waiting_.empty();
}

bool DistributedPhases::next(const PhaseStart& start, PhaseMoves& moves) {
  moves.sends.clear();
  moves.receives.clear();
  take_over_moved_sources();
  handed_now_.clear();
  row_.drop_zeros();
  column_.drop_zeros();
  if (all_done_) return false;
  if (!levels_ && hands_over_) {
    hand_over();
    hands_over_ = false;
  }
  const bool asks_root = options_.phased.parking > 0;
  if (!asks_root && !levels_ && pieces_ == 0 && idle()) return false;
  ++phase_;
  if (levels_) {
    levels_ = false;
    reroute(moves);
  } else if (pieces_ > 0) {
    receive(start, moves);
    --pieces_;
  } else {
    send_on();
    const std::uint64_t incoming = column_.sum();
    const std::uint64_t sending = row_.sum();
    PhaseStart parking = start;
    parking.waiting_room -= std::min(parking.waiting_room, incoming_for_others());
    receive(start, moves);
    if (schedule::parks_in(phase_, static_cast<std::uint64_t>(options_.phased.parking)))
      park(parking, incoming, sending - row_.sum(), moves);
  }
  moves.arrange();
  return true;
}

std::uint64_t DistributedPhases::incoming_for_others() const {
  std::uint64_t blocks = 0;
  for (std::size_t i = 0; i < column_.keys.size(); ++i)
    if (column_.keys[i].target != channel_.rank()) blocks += column_.counts[i];
  return blocks;
}

/// Figure 7: apportion the free memory, send to the sources, receive from the destinations.
void DistributedPhases::receive(const PhaseStart& start, PhaseMoves& moves) {
  credited_.resize(column_.counts.size());
  schedule::apportion(options_.phased.heuristic, {column_.counts, start.free, pieces_}, random_,
                      credited_);
  sent_words_.clear();
  received_words_.clear();
  sent_words_.reserve(column_.keys.size(), column_.keys.size());
  received_words_.reserve(row_.keys.size(), row_.keys.size());
  moves.receives.reserve(column_.keys.size());
  moves.sends.reserve(row_.keys.size());
  for (std::size_t i = 0; i < column_.keys.size(); ++i) {
    if (i == 0 || column_.keys[i].peer != column_.keys[i - 1].peer)
      sent_words_.begin(column_.keys[i].peer);
    sent_words_.add(credited_[i]);
    column_.counts[i] -= credited_[i];
    if (credited_[i] == 0) continue;
    moves.receives.push_back({column_.keys[i].peer, credited_[i]});
    if (column_.keys[i].target != channel_.rank())
      add_to(handed_now_, column_.keys[i].target, credited_[i]);
  }
  for (std::size_t i = 0; i < row_.keys.size(); ++i) {
    if (i == 0 || row_.keys[i].peer != row_.keys[i - 1].peer)
      received_words_.begin(row_.keys[i].peer);
    received_words_.add(0);
  }
  exchange_lists(channel_, ledger_, sent_words_, received_words_);
  std::size_t entry = 0;
  for (std::size_t list = 0; list < received_words_.size(); ++list)
    for (const std::uint64_t blocks : received_words_[list]) {
      const Key key = row_.keys[entry];
      row_.counts[entry++] -= blocks;
      if (blocks > 0) moves.sends.push_back({key.peer, key.target, blocks});
    }
}

/// Figure 8: two words to the root, flows back. Of what is asked to part with no more is promised
/// than is there, of room no more than can be accounted for.
void DistributedPhases::park(const PhaseStart& start, std::uint64_t incoming, std::uint64_t sending,
                             PhaseMoves& moves) {
  std::int64_t balance = schedule::parking_balance(incoming, start.free, sending);
  std::uint64_t left = 0;
  std::uint64_t own = 0;
  for (std::size_t i = 0; i < row_.keys.size(); ++i) {
    left += row_.counts[i];
    if (row_.keys[i].peer == row_.keys[i].target) own += row_.counts[i];
  }
  for (const PeerBlocks& debt : to_report_) left += debt.blocks;
  for (const PeerBlocks& entry : waiting_) left += entry.blocks;
  for (const PeerBlocks& entry : handed_now_) left += entry.blocks;
  balance = std::clamp(balance, -static_cast<std::int64_t>(start.waiting_room),
                       static_cast<std::int64_t>(own));
  all_done_ = match_parking(channel_, ledger_, {balance, left > 0}, giving_, taking_);
  reroute(moves);
}

/// Sends what the flows say, and informs the targets who has their blocks now.
void DistributedPhases::reroute(PhaseMoves& moves) {
  parked_.clear();
  parked_.reserve(giving_.size() + row_.keys.size());
  Vector<std::uint64_t> remaining(row_.counts, row_.counts.get_allocator());
  for (std::size_t i = 0; i < row_.keys.size(); ++i)
    if (row_.keys[i].peer != row_.keys[i].target) remaining[i] = 0;
  schedule::choose_blocks(
      std::span<Flow>(giving_), to_of,
      [&](std::size_t entry) { return static_cast<std::uint32_t>(row_.keys[entry].peer); },
      std::span<std::uint64_t>(remaining),
      [&](const Flow& flow, std::size_t entry, std::uint64_t blocks) {
        parked_.push_back({static_cast<int>(flow.to), row_.keys[entry].target, blocks});
        moves.sends.push_back({static_cast<int>(flow.to), row_.keys[entry].target, blocks});
      });
  for (const Flow& flow : taking_)
    moves.receives.push_back({static_cast<int>(flow.from), flow.blocks});
  inform_targets();
  giving_.clear();
  taking_.clear();
}

/// Every rank informs its targets where it sent their blocks.
void DistributedPhases::inform_targets() {
  std::ranges::sort(parked_, {},
                    [](const Parked& each) { return std::tie(each.target, each.place); });
  mpi::PairLists words(channel_, ledger_);
  auto next = parked_.begin();
  for (std::size_t i = 0; i < row_.keys.size(); ++i) {
    const Key key = row_.keys[i];
    if (row_.counts[i] == 0 || key.peer != key.target) continue;
    words.begin(key.target);
    for (; next != parked_.end() && next->target == key.target; ++next) {
      words.add(static_cast<std::uint64_t>(next->place), next->blocks);
      row_.counts[i] -= next->blocks;
    }
  }
  for (std::size_t i = 0; i < column_.keys.size(); ++i)
    if (column_.counts[i] > 0 && column_.keys[i].target == channel_.rank())
      words.expect(column_.keys[i].peer);
  words.run();
  words.for_each([&](int source, std::uint64_t place, std::uint64_t blocks) {
    column_.add({source, channel_.rank()}, std::uint64_t{0} - blocks);
    if (static_cast<int>(place) != channel_.rank())
      moved_.push_back({static_cast<int>(place), blocks});
  });
}

void DistributedPhases::take_over_moved_sources() {
  for (const PeerBlocks& moved : moved_) column_.add({moved.rank, channel_.rank()}, moved.blocks);
  moved_.clear();
}

/// Those who are replaced choose of their column who sends to the substitute, and inform both.
void DistributedPhases::hand_over() {
  Vector<Handed> handed(ledger_);
  Vector<std::uint64_t> remaining(column_.counts, column_.counts.get_allocator());
  for (const Flow& flow : replaced_) to_learn_.push_back({static_cast<int>(flow.from), 0});
  for (const Flow& flow : replacing_) to_report_.push_back({static_cast<int>(flow.to), 0});
  schedule::choose_blocks(
      std::span<Flow>(replaced_), from_of,
      [&](std::size_t entry) { return static_cast<std::uint32_t>(column_.keys[entry].peer); },
      std::span<std::uint64_t>(remaining),
      [&](const Flow& flow, std::size_t entry, std::uint64_t blocks) {
        handed.push_back({column_.keys[entry].peer, static_cast<int>(flow.from), blocks});
        add_to(to_learn_, static_cast<int>(flow.from), blocks);
      });
  // Both read the sides as they were; what the substitutes receive is new in their columns.
  inform_sources(handed);
  inform_substitutes(handed);
  replaced_.clear();
  replacing_.clear();
  std::erase_if(to_report_, [](const PeerBlocks& debt) { return debt.blocks == 0; });
  std::erase_if(to_learn_, [](const PeerBlocks& debt) { return debt.blocks == 0; });
}

/// What a source is to send to a substitute; what the substitute has itself stays where it is.
void DistributedPhases::inform_sources(Vector<Handed>& handed) {
  std::ranges::sort(handed, {},
                    [](const Handed& each) { return std::tie(each.source, each.substitute); });
  mpi::PairLists words(channel_, ledger_);
  auto next = handed.begin();
  for (std::size_t i = 0; i < column_.keys.size(); ++i) {
    words.begin(column_.keys[i].peer);
    for (; next != handed.end() && next->source == column_.keys[i].peer; ++next) {
      words.add(static_cast<std::uint64_t>(next->substitute), next->blocks);
      column_.counts[i] -= next->blocks;
    }
  }
  for (const Key& key : row_.keys) words.expect(key.peer);
  words.run();
  words.for_each([&](int replaced, std::uint64_t substitute, std::uint64_t blocks) {
    row_.add({replaced, replaced}, std::uint64_t{0} - blocks);
    if (static_cast<int>(substitute) == channel_.rank())
      add_to(waiting_, replaced, blocks);
    else
      row_.add({static_cast<int>(substitute), replaced}, blocks);
  });
}

void DistributedPhases::inform_substitutes(Vector<Handed>& handed) {
  std::ranges::sort(handed, {},
                    [](const Handed& each) { return std::tie(each.substitute, each.source); });
  mpi::PairLists words(channel_, ledger_);
  auto next = handed.begin();
  for (const Flow& flow : replaced_) {
    words.begin(static_cast<int>(flow.from));
    for (; next != handed.end() && next->substitute == static_cast<int>(flow.from); ++next)
      words.add(static_cast<std::uint64_t>(next->source), next->blocks);
  }
  for (const Flow& flow : replacing_) words.expect(static_cast<int>(flow.to));
  words.run();
  words.for_each([&](int replaced, std::uint64_t source, std::uint64_t blocks) {
    add_to(to_report_, replaced, blocks);
    if (static_cast<int>(source) != channel_.rank())
      column_.add({static_cast<int>(source), replaced}, blocks);
  });
}

/// Substitutes inform those whose blocks wait here; from then on they are theirs.
void DistributedPhases::send_on() {
  if (to_report_.empty() && to_learn_.empty()) return;
  mpi::WordLists sent(ledger_), received(ledger_);
  for (const PeerBlocks& debt : to_report_) {
    sent.begin(debt.rank);
    sent.add(blocks_of(waiting_, debt.rank));
  }
  for (const PeerBlocks& debt : to_learn_) {
    received.begin(debt.rank);
    received.add(0);
  }
  exchange_lists(channel_, ledger_, sent, received);
  for (std::size_t i = 0; i < to_report_.size(); ++i) {
    const std::uint64_t blocks = sent[i][0];
    if (blocks > 0) row_.add({to_report_[i].rank, to_report_[i].rank}, blocks);
    to_report_[i].blocks -= blocks;
  }
  for (std::size_t i = 0; i < to_learn_.size(); ++i) {
    const std::uint64_t blocks = received[i][0];
    if (blocks > 0) column_.add({to_learn_[i].rank, channel_.rank()}, blocks);
    to_learn_[i].blocks -= blocks;
  }
  waiting_.clear();
  std::erase_if(to_report_, [](const PeerBlocks& debt) { return debt.blocks == 0; });
  std::erase_if(to_learn_, [](const PeerBlocks& debt) { return debt.blocks == 0; });
}

/// Blocks received in place of another rank are reported later, parked ones are known to belong
/// here. Which of them came does not matter: they are all alike for the numbers.
void DistributedPhases::waits_here(int target, std::uint64_t blocks) {
  const std::uint64_t of_them = std::min(blocks, blocks_of(handed_now_, target));
  if (of_them > 0) {
    add_to(waiting_, target, of_them);
    entry_of(handed_now_, target)->blocks -= of_them;
    blocks -= of_them;
  }
  if (blocks > 0) row_.add({target, target}, blocks);
}

}  // namespace valet::engine
