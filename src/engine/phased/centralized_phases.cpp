// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/centralized_phases.hpp"

#include "mpi/check.hpp"
#include "mpi/root.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

namespace valet::engine {
namespace {

using schedule::Move;
using schedule::PhaseScheduler;

using mpi::ranks_on_root;

bool is_root(const mpi::Channel& channel) { return channel.rank() == mpi::root; }

/// Rows of the matrix as they are sent: destination, blocks.
Vector<std::uint64_t> row_words(Ledger& ledger, const PhaseProblem& problem) {
  Vector<std::uint64_t> words{LedgerAllocator<std::uint64_t>(ledger)};
  words.reserve(2 * problem.outgoing.size());
  for (const PeerBlocks& entry : problem.outgoing) {
    words.push_back(static_cast<std::uint64_t>(entry.rank));
    words.push_back(entry.blocks);
  }
  return words;
}

/// Entries of every row, the free memory of every rank and what may wait there.
void gather_sizes(const mpi::Channel& channel, const PhaseProblem& problem, GatheredMatrix& matrix,
                  Array<int>& counts, Ledger& ledger) {
  const PhaseStart& start = problem.start;
  const std::array<std::uint64_t, 4> mine{problem.outgoing.size(), start.free, start.waiting_room,
                                          start.waiting_groups};
  const std::size_t ranks = ranks_on_root(channel);
  Array<std::uint64_t> sizes(ledger, mine.size() * ranks);
  mpi::gather_words(channel, mine, {sizes.data(), sizes.size()});
  matrix.free.reserve(ranks);
  matrix.limits.reserve(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t* const of = sizes.data() + mine.size() * rank;
    counts[rank] = mpi::checked_count(2 * of[0]);
    matrix.free.push_back(of[1]);
    matrix.limits.push_back({of[2], of[3], of[0]});
  }
}

void gather_rows(const mpi::Channel& channel, const PhaseProblem& problem, const Array<int>& counts,
                 Ledger& ledger, GatheredMatrix& matrix) {
  std::uint64_t words = 0;
  for (const int count : std::span(counts.begin(), counts.size()))
    words += static_cast<std::uint64_t>(count);
  Array<std::uint64_t> rows(ledger, static_cast<std::size_t>(words));
  mpi::gather_lists(channel, row_words(ledger, problem), {counts.data(), counts.size()},
                    {rows.data(), rows.size()}, ledger);
  matrix.transfers.reserve(static_cast<std::size_t>(words / 2));
  std::size_t at = 0;
  for (std::uint32_t source = 0; source < counts.size(); ++source)
    for (int k = 0; k < counts[source]; k += 2, at += 2)
      matrix.transfers.push_back({source, static_cast<std::uint32_t>(rows[at]), rows[at + 1]});
  std::sort(matrix.transfers.begin(), matrix.transfers.end(), [](const auto& a, const auto& b) {
    return std::tie(a.destination, a.source) < std::tie(b.destination, b.source);
  });
}

schedule::PhaseOptions phase_options(const Options& options, std::size_t most_pairs) {
  return {options.phased.heuristic, static_cast<std::uint64_t>(options.phased.parking),
          options.phased.seed, most_pairs};
}

/// All that the root keeps with room for so many pairs and as many moves in a phase.
std::size_t schedule_bytes_for(std::size_t ranks, std::size_t nonzeros, std::size_t pairs) {
  // While the scheduler is made: the matrix, and the rows that it is made of, with their lengths.
  const std::size_t gathered =
      2 * sizeof(schedule::TransferEntry) * nonzeros +
      (sizeof(std::uint64_t) + sizeof(schedule::WaitingLimit) + 2 * sizeof(int)) * ranks;
  // In a phase: what every rank has, lengths again; moves are copied to be sorted, and turned into
  // words.
  const std::size_t starts = (sizeof(PhaseStart) + 2 * sizeof(int)) * ranks;
  const std::size_t moves = (sizeof(Move) + 4 * sizeof(std::uint64_t)) * (pairs + ranks);
  return PhaseScheduler::bytes(ranks, pairs) + std::max(gathered, starts + moves);
}

/// The most pairs for which that is no more than `bytes`.
std::size_t pairs_within(std::size_t ranks, std::size_t nonzeros, std::size_t bytes) {
  std::size_t low = nonzeros;
  std::size_t high = nonzeros + bytes;
  while (low < high) {
    const std::size_t middle = low + (high - low + 1) / 2;
    if (schedule_bytes_for(ranks, nonzeros, middle) <= bytes)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

std::size_t promised_bytes(std::size_t ranks) { return 64 * ranks; }

/// Makes all phases on numbers. The pairs that it wants room for: more than `most_pairs` only where
/// Heuristic::continuous cannot do with less.
std::size_t try_out(GatheredMatrix& matrix, const Options& options, std::size_t most_pairs) {
  Ledger ledger;
  const Vector<schedule::WaitingLimit> limits = matrix.limits;
  PhaseScheduler scheduler(ledger, matrix.transfers, matrix.free,
                           phase_options(options, most_pairs), matrix.limits);
  matrix.limits = limits;
  const std::size_t ranks = matrix.free.size();
  std::size_t most = 0;
  while (scheduler.next())
    most = std::max({most, scheduler.pairs(),
                     scheduler.moves().size() - std::min(ranks, scheduler.moves().size())});
  return most;
}

}  // namespace

CentralizedPhases::CentralizedPhases(const mpi::Channel& channel, Ledger& ledger,
                                     const Options& options, const PhaseProblem& problem,
                                     std::size_t schedule_bytes, Report& report)
    : channel_(channel), ledger_(ledger), report_(report) {
  const double start = mpi::now();
  GatheredMatrix matrix(ledger);
  {
    Array<int> counts(ledger, ranks_on_root(channel));
    gather_sizes(channel, problem, matrix, counts, ledger);
    gather_rows(channel, problem, counts, ledger, matrix);
  }
  const double gathered = mpi::now();
  report.gather_seconds = gathered - start;
  if (!is_root(channel)) return;
  const std::size_t ranks = matrix.free.size();
  const std::size_t most_pairs =
      pairs_within(ranks, matrix.transfers.size(), schedule_bytes + promised_bytes(ranks));
  scheduler_ = std::make_unique<PhaseScheduler>(ledger, matrix.transfers, matrix.free,
                                                phase_options(options, most_pairs), matrix.limits);
  report.solve_seconds = mpi::now() - gathered;
}

/// Tells the root what every rank has, and makes the phase there.
bool CentralizedPhases::solve(const PhaseStart& start) {
  static_assert(sizeof(PhaseStart) == 4 * sizeof(std::uint64_t));
  const std::array<std::uint64_t, 4> mine{start.free, start.waiting_room, start.waiting_groups,
                                          start.groups_here};
  Array<PhaseStart> all(ledger_, ranks_on_root(channel_));
  mpi::gather_words(channel_, mine,
                    {reinterpret_cast<std::uint64_t*>(all.data()), mine.size() * all.size()});
  return scheduler_ && scheduler_->next({all.data(), all.size()});
}

bool CentralizedPhases::next(const PhaseStart& start, PhaseMoves& moves) {
  moves.sends.clear();
  moves.receives.clear();
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
  moves.arrange();
  report_.scatter_seconds += mpi::now() - (scheduler_ ? solved : began);
  return true;
}

/// Tells every rank what it sends, then what it receives.
void CentralizedPhases::scatter(PhaseMoves& moves) {
  Vector<Move> all{LedgerAllocator<Move>(ledger_)};
  if (scheduler_) {
    const auto planned = scheduler_->moves();
    all.assign(planned.begin(), planned.end());
  }
  Array<int> counts(ledger_, ranks_on_root(channel_));
  Vector<std::uint64_t> words{LedgerAllocator<std::uint64_t>(ledger_)};
  Vector<std::uint64_t> own{LedgerAllocator<std::uint64_t>(ledger_)};
  words.reserve(2 * all.size());
  const auto send = [&](auto&& rank_of, auto&& first_word) {
    std::fill(counts.begin(), counts.end(), 0);
    words.clear();
    for (const Move& move : all) {
      counts[rank_of(move)] += 2;
      words.push_back(first_word(move));
      words.push_back(move.blocks);
    }
    mpi::scatter_lists(channel_, words, {counts.data(), counts.size()}, own, ledger_);
  };
  send([](const Move& move) { return move.source; },
       [](const Move& move) { return std::uint64_t{move.place} << 32 | move.target; });
  for (std::size_t k = 0; k < own.size(); k += 2)
    moves.sends.push_back(
        {static_cast<int>(own[k] >> 32), static_cast<int>(own[k] & 0xffffffff), own[k + 1]});
  std::sort(all.begin(), all.end(), [](const Move& a, const Move& b) { return a.place < b.place; });
  send([](const Move& move) { return move.place; },
       [](const Move& move) { return std::uint64_t{move.source}; });
  for (std::size_t k = 0; k < own.size(); k += 2)
    moves.receives.push_back({static_cast<int>(own[k]), own[k + 1]});
}

std::optional<Diagnostic> find_room_for_schedule(
    const mpi::Channel& channel, Ledger& ledger, const Options& options,
    const PhaseProblem& problem, std::size_t least_bytes,
    const std::function<PhaseStart(std::size_t)>& start_with, std::size_t& reserved) {
  GatheredMatrix matrix(ledger);
  Array<int> counts(ledger, ranks_on_root(channel));
  gather_sizes(channel, problem, matrix, counts, ledger);
  const std::size_t ranks = counts.size();
  std::size_t nonzeros = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    nonzeros += static_cast<std::size_t>(counts[rank]) / 2;
  const std::size_t promised = promised_bytes(ranks);
  const std::size_t room =
      options.budget_bytes + promised - std::min(options.budget_bytes, least_bytes);
  // A quarter more than the transfers, for what parking adds.
  std::size_t needed = schedule_bytes_for(ranks, nonzeros, nonzeros + nonzeros / 4);
  // The ranks meet once more to gather only if the root has room for that.
  std::array<std::uint64_t, 1> goes_on{needed <= room ? 1U : 0U};
  mpi::broadcast_words(channel, goes_on);
  bool fits = goes_on[0] != 0;
  if (fits) gather_rows(channel, problem, counts, ledger, matrix);
  if (!is_root(channel)) return std::nullopt;
  for (bool tried = false; fits && !tried;) {
    reserved = needed > promised ? needed - promised : 0;
    const PhaseStart start = start_with(reserved);
    matrix.free[mpi::root] = start.free;
    matrix.limits[mpi::root].blocks = start.waiting_room;
    matrix.limits[mpi::root].groups = start.waiting_groups;
    const std::size_t pairs = try_out(matrix, options, pairs_within(ranks, nonzeros, room));
    const std::size_t used = schedule_bytes_for(ranks, nonzeros, pairs);
    ledger.add(used);
    ledger.subtract(used);
    tried = used <= needed;
    // With less scratch more may have to wait: some room beyond what was wanted now.
    if (!tried) needed = used > room ? used : std::min(used + used / 4, room);
    fits = needed <= room;
  }
  if (fits) return std::nullopt;
  return Diagnostic{ErrorCode::budget_too_small,
                    "method phased with the centralized scheduler needs " + std::to_string(needed) +
                        " bytes here for the " + std::to_string(nonzeros) +
                        " transfers of all ranks, beside one block of scratch; the budget is " +
                        std::to_string(options.budget_bytes) +
                        " bytes; raise budget_bytes or take the distributed scheduler"};
}

}  // namespace valet::engine
