// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What one rank of PHASED decides from its own row and column of the matrix. Both schedulers use
/// it, so they come to the same phases: the distributed one on each rank for that rank, the
/// centralized one on the root for all ranks. What a rank has to tell another they deliver, the one
/// in messages, the other by a call. Source: A. Pinar, B. Hendrickson, "Interprocessor
/// Communication with Limited Memory", IEEE TPDS 15(7), 2004, section 4 and Figures 7 and 8.

#include "schedule/apportionment.hpp"
#include "schedule/parking.hpp"
#include <valet/ledger.hpp>
#include <valet/options.hpp>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

namespace valet::schedule {

/// Whether phase `phase`, counted from 1, has parking.
[[nodiscard]] inline bool parks_in(std::uint64_t phase, int parking) {
  return parking > 0 && phase % static_cast<std::uint64_t>(parking) == 0;
}

/// Numbers of blocks by peer and target, ascending; in an array of their own, as apportion() reads
/// them.
struct KeyedCounts {
  /// Blocks of a rank that go to `peer`, or come from it, and belong to `target`.
  struct Key {
    std::uint32_t peer = 0;
    std::uint32_t target = 0;
    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr)
  };

  explicit KeyedCounts(Ledger& ledger) : keys(ledger), counts(ledger) {}

  void reserve(std::size_t size) {
    keys.reserve(size);
    counts.reserve(size);
  }
  void clear() {
    keys.clear();
    counts.clear();
  }
  /// Enters a key above all so far.
  void append(Key key, std::uint64_t blocks) {
    keys.push_back(key);
    counts.push_back(blocks);
  }

  /// Adds to the count of a key, which is entered where it is new. Sums are modulo 2^64. The memory
  /// is that of the most keys there ever were, and grows by one: who has a limit can reckon with
  /// it.
  void add(Key key, std::uint64_t blocks) {
    const auto found = std::lower_bound(keys.begin(), keys.end(), key);
    const auto at = found - keys.begin();
    if (found == keys.end() || *found != key) {
      if (keys.size() == keys.capacity()) keys.reserve(keys.size() + 1);
      if (counts.size() == counts.capacity()) counts.reserve(counts.size() + 1);
      keys.insert(keys.begin() + at, key);
      counts.insert(counts.begin() + at, 0);
    }
    counts[static_cast<std::size_t>(at)] += blocks;
  }

  /// The position of the first entry of a peer, or of those above it.
  [[nodiscard]] std::size_t find_peer(std::uint32_t peer) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(keys, Key{peer, 0}) - keys.begin());
  }

  void drop_zeros() {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (counts[i] == 0) continue;
      keys[kept] = keys[i];
      counts[kept++] = counts[i];
    }
    keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(kept), keys.end());
    counts.erase(counts.begin() + static_cast<std::ptrdiff_t>(kept), counts.end());
  }

  [[nodiscard]] std::uint64_t sum() const {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
  }

  Vector<Key> keys;
  Vector<std::uint64_t> counts;
};

class PhasedRank {
 public:
  using Key = KeyedCounts::Key;

  PhasedRank(Ledger& ledger, std::uint64_t seed, std::uint32_t rank)
      : row(ledger), column(ledger), rank_(rank), random_(seed, rank) {}

  /// Blocks that this rank has for others, by who receives them next and by target. That is the
  /// target, or a substitute, which may be this rank: then the target has not been told of them.
  KeyedCounts row;
  /// Blocks that it is to receive, by source and target: the same entry as in the row of the
  /// source. The target is another rank where this one receives in place of that.
  KeyedCounts column;

  /// Figure 7: divides free memory among the sources. What is received in place of other ranks
  /// waits here from now on.
  /// @param equal_phases  ReceiverPhase::equal_phases_left. @param counts  Memory to use.
  /// @param sink    Is passed (key, blocks) for each entry of the column; blocks may be 0. The
  ///                source is to be told: it takes them off its row.
  template <class Sink>
  void credit(Heuristic heuristic, std::uint64_t free, std::uint64_t equal_phases,
              Vector<std::uint64_t>& counts, Sink&& sink) {
    resize(counts, column.counts.size());
    apportion(heuristic, {column.counts, free, equal_phases}, random_, counts);
    for (std::size_t entry = 0; entry < counts.size(); ++entry) {
      const Key key = column.keys[entry];
      column.counts[entry] -= counts[entry];
      if (key.target != rank_ && counts[entry] > 0) row.add({rank_, key.target}, counts[entry]);
      sink(key, counts[entry]);
    }
  }

