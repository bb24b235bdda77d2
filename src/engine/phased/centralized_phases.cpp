// SPDX-License-Identifier: BSD-3-Clause
#include "engine/phased/centralized_phases.hpp"

#include "mpi/check.hpp"
#include "mpi/root.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>

namespace valet::engine {
namespace {

using schedule::Move;
using schedule::PhaseScheduler;

using mpi::ranks_on_root;

bool is_root(const mpi::Channel& channel) { return channel.rank() == mpi::root; }

/// The matrix of all transfers and what every rank has, on the root; empty elsewhere.
struct GatheredMatrix {
  explicit GatheredMatrix(Ledger& ledger) : transfers(ledger), starts(ledger) {}
  Vector<schedule::TransferEntry> transfers;  ///< by (source, destination)
  Vector<PhaseStart> starts;
};

/// Every rank sends its free memory, what may wait there, and its row: destination, blocks.
GatheredMatrix gather_matrix(const mpi::Channel& channel, Ledger& ledger, const plan::Flows& flows,
                             const PhaseStart& start) {
  Vector<std::uint64_t> words(ledger);
  words.reserve(2 + 2 * flows.outgoing.size());
  words.push_back(start.free);
  words.push_back(start.waiting_room);
  for (const plan::Outgoing& flow : flows.outgoing) {
    words.push_back(static_cast<std::uint64_t>(flow.rank));
    words.push_back(flow.count);
  }
  const std::size_t ranks = ranks_on_root(channel);
  Array<int> counts(ledger, ranks);
  Vector<std::uint64_t> all(ledger);
  mpi::gather_lists(channel, words, std::span<int>(counts.data(), counts.size()), all, ledger);
  GatheredMatrix matrix(ledger);
  matrix.starts.reserve(ranks);
  matrix.transfers.reserve(all.size() / 2 - ranks);
  auto word = all.begin();
  for (std::uint32_t source = 0; source < ranks; ++source) {
    matrix.starts.push_back({word[0], word[1]});
    for (const auto end = word + counts[source]; (word += 2) != end;)
      matrix.transfers.push_back({source, static_cast<std::uint32_t>(word[0]), word[1]});
  }
  return matrix;
}

schedule::PhaseOptions phase_options(const Options& options, std::size_t most_pairs) {
  return {options.phased.heuristic, static_cast<std::uint64_t>(options.phased.parking),
          options.phased.seed, most_pairs};
}

/// All that the root keeps with room for so many pairs and as many moves in a phase.
std::size_t schedule_bytes_for(std::size_t ranks, std::size_t nonzeros, std::size_t pairs) {
  // While the scheduler is made: the matrix, and the rows that it is made of, with their lengths.
  const std::size_t gathered = 2 * sizeof(schedule::TransferEntry) * nonzeros +
                               (2 * sizeof(PhaseStart) + 2 * sizeof(int)) * ranks;
  // In a phase: lengths again, and the words that moves are turned into.
  const std::size_t scattered =
      2 * sizeof(int) * ranks + 4 * sizeof(std::uint64_t) * (pairs + ranks);
  return PhaseScheduler::bytes(ranks, pairs) + std::max(gathered, scattered);
}

/// The most pairs for which that is no more than `bytes`.
std::size_t pairs_within(std::size_t ranks, std::size_t nonzeros, std::size_t bytes) {
  std::size_t least = nonzeros, above = nonzeros + bytes + 1;
  while (above - least > 1) {
    const std::size_t pairs = least + (above - least) / 2;
    (schedule_bytes_for(ranks, nonzeros, pairs) <= bytes ? least : above) = pairs;
  }
  return least;
}

std::size_t promised_bytes(std::size_t ranks) { return 64 * ranks; }

}  // namespace

CentralizedPhases::CentralizedPhases(const mpi::Channel& channel, Ledger& ledger,
                                     const Options& options, const plan::Flows& flows,
                                     const PhaseStart& begin, std::size_t schedule_bytes,
                                     Report& report)
    : channel_(channel), ledger_(ledger), report_(report) {
  const double start = mpi::now();
  const GatheredMatrix matrix = gather_matrix(channel, ledger, flows, begin);
  const double gathered = mpi::now();
  report.gather_seconds = gathered - start;
  if (!is_root(channel)) return;
  const std::size_t ranks = matrix.starts.size();
  const std::size_t most_pairs =
      pairs_within(ranks, matrix.transfers.size(), schedule_bytes + promised_bytes(ranks));
  scheduler_ = std::make_unique<PhaseScheduler>(ledger, matrix.transfers, matrix.starts,
                                                phase_options(options, most_pairs));
  report.solve_seconds = mpi::now() - gathered;
}

/// Tells the root what every rank has, and makes the phase there.
bool CentralizedPhases::solve(const PhaseStart& start) {
  static_assert(sizeof(PhaseStart) == 2 * sizeof(std::uint64_t));
  const std::array<std::uint64_t, 2> mine{start.free, start.waiting_room};
  std::span<PhaseStart> all;
  if (scheduler_) all = scheduler_->starts();
  mpi::gather_words(channel_, mine,
                    {reinterpret_cast<std::uint64_t*>(all.data()), mine.size() * all.size()});
  return scheduler_ && scheduler_->next();
}

bool CentralizedPhases::next(const PhaseStart& start, PhaseMoves& moves) {
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

/// Tells every rank what it sends, then what it receives.
void CentralizedPhases::scatter(PhaseMoves& moves) {
  std::span<Move> all;
  if (scheduler_) all = scheduler_->moves();
  Vector<std::uint64_t> own = scatter_pairs(
      channel_, ledger_, all, [](const Move& move) { return move.source; },
      [](const Move& move) {
        return std::array{std::uint64_t{move.place} << 32 | move.target, move.blocks};
      });
  moves.sends.reserve(own.size() / 2);
  for (std::size_t k = 0; k < own.size(); k += 2)
    moves.sends.add(
        {static_cast<std::uint32_t>(own[k] >> 32), static_cast<std::uint32_t>(own[k] & 0xffffffff)},
        own[k + 1]);
  std::ranges::sort(all, {}, &Move::place);
  own = scatter_pairs(
      channel_, ledger_, all, [](const Move& move) { return move.place; },
      [](const Move& move) {
        return std::array{std::uint64_t{move.source}, move.blocks};
      });
  moves.receives.reserve(own.size() / 2);
  for (std::size_t k = 0; k < own.size(); k += 2) {
    const auto source = static_cast<std::uint32_t>(own[k]);
    moves.receives.add({source, source}, own[k + 1]);
  }
}

ScheduleNeed schedule_need(const mpi::Channel& channel, Ledger& ledger, const Options& options,
                           std::uint64_t transfers) {
  const std::size_t ranks = ranks_on_root(channel);
  Array<std::uint64_t> rows(ledger, ranks);
  mpi::gather_words(channel, {&transfers, 1}, {rows.data(), rows.size()});
  if (!is_root(channel)) return {};
  const auto nonzeros =
      static_cast<std::size_t>(std::accumulate(rows.begin(), rows.end(), std::uint64_t{0}));
  // Pairs that parking adds: a quarter of the transfers and a few for every rank, if they fit.
  const std::size_t added = blocks_wait(options) ? nonzeros / 4 + 4 * ranks : 0;
  const auto of_budget = [&](std::size_t pairs) {
    const std::size_t bytes = schedule_bytes_for(ranks, nonzeros, pairs);
    return bytes - std::min(bytes, promised_bytes(ranks));
  };
  return {nonzeros, of_budget(nonzeros), of_budget(nonzeros + added)};
}

}  // namespace valet::engine
