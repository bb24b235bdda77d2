// SPDX-License-Identifier: BSD-3-Clause

// Ranks that know their own row and column only, and a root that sees a number or three per rank,
// come to the same phases as a root that knows the whole matrix.

#include "instances.hpp"
#include "testing.hpp"
#include "tools/schedules.hpp"

namespace valet::schedule {
namespace {

using Key = std::pair<std::uint32_t, std::uint32_t>;  // peer, target

/// What one rank knows.
struct Rank {
  std::map<std::uint32_t, std::uint64_t> row;  ///< blocks it has, by target
  std::map<Key, std::uint64_t> column;         ///< blocks that are to arrive, by (source, target)
  std::map<std::uint32_t, std::uint64_t> waiting;  ///< received for others, by target
  std::uint64_t free = 0;
  ReceiverRandom random{0, 0};
  std::uint64_t received = 0;  ///< in this phase
  std::uint64_t sending = 0;
};

class Ranks {
 public:
  Ranks(const test::Instance& instance, const PhasedOptions& options)
      : options_(options), ranks_(instance.free.size()) {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].free = instance.free[rank];
      ranks_[rank].random = ReceiverRandom(options.seed, rank);
    }
    for (const TransferEntry& transfer : instance.matrix.transfers()) {
      ranks_[transfer.source].row[transfer.destination] = transfer.blocks;
      ranks_[transfer.destination].column[{transfer.source, transfer.destination}] =
          transfer.blocks;
    }
    if (options.heuristic != Heuristic::continuous) return;
    const ContinuousMatches flows =
        continuous_matches(ledger_, instance.matrix.totals(instance.free));
    before_.assign(flows.before.begin(), flows.before.end());
    after_.assign(flows.after.begin(), flows.after.end());
    pieces_ = flows.equal_phases;
    levels_ = true;
  }

  std::vector<Move> phase() {
    moves_.clear();
    ++phase_;
    for (Rank& rank : ranks_) rank.received = rank.sending = 0;
    const bool waits = pieces_ > 0;
    if (levels_ && !before_.empty()) {
      reroute(before_);
      before_.clear();
    } else {
      if (levels_) hand_over();
      levels_ = false;
      receive();
      if (waits) {
        --pieces_;
      } else if (parks_in(phase_, options_.parking)) {
        park();
      }
    }
    end_phase(waits && !levels_);
    return moves_;
  }

