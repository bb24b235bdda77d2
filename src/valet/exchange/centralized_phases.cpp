// SPDX-License-Identifier: BSD-3-Clause
#include <valet/exchange/centralized_phases.hpp>
#include <valet/mpi/check.hpp>
#include <valet/mpi/root.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <tuple>

namespace valet {
namespace {

using schedule::Move;
using schedule::PhaseScheduler;

bool is_root(const mpi::Channel& channel) { return channel.rank() == mpi::root; }

std::size_t ranks_on_root(const mpi::Channel& channel) {
  return is_root(channel) ? static_cast<std::size_t>(channel.size()) : 0;
}

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

/// Entries of every row and the free memory of every rank.
void gather_sizes(const mpi::Channel& channel, const PhaseProblem& problem,
                  Vector<std::uint64_t>& free, Array<int>& counts, Ledger& ledger) {
  const std::array<std::uint64_t, 2> mine{problem.outgoing.size(), problem.free};
  Array<std::uint64_t> sizes(ledger, 2 * ranks_on_root(channel));
  mpi::gather_words(channel, mine, {sizes.data(), sizes.size()});
  free.resize(ranks_on_root(channel));
  for (std::size_t rank = 0; rank < free.size(); ++rank) {
    counts[rank] = mpi::checked_count(2 * sizes[2 * rank]);
    free[rank] = sizes[2 * rank + 1];
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

schedule::PhaseOptions phase_options(const Options& options) {
  return {options.heuristic, static_cast<std::uint64_t>(options.parking), options.seed};
}

/// A quarter more than what the scheduler begins with, for what parking adds; checked by trying.
std::size_t first_guess(std::size_t ranks, std::size_t nonzeros) {
  const std::size_t gathered = 2 * sizeof(schedule::TransferEntry) * nonzeros + 40 * ranks;
  const std::size_t bytes = PhaseScheduler::bytes(ranks, nonzeros) + gathered +
                            (sizeof(Move) + 4 * sizeof(std::uint64_t)) * (nonzeros + ranks);
  return bytes + bytes / 4;
}

/// Makes all phases on numbers. The bytes that takes, or more than `most` when it is more.
std::size_t try_out(const GatheredMatrix& matrix, const Options& options, std::size_t most) {
  Ledger ledger;
  PhaseScheduler scheduler(ledger, matrix.transfers, matrix.free, phase_options(options));
  std::size_t most_moves = 0;
  while (scheduler.next() && ledger.peak_bytes() <= most)
    most_moves = std::max(most_moves, scheduler.moves().size());
  // A phase is copied to be sorted, and turned into words.
  return ledger.peak_bytes() + (sizeof(Move) + 4 * sizeof(std::uint64_t)) * most_moves +
         2 * sizeof(schedule::TransferEntry) * matrix.transfers.size() + 40 * matrix.free.size();
}

}  // namespace

CentralizedPhases::CentralizedPhases(const mpi::Channel& channel, Ledger& ledger,
                                     const Options& options, const PhaseProblem& problem,
                                     Report& report)
    : channel_(channel), ledger_(ledger), report_(report) {
  const double start = mpi::now();
  GatheredMatrix matrix(ledger);
  {
    Array<int> counts(ledger, ranks_on_root(channel));
    gather_sizes(channel, problem, matrix.free, counts, ledger);
    gather_rows(channel, problem, counts, ledger, matrix);
  }
  const double gathered = mpi::now();
  report.gather_seconds = gathered - start;
  if (!is_root(channel)) return;
  scheduler_ = std::make_unique<PhaseScheduler>(ledger, matrix.transfers, matrix.free,
                                                phase_options(options));
  report.solve_seconds = mpi::now() - gathered;
}

bool CentralizedPhases::next(const PhaseStart&, PhaseMoves& moves) {
  moves.sends.clear();
  moves.receives.clear();
  const double start = mpi::now();
  std::array<std::uint64_t, 1> more{0};
  if (scheduler_) more[0] = scheduler_->next() ? 1 : 0;
  const double solved = mpi::now();
  if (scheduler_) report_.solve_seconds += solved - start;
  mpi::broadcast_words(channel_, more);
  if (more[0] == 0) {
    if (scheduler_ && !scheduler_->done())
      throw Error(ErrorCode::internal, "the phases ended before all blocks had moved");
    return false;
  }
  scatter(moves);
  moves.arrange();
  report_.scatter_seconds += mpi::now() - (scheduler_ ? solved : start);
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

std::optional<Defect> find_room_for_schedule(
    const mpi::Channel& channel, Ledger& ledger, const Options& options,
    const PhaseProblem& problem, std::size_t least_bytes,
    const std::function<std::uint64_t(std::size_t)>& free_with, std::size_t& reserved) {
  GatheredMatrix matrix(ledger);
  Array<int> counts(ledger, ranks_on_root(channel));
  gather_sizes(channel, problem, matrix.free, counts, ledger);
  const std::size_t ranks = counts.size();
  std::size_t nonzeros = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    nonzeros += static_cast<std::size_t>(counts[rank]) / 2;
  const std::size_t promised = 64 * ranks;
  const std::size_t room =
      options.budget_bytes + promised - std::min(options.budget_bytes, least_bytes);
  std::size_t needed = first_guess(ranks, nonzeros);
  // The ranks meet once more to gather only if the root has room for that.
  std::array<std::uint64_t, 1> goes_on{needed <= room ? 1U : 0U};
  mpi::broadcast_words(channel, goes_on);
  bool fits = goes_on[0] != 0;
  if (fits) gather_rows(channel, problem, counts, ledger, matrix);
  if (!is_root(channel)) return std::nullopt;
  for (bool tried = false; fits && !tried;) {
    reserved = needed > promised ? needed - promised : 0;
    matrix.free[mpi::root] = free_with(reserved);
    const std::size_t used = try_out(matrix, options, needed);
    ledger.add(used);
    ledger.subtract(used);
    tried = used <= needed;
    if (!tried) needed = used + used / 2;
    fits = needed <= room;
  }
  if (fits) return std::nullopt;
  return Defect{ErrorCode::budget_too_small,
                "method phased with the centralized scheduler needs " + std::to_string(needed) +
                    " bytes here for the " + std::to_string(nonzeros) +
                    " transfers of all ranks, beside one block of scratch; the budget is " +
                    std::to_string(options.budget_bytes) +
                    " bytes; raise budget_bytes or take the distributed scheduler"};
}

}  // namespace valet
