// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Who decides what a phase of PHASED moves, in numbers of blocks. In all of them no rank receives
/// more in a phase than the free memory it has when the phase begins.

#include "mpi/root.hpp"
#include "plan/plan_state.hpp"
#include "schedule/phased_rank.hpp"
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
  virtual void waits_here(int /*target*/, std::uint64_t /*blocks*/) {}
};

/// Phases that the ranks negotiate among neighbours. Collective where a root has a say.
[[nodiscard]] std::unique_ptr<Phases> distributed_phases(const plan::State& state,
                                                         const PhaseStart& start);
/// Phases that a root makes from the whole matrix. Collective: gathers. Counts the seconds of its
/// parts in `report`.
[[nodiscard]] std::unique_ptr<Phases> centralized_phases(const plan::State& state,
                                                         const PhaseStart& start, Report& report);

/// Gives every rank its entries of a list. Collective.
/// @param list  On the root: ascending by `rank`, with the `blocks` of each. Elsewhere empty.
/// @param rank, peer, target  Whose an entry is, and its key.
/// @param own   Gets those of this rank.
template <class Item>
void scatter_counts(const mpi::Channel& channel, Ledger& ledger, std::span<const Item> list,
                    std::uint32_t Item::*rank, std::uint32_t Item::*peer,
                    std::uint32_t Item::*target, schedule::KeyedCounts& own) {
  Array<int> counts(ledger, mpi::ranks_on_root(channel));
  std::fill(counts.begin(), counts.end(), 0);
  Vector<std::uint64_t> all(ledger), words(ledger);
  all.reserve(2 * list.size());
  for (const Item& item : list) {
    counts[item.*rank] += 2;
    all.push_back(std::uint64_t{item.*peer} << 32 | item.*target);
    all.push_back(item.blocks);
  }
  mpi::scatter_lists(channel, all, counts, words, ledger);
  own.clear();
  own.reserve(words.size() / 2);
  for (std::size_t k = 0; k < words.size(); k += 2)
    own.add({static_cast<std::uint32_t>(words[k] >> 32),
             static_cast<std::uint32_t>(words[k] & 0xffffffff)},
            words[k + 1]);
}

/// Whether some blocks wait on their way.
[[nodiscard]] inline bool blocks_wait(const Options& options) {
  return options.phased.parking > 0 || options.phased.heuristic == Heuristic::continuous;
}

}  // namespace valet::engine