 private:
  /// Figure 7: apportion, inform the sources, send.
  void receive() {
    if (pieces_ == 0)
      for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
        for (const auto& [target, blocks] : ranks_[rank].waiting)
          ranks_[target].column[{rank, target}] += blocks;
        ranks_[rank].waiting.clear();
      }
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
      Rank& me = ranks_[rank];
      std::vector<std::uint64_t> remaining;
      for (const auto& [key, blocks] : me.column) remaining.push_back(blocks);
      std::vector<std::uint64_t> credited(remaining.size());
      apportion(options_.heuristic, {remaining, me.free, pieces_}, me.random, credited);
      std::size_t entry = 0;
      for (auto& [key, blocks] : me.column) {
        blocks -= credited[entry];
        move({key.first, rank, key.second, credited[entry++]});
      }
    }
  }

  /// Figure 8: one number to the root, flows back.
  void park() {
    std::vector<std::int64_t> balance;
    for (const Rank& rank : ranks_) {
      std::uint64_t incoming = rank.received;
      for (const auto& [key, blocks] : rank.column) incoming += blocks;
      balance.push_back(parking_balance(incoming, rank.free, rank.sending));
    }
    std::vector<Match> flows;
    match_in_order(balance, [&](const Match& flow) { flows.push_back(flow); });
    reroute(flows);
  }

  /// Every rank that has flows looks at its own row.
  void reroute(std::vector<Match>& flows) {
    for_runs(
        flows, [](const Match& flow) { return flow.from; },
        [&](std::span<Match> own) {
          Rank& me = ranks_[own.front().from];
          std::vector<std::uint32_t> targets;
          std::vector<std::uint64_t> remaining;
          for (const auto& [target, blocks] : me.row) {
            targets.push_back(target);
            remaining.push_back(blocks);
          }
          choose_blocks(
              own, [](const Match& flow) { return flow.to; },
              [&](std::size_t entry) { return targets[entry]; }, remaining,
              [&](const Match& flow, std::size_t entry, std::uint64_t blocks) {
                ranks_[targets[entry]].column[{flow.from, targets[entry]}] -= blocks;
                move({flow.from, flow.to, targets[entry], blocks});
              });
        });
  }

  /// Every rank that is replaced looks at its own column.
  void hand_over() {
    for_runs(
        after_, [](const Match& flow) { return flow.to; },
        [&](std::span<Match> own) {
          const std::uint32_t rank = own.front().to;
          std::vector<std::uint32_t> sources;
          std::vector<std::uint64_t> remaining;
          for (const auto& [key, blocks] : ranks_[rank].column) {
            sources.push_back(key.first);
            remaining.push_back(blocks);
          }
          choose_blocks(
              own, [](const Match& flow) { return flow.from; },
              [&](std::size_t entry) { return sources[entry]; }, remaining,
              [&](const Match& flow, std::size_t entry, std::uint64_t blocks) {
                ranks_[rank].column[{sources[entry], rank}] -= blocks;
                if (sources[entry] == flow.from)
                  ranks_[flow.from].waiting[rank] += blocks;
                else
                  ranks_[flow.from].column[{sources[entry], rank}] += blocks;
              });
        });
  }

  template <class RankOf, class Handle>
  static void for_runs(std::vector<Match>& flows, RankOf&& rank_of, Handle&& handle) {
    for (auto first = flows.begin(); first != flows.end();) {
      const auto last = std::find_if(
          first, flows.end(), [&](const Match& flow) { return rank_of(flow) != rank_of(*first); });
      handle(std::span<Match>(first, last));
      first = last;
    }
  }

  void move(const Move& move) {
    if (move.blocks == 0) return;
    moves_.push_back(move);
    ranks_[move.source].row[move.target] -= move.blocks;
    ranks_[move.source].sending += move.blocks;
    ranks_[move.receiver].received += move.blocks;
  }

  void end_phase(bool waits) {
    for (Rank& rank : ranks_) rank.free = rank.free + rank.sending - rank.received;
    for (const Move& move : moves_) {
      if (move.receiver == move.target) continue;
      ranks_[move.receiver].row[move.target] += move.blocks;
      if (waits)
        ranks_[move.receiver].waiting[move.target] += move.blocks;
      else
        ranks_[move.target].column[{move.receiver, move.target}] += move.blocks;
    }
    for (Rank& rank : ranks_) {
      std::erase_if(rank.column, [](const auto& entry) { return entry.second == 0; });
      std::erase_if(rank.row, [](const auto& entry) { return entry.second == 0; });
    }
    std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
      return std::tie(a.source, a.receiver, a.target) < std::tie(b.source, b.receiver, b.target);
    });
  }

  PhasedOptions options_;
  Ledger ledger_;
  std::vector<Rank> ranks_;
  std::vector<Match> before_;
  std::vector<Match> after_;
  std::vector<Move> moves_;
  std::uint64_t phase_ = 0;
  std::uint64_t pieces_ = 0;
  bool levels_ = false;
};

TEST(DistributedPhases, AreThoseOfTheRoot) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    std::mt19937_64 random(seed);
    const test::Instance instance = test::random_instance(random, 9, 25);
    for (const Heuristic heuristic : all_heuristics()) {
      const PhasedOptions options{
          .heuristic = heuristic, .parking = 1 + static_cast<int>(seed % 3), .seed = seed};
      const PhaseSchedule expected = test::record_phases(instance, options);
      Ranks ranks(instance, options);
      for (std::size_t phase = 0; phase < expected.size(); ++phase)
        ASSERT_TRUE(ranks.phase() == expected[phase])
            << to_string(heuristic) << ", seed " << seed << ", phase " << phase;
    }
  }
}

}  // namespace
}  // namespace valet::schedule
