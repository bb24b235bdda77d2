// SPDX-License-Identifier: BSD-3-Clause

// Phases that rank 0 makes from the whole matrix (Pinar and Hendrickson section 6.1): gather,
// solve, scatter. One phase is scattered at a time, so that no schedule is stored, and the ranks
// send the root what memory they have before each.

#include "engine/phased/phased_budget.hpp"
#include "engine/phased/phases.hpp"
#include "mpi/check.hpp"
#include "schedule/phase_scheduler.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <array>

namespace valet::engine {
namespace {

using schedule::Move;
using schedule::PhaseScheduler;

class CentralizedPhases final : public Phases {
 public:
  /// Every rank sends its free memory, what may wait there, and its row: destination, blocks.
  CentralizedPhases(const plan::State& state, const PhaseStart& start, Report& report)
      : channel_(state.channel), ledger_(state.ledger), report_(report) {
    const double began = mpi::now();
    Vector<std::uint64_t> words(ledger_), all(ledger_);
    words.reserve(2 + 2 * state.flows.outgoing.size());
    words.push_back(start.free);
    words.push_back(start.waiting_room);
    for (const plan::Outgoing& flow : state.flows.outgoing) {
      words.push_back(static_cast<std::uint64_t>(flow.rank));
      words.push_back(flow.count);
    }
    const std::size_t ranks = mpi::ranks_on_root(channel_);
    Array<int> counts(ledger_, ranks);
    mpi::gather_lists(channel_, words, std::span<int>(counts.data(), ranks), all, ledger_);
    const double gathered = mpi::now();
    report.gather_seconds = gathered - began;
    if (ranks == 0) return;
    Vector<schedule::TransferEntry> transfers(ledger_);
    Vector<PhaseStart> starts(ledger_);
    transfers.reserve(all.size() / 2 - ranks);
    starts.reserve(ranks);
    auto word = all.begin();
    for (std::uint32_t source = 0; source < ranks; ++source) {
      starts.push_back({word[0], word[1]});
      for (const auto end = word + counts[source]; (word += 2) != end;)
        transfers.push_back({source, static_cast<std::uint32_t>(word[0]), word[1]});
    }
    scheduler_ =
        std::make_unique<PhaseScheduler>(ledger_, transfers, starts, state.options.phased,
                                         most_pairs(ranks, transfers.size(), state.schedule_bytes));
    report.solve_seconds = mpi::now() - gathered;
  }

  bool next(const PhaseStart& start, PhaseMoves& moves) override {
    moves.clear();
    const double began = mpi::now();
    std::array<std::uint64_t, 1> more{solve(start) ? 1U : 0U};
    const double solved = mpi::now();
    if (scheduler_) report_.solve_seconds += solved - began;
    mpi::broadcast_words(channel_, more);
    if (more[0] == 0) {
      if (scheduler_ && !scheduler_->done())
        throw Error(ErrorCode::internal, "the phases ended before all blocks had moved");
      return false;
    }
    scatter(moves);
    report_.scatter_seconds += mpi::now() - (scheduler_ ? solved : began);
    return true;
  }

 private:
  /// Tells the root what every rank has, and makes the phase there.
  bool solve(const PhaseStart& start) {
    static_assert(sizeof(PhaseStart) == 2 * sizeof(std::uint64_t));
    const std::array<std::uint64_t, 2> mine{start.free, start.waiting_room};
    std::span<PhaseStart> all;
    if (scheduler_) all = scheduler_->starts();
    mpi::gather_words(channel_, mine,
                      {reinterpret_cast<std::uint64_t*>(all.data()), mine.size() * all.size()});
    return scheduler_ && scheduler_->next();
  }
  /// Tells every rank what it sends, then what it receives.
  void scatter(PhaseMoves& moves) {
    std::span<Move> all;
    if (scheduler_) all = scheduler_->moves();
    scatter_counts<Move>(channel_, ledger_, all, &Move::source, &Move::receiver, &Move::target,
                         moves.sends);
    std::ranges::sort(all, {}, &Move::receiver);
    scatter_counts<Move>(channel_, ledger_, all, &Move::receiver, &Move::source, &Move::source,
                         moves.receives);
  }

  const mpi::Channel& channel_;
  Ledger& ledger_;
  Report& report_;
  std::unique_ptr<PhaseScheduler> scheduler_;  ///< on the root
};

}  // namespace

std::unique_ptr<Phases> centralized_phases(const plan::State& state, const PhaseStart& start,
                                           Report& report) {
  return std::make_unique<CentralizedPhases>(state, start, report);
}

}  // namespace valet::engine