  /// Figure 8: what it reports to the root, when credits have been taken off both sides. It parts
  /// with no more than it sends to the targets themselves, and takes no more than can be kept
  /// account of, with what it receives in place of others.
  /// @param left     What it has beside what was credited.
  /// @param sending  Blocks that it sends in this phase.
  [[nodiscard]] std::int64_t balance(const PhaseStart& left, std::uint64_t sending) const {
    std::uint64_t own = 0;
    std::uint64_t for_others = 0;  // where there is room, all of the column has been credited
    for (std::size_t entry = 0; entry < row.keys.size(); ++entry) {
      if (is_direct(row.keys[entry])) own += row.counts[entry];
      if (row.keys[entry].peer == rank_) for_others += row.counts[entry];
    }
    const std::uint64_t room = left.waiting_room - std::min(left.waiting_room, for_others);
    return std::clamp(parking_balance(column.sum(), left.free, sending),
                      -static_cast<std::int64_t>(room), static_cast<std::int64_t>(own));
  }

  /// Chooses the blocks that matches from this rank take, of those that go to their targets.
  /// @param matches  By `to`. @param counts  Memory to use.
  /// @param sink   Is passed (entry of the row, where they go, blocks). They are to be taken off
  ///               the entry, and the target and the receiver are to be told.
  template <class Sink>
  void choose_parked(std::span<Match> matches, Vector<std::uint64_t>& counts, Sink&& sink) const {
    resize(counts, row.counts.size());
    for (std::size_t entry = 0; entry < counts.size(); ++entry)
      counts[entry] = is_direct(row.keys[entry]) ? row.counts[entry] : 0;
    choose_blocks(
        matches, [](const Match& match) { return match.to; },
        [&](std::size_t entry) { return row.keys[entry].peer; }, std::span<std::uint64_t>(counts),
        [&](const Match& match, std::size_t entry, std::uint64_t blocks) {
          sink(entry, match.to, blocks);
        });
  }
  /// A source has sent blocks for this rank to `receiver`.
  void sent_to(std::uint32_t source, std::uint32_t receiver, std::uint64_t blocks) {
    column.add({source, rank_}, std::uint64_t{0} - blocks);
    if (receiver != rank_) column.add({receiver, rank_}, blocks);
  }
  /// Blocks that were parked here: their target knows of them.
  void parked_here(std::uint32_t target, std::uint64_t blocks) {
    row.add({target, target}, blocks);
  }

  /// Heuristic::continuous: chooses the sources from which others receive in this rank's place.
  /// @param matches  By `from`, the substitutes. @param counts  Memory to use.
  /// @param sink   Is passed (entry of the column, substitute, blocks). They are to be taken off
  ///               the entry, and the source and the substitute are to be told.
  template <class Sink>
  void choose_handed(std::span<Match> matches, Vector<std::uint64_t>& counts, Sink&& sink) const {
    resize(counts, column.counts.size());
    std::ranges::copy(column.counts, counts.begin());
    choose_blocks(
        matches, [](const Match& match) { return match.from; },
        [&](std::size_t entry) { return column.keys[entry].peer; },
        std::span<std::uint64_t>(counts),
        [&](const Match& match, std::size_t entry, std::uint64_t blocks) {
          sink(entry, match.from, blocks);
        });
  }
  /// Blocks of this rank for `target` go to a substitute, or wait here if that is this rank.
  void goes_to_substitute(std::uint32_t target, std::uint32_t substitute, std::uint64_t blocks) {
    row.add({target, target}, std::uint64_t{0} - blocks);
    row.add({substitute, target}, blocks);
  }
  /// This rank receives blocks of a source in place of `target`; its own are here already.
  void replaces(std::uint32_t target, std::uint32_t source, std::uint64_t blocks) {
    if (source != rank_) column.add({source, target}, blocks);
  }
  /// What this rank has received as a substitute is from now on like what was parked.
  /// @param sink  Is passed (target, blocks): the target is to be told.
  template <class Sink>
  void report_waiting(Sink&& sink) {
    for (std::size_t entry = 0; entry < row.keys.size(); ++entry) {
      const Key key = row.keys[entry];
      if (key.peer != rank_ || row.counts[entry] == 0) continue;
      const std::uint64_t blocks = std::exchange(row.counts[entry], 0);
      row.add({key.target, key.target}, blocks);  // may move this entry, which is passed then
      sink(key.target, blocks);
    }
  }

  /// Forgets what is done.
  void drop_zeros() {
    row.drop_zeros();
    column.drop_zeros();
  }

 private:
  [[nodiscard]] static bool is_direct(const Key& key) { return key.peer == key.target; }
  /// Without what was there: it is never there twice.
  static void resize(Vector<std::uint64_t>& counts, std::size_t size) {
    if (size > counts.capacity()) {
      Vector<std::uint64_t>(counts.get_allocator()).swap(counts);
      counts.reserve(size);
    }
    counts.resize(size);
  }

  std::uint32_t rank_;
  ReceiverRandom random_;
};

}  // namespace valet::schedule
