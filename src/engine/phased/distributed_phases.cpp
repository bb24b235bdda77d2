// SPDX-License-Identifier: BSD-3-Clause

// Phases that the ranks negotiate among neighbours (Pinar and Hendrickson, "Interprocessor
// Communication with Limited Memory", IEEE TPDS 15(7), 2004, Figure 7): every receiver divides its
// free memory among its sources and sends them their shares. A root is asked for parking (Figure
// 8), and for the start of Heuristic::continuous (section 4): it sees a few numbers per rank. What
// a rank decides is in schedule/phased_rank.hpp; here it is sent to those who have to know.
//
// Without a root nobody knows all: each rank goes on until it has nothing to send and nothing to
// receive, and may be some phases ahead of another.

#include "engine/phased/parking_match.hpp"
#include "engine/phased/phases.hpp"
#include "mpi/root.hpp"
#include "mpi/word_lists.hpp"
#include "schedule/phased_rank.hpp"
#include "schedule/relaxation.hpp"

#include <array>

namespace valet::engine {
namespace {

using schedule::KeyedCounts;
using schedule::Match;
using Key = KeyedCounts::Key;

class DistributedPhases final : public Phases {
 public:
  DistributedPhases(const plan::State& state, const PhaseStart& start)
      : channel_(state.channel),
        ledger_(state.ledger),
        options_(state.options.phased),
        own_(ledger_, options_.seed, self()),
        counts_(ledger_),
        giving_(ledger_),
        taking_(ledger_),
        replaced_(ledger_),
        replacing_(ledger_),
        to_learn_(ledger_),
        replaced_now_(ledger_) {
    own_.row.reserve(state.flows.outgoing.size());
    own_.column.reserve(state.flows.incoming.size());
    for (const plan::Outgoing& flow : state.flows.outgoing) {
      const auto target = static_cast<std::uint32_t>(flow.rank);
      own_.row.append({target, target}, flow.count);
    }
    for (const plan::Incoming& flow : state.flows.incoming)
      own_.column.append({static_cast<std::uint32_t>(flow.rank), self()}, flow.count);
    if (options_.heuristic == Heuristic::continuous) begin_continuous(start);
  }

  bool next(const PhaseStart& start, PhaseMoves& moves) override {
    moves.clear();
    own_.drop_zeros();
    if (all_done_) return false;
    if (!levels_ && hands_over_) hand_over();
    const bool asks_root = options_.parking > 0;
    const bool idle = own_.row.keys.empty() && own_.column.keys.empty() && to_learn_.keys.empty();
    if (!asks_root && !levels_ && equal_phases_ == 0 && idle) return false;
    ++phase_;
    PhaseStart left = start;
    if (levels_) {
      levels_ = false;
      reroute(moves);
    } else if (equal_phases_ > 0) {
      receive(left, moves);
      --equal_phases_;
    } else {
      if (options_.heuristic == Heuristic::continuous) report_waiting();
      receive(left, moves);
      if (schedule::parks_in(phase_, options_.parking)) park(left, moves);
    }
    // What is received in place of others is in the row already; waits_here() counts it once more.
    for (std::size_t i = 0; i < replaced_now_.keys.size(); ++i)
      own_.parked_here(replaced_now_.keys[i].target, std::uint64_t{0} - replaced_now_.counts[i]);
    replaced_now_.clear();
    return true;
  }
  void waits_here(int target, std::uint64_t blocks) override {
    own_.parked_here(static_cast<std::uint32_t>(target), blocks);
  }

