// SPDX-License-Identifier: BSD-3-Clause
#include "flow_model.hpp"

#include <algorithm>
#include <cmath>

namespace valet::plan {
namespace {

std::vector<std::uint32_t> destinations_of(const schedule::TransferMatrix& matrix) {
  std::vector<std::uint32_t> destinations;
  for (const schedule::TransferEntry& transfer : matrix.transfers())
    if (destinations.empty() || destinations.back() != transfer.destination)
      destinations.push_back(transfer.destination);
  return destinations;
}

}  // namespace

std::uint64_t FlowModel::unknowns(const Problem& problem, std::uint64_t phases) {
  const std::uint64_t per_phase =
      3 * std::uint64_t{problem.matrix.ranks()} * destinations_of(problem.matrix).size();
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return phases > most / per_phase ? most : phases * per_phase;
}

FlowModel::FlowModel(const Problem& problem, std::uint64_t phases)
    : phases_(phases),
      ranks_(problem.matrix.ranks()),
      destinations_(destinations_of(problem.matrix)) {
  add_rows(problem);
  add_columns(problem);
}

/// A row for every vertex: what comes in is what goes out. At the first vertices the blocks come in
/// from nowhere, at the last they go out to their destination. And a row for every rank and phase:
/// what is there at its beginning and what arrives fit the memory at the same time.
void FlowModel::add_rows(const Problem& problem) {
  const std::size_t commodities = destinations_.size();
  std::vector<double> balance((phases_ + 1) * commodities * ranks_, 0);
  const std::vector<schedule::RankTotals> totals = problem.matrix.totals(problem.free);
  std::size_t commodity = 0;
  for (const schedule::TransferEntry& transfer : problem.matrix.transfers()) {
    if (destinations_[commodity] != transfer.destination) ++commodity;
    balance[vertex(0, commodity, transfer.source)] = static_cast<double>(transfer.blocks);
    balance[vertex(phases_, commodity, transfer.destination)] =
        -static_cast<double>(totals[transfer.destination].received);
  }
  first_crossing_ = balance.size();
  first_memory_ = first_crossing_ + phases_ * commodities;
  system_.row_least = balance;
  system_.row_least.resize(first_memory_, 0);
  system_.row_most = system_.row_least;
  for (std::size_t phase = 0; phase < phases_; ++phase)
    for (const schedule::RankTotals& rank : totals) {
      system_.row_least.push_back(0);
      system_.row_most.push_back(static_cast<double>(rank.free + rank.sent));
    }
}

void FlowModel::add_edge(double most,
                         std::initializer_list<std::pair<std::size_t, double>> entries) {
  for (const auto& [row, coefficient] : entries) {
    system_.rows.push_back(static_cast<int>(row));
    system_.coefficients.push_back(coefficient);
  }
  system_.starts.push_back(static_cast<int>(system_.rows.size()));
  system_.most.push_back(most);
}

void FlowModel::add_columns(const Problem& problem) {
  const std::vector<schedule::RankTotals> totals = problem.matrix.totals(problem.free);
  for (std::size_t phase = 0; phase < phases_; ++phase)
    for (std::size_t commodity = 0; commodity < destinations_.size(); ++commodity)
      for (std::size_t rank = 0; rank < ranks_; ++rank) {
        const bool at_home = destinations_[commodity] == rank;
        const auto memory = static_cast<double>(totals[rank].free + totals[rank].sent);
        const double most =
            std::min(memory, static_cast<double>(totals[destinations_[commodity]].received));
        const std::size_t here = vertex(phase, commodity, rank);
        const std::size_t after = vertex(phase + 1, commodity, rank);
        const std::size_t crossing = first_crossing_ + phase * destinations_.size() + commodity;
        const std::size_t room = first_memory_ + phase * ranks_ + rank;
        // What has arrived stays, and in the last phase nothing arrives anywhere else.
        const bool is_last = phase + 1 == phases_;
        // Stay, leave, arrive.
        add_edge(is_last && !at_home ? 0 : most, {{here, 1}, {after, -1}, {room, 1}});
        add_edge(at_home ? 0 : most, {{here, 1}, {crossing, -1}, {room, 1}});
        add_edge(is_last && !at_home ? 0 : most, {{crossing, 1}, {after, -1}, {room, 1}});
      }
}

schedule::PhaseSchedule FlowModel::schedule(const std::vector<double>& solution) const {
  schedule::PhaseSchedule schedule(phases_);
  std::vector<std::int64_t> balance(ranks_);
  std::size_t column = 0;
  for (std::size_t phase = 0; phase < phases_; ++phase)
    for (std::size_t commodity = 0; commodity < destinations_.size(); ++commodity) {
      // Leaving and arriving on one rank cancel each other.
      for (std::size_t rank = 0; rank < ranks_; ++rank, column += 3)
        balance[rank] = std::llround(solution[column + 1]) - std::llround(solution[column + 2]);
      schedule::match_in_order(balance, [&](const schedule::Flow& flow) {
        schedule[phase].push_back({flow.from, flow.to, destinations_[commodity], flow.blocks});
      });
    }
  return schedule;
}

}  // namespace valet::plan
