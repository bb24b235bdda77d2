// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Who decides what a phase of PHASED moves, in numbers of blocks. In all of them no rank receives
/// more in a phase than the free memory it has when the phase begins.

#include "mpi/root.hpp"
#include "schedule/keyed_counts.hpp"
#include "schedule/parking.hpp"
#include <valet/ledger.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

namespace valet::engine {

/// What moves in a phase on this rank.
struct PhaseMoves {
  explicit PhaseMoves(Ledger& ledger) : sends(ledger), receives(ledger) {}
  void clear() {
    sends.clear();
    receives.clear();
  }

  /// By the rank that they are sent to, and the target: they wait there, unless it is that.
  schedule::KeyedCounts sends;
  schedule::KeyedCounts receives;  ///< by source, as both ranks of the key
};

using schedule::PhaseStart;

class Phases {
 public:
  Phases() = default;
  Phases(const Phases&) = delete;
  Phases& operator=(const Phases&) = delete;
  virtual ~Phases() = default;

  /// Decides the next phase. False when this rank takes part in no more of them. Collective among
  /// neighbours, or over all ranks where a root has a say.
  virtual bool next(const PhaseStart& start, PhaseMoves& moves) = 0;
  /// Tells that blocks for `target` came in this phase to wait here.
  virtual void waits_here(int target, std::uint64_t blocks) = 0;
};

/// Gives every rank its pairs of words. Collective; returns those of this rank.
/// @param list     On the root, ascending by rank. Elsewhere empty.
/// @param rank_of  rank_of(item). @param words_of  words_of(item): two words.
template <class List, class RankOf, class WordsOf>
[[nodiscard]] Vector<std::uint64_t> scatter_pairs(const mpi::Channel& channel, Ledger& ledger,
                                                  const List& list, RankOf&& rank_of,
                                                  WordsOf&& words_of) {
  Array<int> counts(ledger, mpi::ranks_on_root(channel));
  std::fill(counts.begin(), counts.end(), 0);
  Vector<std::uint64_t> words(ledger);
  words.reserve(2 * list.size());
  for (const auto& item : list) {
    counts[rank_of(item)] += 2;
    for (const std::uint64_t word : words_of(item)) words.push_back(word);
  }
  Vector<std::uint64_t> own(ledger);
  mpi::scatter_lists(channel, words, {counts.data(), counts.size()}, own, ledger);
  return own;
}

/// Whether some blocks wait on their way.
[[nodiscard]] inline bool blocks_wait(const Options& options) {
  return options.phased.parking > 0 || options.phased.heuristic == Heuristic::continuous;
}

}  // namespace valet::engine