 private:
  [[nodiscard]] std::uint32_t self() const { return static_cast<std::uint32_t>(channel_.rank()); }
  /// The root solves the relaxation; every rank receives the number of equal phases and its own
  /// matches. The root has up to 72 bytes a rank for it: what is more than the 64 that are promised
  /// is there of the lists that phased_list_bytes() reckons with and that are empty yet.
  void begin_continuous(const PhaseStart& start) {
    static_assert(sizeof(schedule::RankTotals) == 4 * sizeof(std::uint64_t));
    const std::array<std::uint64_t, 4> mine{own_.row.sum(), own_.column.sum(), start.free,
                                            start.waiting_room};
    Array<schedule::RankTotals> totals(ledger_, mpi::ranks_on_root(channel_));
    mpi::gather_words(
        channel_, mine,
        {reinterpret_cast<std::uint64_t*>(totals.data()), mine.size() * totals.size()});
    schedule::ContinuousMatches flows = schedule::continuous_matches(ledger_, totals);
    totals = {};
    std::array<std::uint64_t, 2> words{flows.equal_phases, flows.before.empty() ? 0U : 1U};
    mpi::broadcast_words(channel_, words);
    equal_phases_ = words[0];
    levels_ = words[1] != 0;
    hands_over_ = true;
    scatter_matches(channel_, ledger_, flows.before, giving_, taking_);
    scatter_matches(channel_, ledger_, flows.after, replacing_, replaced_);
  }
  /// Figure 7: divide the free memory, send to the sources, receive from the destinations.
  void receive(PhaseStart& left, PhaseMoves& moves) {
    mpi::WordLists credits(ledger_), answers(ledger_);
    credits.reserve(own_.column.keys.size(), own_.column.keys.size());
    answers.reserve(own_.row.keys.size(), own_.row.keys.size());
    moves.receives.reserve(own_.column.keys.size());
    moves.sends.reserve(own_.row.keys.size());
    own_.credit(options_.heuristic, left.free, equal_phases_, counts_,
                [&](const Key& key, std::uint64_t blocks) {
                  credits.add(static_cast<int>(key.peer), blocks);
                  if (blocks == 0) return;
                  moves.receives.add({key.peer, key.peer}, blocks);
                  left.free -= blocks;
                  if (key.target != self()) replaced_now_.add({key.target, key.target}, blocks);
                });
    KeyedCounts& row = own_.row;
    for (const Key& key : row.keys)
      if (key.peer != self()) answers.add(static_cast<int>(key.peer), 0);
    exchange_lists(channel_, ledger_, credits, answers);
    std::size_t entry = 0;
    for (std::size_t list = 0; list < answers.size(); ++list)
      for (const std::uint64_t blocks : answers[list]) {
        while (row.keys[entry].peer == self()) ++entry;
        const Key key = row.keys[entry];
        row.counts[entry++] -= blocks;
        if (blocks > 0) moves.sends.add(key, blocks);
      }
  }
  /// Figure 8: two words to the root, flows back.
  void park(const PhaseStart& left, PhaseMoves& moves) {
    const std::int64_t balance = own_.balance(left, moves.sends.sum());
    all_done_ = match_parking(channel_, ledger_, {balance, own_.row.sum() > 0}, giving_, taking_);
    reroute(moves);
  }
  /// Sends what the flows say, and tells the targets who has their blocks now.
  void reroute(PhaseMoves& moves) {
    KeyedCounts& row = own_.row;
    KeyedCounts words(ledger_);
    words.reserve(giving_.size() + row.keys.size());
    own_.choose_parked(giving_, counts_,
                       [&](std::size_t entry, std::uint32_t receiver, std::uint64_t blocks) {
                         const std::uint32_t target = row.keys[entry].target;
                         words.add({target, receiver}, blocks);
                         moves.sends.add({receiver, target}, blocks);
                       });
    for (const Match& flow : taking_) moves.receives.add({flow.from, flow.from}, flow.blocks);
    tell(
        words,
        [&](auto&& call) {
          for (std::size_t i = 0; i < row.keys.size(); ++i)
            if (row.counts[i] > 0 && row.keys[i].peer == row.keys[i].target) call(row.keys[i].peer);
        },
        [&](auto&& call) {
          const KeyedCounts& column = own_.column;
          for (std::size_t i = 0; i < column.keys.size(); ++i)
            if (column.counts[i] > 0 && column.keys[i].target == self()) call(column.keys[i].peer);
        },
        [&](std::uint32_t source, std::uint32_t receiver, std::uint64_t blocks) {
          own_.sent_to(source, receiver, blocks);
        });
    for (std::size_t i = 0; i < words.keys.size(); ++i)
      row.add({words.keys[i].peer, words.keys[i].peer}, std::uint64_t{0} - words.counts[i]);
    giving_.clear();
    taking_.clear();
  }
  /// A rank that is replaced chooses from its column who sends to the substitute, and tells both.
  void hand_over() {
    hands_over_ = false;
    KeyedCounts& column = own_.column;
    KeyedCounts to_sources(ledger_), to_substitutes(ledger_);
    to_sources.reserve(replaced_.size() + column.keys.size());
    to_substitutes.reserve(replaced_.size() + column.keys.size());
    own_.choose_handed(replaced_, counts_,
                       [&](std::size_t entry, std::uint32_t substitute, std::uint64_t blocks) {
                         const std::uint32_t source = column.keys[entry].peer;
                         column.counts[entry] -= blocks;
                         to_sources.add({source, substitute}, blocks);
                         to_substitutes.add({substitute, source}, blocks);
                         to_learn_.add({substitute, substitute}, blocks);
                       });
    const auto peers_of = [](const KeyedCounts& side) {
      return [&side](auto&& call) {
        for (const Key& key : side.keys) call(key.peer);
      };
    };
    const auto ends_of = [](const Vector<Match>& flows, std::uint32_t Match::*end) {
      return [&flows, end](auto&& call) {
        for (const Match& flow : flows) call(flow.*end);
      };
    };
    // The columns stay as they were until all sources have been told.
    tell(to_sources, peers_of(own_.column), peers_of(own_.row),
         [&](std::uint32_t target, std::uint32_t substitute, std::uint64_t blocks) {
           own_.goes_to_substitute(target, substitute, blocks);
         });
    tell(to_substitutes, ends_of(replaced_, &Match::from), ends_of(replacing_, &Match::to),
         [&](std::uint32_t target, std::uint32_t source, std::uint64_t blocks) {
           own_.replaces(target, source, blocks);
         });
    replaced_.clear();
    replacing_.clear();
  }
  /// Substitutes tell those whose blocks wait here, and who may have more to come.
  void report_waiting() {
    KeyedCounts reports(ledger_);
    for (const Key& key : own_.column.keys)
      if (key.target != self()) reports.add({key.target, key.target}, 0);
    own_.report_waiting([&](std::uint32_t target, std::uint64_t blocks) {
      reports.add({target, target}, blocks);
    });
    mpi::WordLists sent(ledger_), received(ledger_);
    for (std::size_t i = 0; i < reports.keys.size(); ++i)
      sent.add(static_cast<int>(reports.keys[i].peer), reports.counts[i]);
    for (const Key& key : to_learn_.keys) received.add(static_cast<int>(key.peer), 0);
    exchange_lists(channel_, ledger_, sent, received);
    for (std::size_t i = 0; i < to_learn_.keys.size(); ++i) {
      const std::uint64_t blocks = received[i][0];
      to_learn_.counts[i] -= blocks;
      if (blocks > 0) own_.column.add({to_learn_.keys[i].peer, self()}, blocks);
    }
    to_learn_.drop_zeros();
  }
  /// Tells ranks what they have to know. Collective among neighbours.
  /// @param words  By receiver and another rank: how many blocks go there, or come from there.
  /// @param receivers, senders  Call their argument with each rank that gets a list, which may be
  ///                            empty, or has one for this rank; ascending.
  /// @param hear   Is passed (sender, the other rank, blocks).
  template <class Receivers, class Senders, class Hear>
  void tell(const KeyedCounts& words, Receivers&& receivers, Senders&& senders, Hear&& hear) {
    mpi::PairLists lists(channel_, ledger_);
    std::size_t next = 0;
    receivers([&](std::uint32_t rank) {
      lists.begin(static_cast<int>(rank));
      for (; next < words.keys.size() && words.keys[next].peer == rank; ++next)
        lists.add(words.keys[next].target, words.counts[next]);
    });
    senders([&](std::uint32_t rank) { lists.expect(static_cast<int>(rank)); });
    lists.run();
    lists.for_each([&](int sender, std::uint64_t rank, std::uint64_t blocks) {
      hear(static_cast<std::uint32_t>(sender), static_cast<std::uint32_t>(rank), blocks);
    });
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  const PhasedOptions& options_;
  schedule::PhasedRank own_;
  Vector<std::uint64_t> counts_;  ///< of the row or column at hand
  std::uint64_t phase_ = 0;
  std::uint64_t equal_phases_ = 0;  ///< Heuristic::continuous: still to come
  bool levels_ = false;             ///< the phase before these comes next
  bool hands_over_ = false;
  bool all_done_ = false;  ///< sent by the root
  Vector<Match> giving_;   ///< from this rank, as the root matched them
  Vector<Match> taking_;
  Vector<Match> replaced_;    ///< Heuristic::continuous: others receive in our place
  Vector<Match> replacing_;   ///< we receive in place of others
  KeyedCounts to_learn_;      ///< by substitute: what it has not reported yet
  KeyedCounts replaced_now_;  ///< by target: what we receive in its place in this phase
};

}  // namespace

std::unique_ptr<Phases> distributed_phases(const plan::State& state, const PhaseStart& start) {
  return std::make_unique<DistributedPhases>(state, start);
}

}  // namespace valet::engine
