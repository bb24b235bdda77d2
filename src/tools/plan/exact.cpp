// SPDX-License-Identifier: BSD-3-Clause
#include "exact.hpp"

#include "solver.hpp"
#include <valet/error.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <initializer_list>
#include <limits>

namespace valet::plan {
namespace {

/// Larger systems are hopeless, and building them takes the memory of the machine.
constexpr std::uint64_t most_unknowns = 500'000;

std::vector<std::uint32_t> destinations_of(const schedule::TransferMatrix& matrix) {
  std::vector<std::uint32_t> destinations;
  for (const schedule::TransferEntry& transfer : matrix.transfers())
    if (destinations.empty() || destinations.back() != transfer.destination)
      destinations.push_back(transfer.destination);
  return destinations;
}

/// "Can it be done in L phases?" as an integer multicommodity flow on the reduced graph of Pinar
/// and Hendrickson section 3, Figure 3. A vertex is a rank between two phases; in every phase
/// blocks stay on their rank, or leave for the one vertex in the middle of the phase and arrive
/// from there. The commodities are the blocks of one destination each: they are interchangeable, so
/// no further distinction is needed.
class FlowModel {
 public:
  /// Unknowns of a model: 3 * phases * ranks * commodities.
  [[nodiscard]] static std::uint64_t unknowns(const Problem& problem, std::uint64_t phases) {
    const std::uint64_t per_phase =
        3 * std::uint64_t{problem.matrix.ranks()} * destinations_of(problem.matrix).size();
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    return phases > most / per_phase ? most : phases * per_phase;
  }

  /// @param phases  From 1 on; unknowns() must be within 2^30.
  FlowModel(const Problem& problem, std::uint64_t phases)
      : phases_(phases),
        ranks_(problem.matrix.ranks()),
        destinations_(destinations_of(problem.matrix)),
        totals_(problem.matrix.totals(problem.free)) {
    add_rows(problem);
    add_columns();
  }

  [[nodiscard]] const LinearSystem& system() const { return system_; }

  /// The schedule that a solution of the system stands for.
  [[nodiscard]] schedule::PhaseSchedule schedule(const std::vector<double>& solution) const {
    schedule::PhaseSchedule schedule(phases_);
    std::vector<std::int64_t> balance(ranks_);
    std::size_t column = 0;
    for (std::size_t phase = 0; phase < phases_; ++phase)
      for (const std::uint32_t destination : destinations_) {
        // Leaving and arriving on one rank cancel each other.
        for (std::size_t rank = 0; rank < ranks_; ++rank, column += 3)
          balance[rank] = std::llround(solution[column + 1]) - std::llround(solution[column + 2]);
        schedule::match_in_order(balance, [&](const schedule::Match& match) {
          schedule[phase].push_back({match.from, match.to, destination, match.blocks});
        });
      }
    return schedule;
  }

 private:
  [[nodiscard]] std::size_t vertex(std::size_t phase, std::size_t commodity,
                                   std::size_t rank) const {
    return (phase * destinations_.size() + commodity) * ranks_ + rank;
  }

  /// A row for every vertex: what comes in is what goes out. At the first vertices the blocks come
  /// in from nowhere, at the last they go out to their destination. And a row for every rank and
  /// phase: what is there at its beginning and what arrives fit the memory at the same time.
  void add_rows(const Problem& problem) {
    const std::size_t commodities = destinations_.size();
    std::vector<double> balance((phases_ + 1) * commodities * ranks_, 0);
    std::size_t commodity = 0;
    for (const schedule::TransferEntry& transfer : problem.matrix.transfers()) {
      if (destinations_[commodity] != transfer.destination) ++commodity;
      balance[vertex(0, commodity, transfer.source)] = static_cast<double>(transfer.blocks);
      balance[vertex(phases_, commodity, transfer.destination)] =
          -static_cast<double>(totals_[transfer.destination].received);
    }
    first_crossing_ = balance.size();
    first_memory_ = first_crossing_ + phases_ * commodities;
    system_.row_least = balance;
    system_.row_least.resize(first_memory_ + phases_ * ranks_, 0);
    system_.row_most = system_.row_least;
    for (std::size_t row = first_memory_; row < system_.row_most.size(); ++row)
      system_.row_most[row] = memory_of((row - first_memory_) % ranks_);
  }

  [[nodiscard]] double memory_of(std::size_t rank) const {
    return static_cast<double>(totals_[rank].free + totals_[rank].sent);
  }

  void add_columns() {
    for (std::size_t phase = 0; phase < phases_; ++phase)
      for (std::size_t commodity = 0; commodity < destinations_.size(); ++commodity)
        for (std::size_t rank = 0; rank < ranks_; ++rank) {
          const bool at_home = destinations_[commodity] == rank;
          const double most = std::min(
              memory_of(rank), static_cast<double>(totals_[destinations_[commodity]].received));
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

  void add_edge(double most, std::initializer_list<std::pair<std::size_t, double>> entries) {
    for (const auto& [row, coefficient] : entries) {
      system_.rows.push_back(static_cast<int>(row));
      system_.coefficients.push_back(coefficient);
    }
    system_.starts.push_back(static_cast<int>(system_.rows.size()));
    system_.most.push_back(most);
  }

  std::size_t phases_;
  std::size_t ranks_;
  std::vector<std::uint32_t> destinations_;  ///< for each commodity
  std::vector<schedule::RankTotals> totals_;
  std::size_t first_crossing_ = 0;  ///< rows of the vertices in the middle of phases
  std::size_t first_memory_ = 0;    ///< rows of the memory of ranks in phases
  LinearSystem system_;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What keeps the next system from being solved, with so much time left; empty where nothing does.
std::string hindrance(const Problem& problem, std::uint64_t phases, double seconds, double left) {
  if (!has_solver()) return "built without CBC";
  if (FlowModel::unknowns(problem, phases) > most_unknowns)
    return "too large: more than " + std::to_string(most_unknowns) + " unknowns";
  if (left <= 0) return seconds > 0 ? "time limit" : "not asked for";
  return {};
}

}  // namespace

ExactMinimum find_minimum(const Problem& problem, std::uint64_t lower, std::uint64_t upper,
                          double seconds) {
  ExactMinimum minimum{.lower = lower, .upper = upper};
  const auto start = std::chrono::steady_clock::now();
  while (minimum.lower < minimum.upper) {
    const double left = seconds - seconds_since(start);
    minimum.why = hindrance(problem, minimum.lower, seconds, left);
    if (!minimum.why.empty()) return minimum;
    const FlowModel model(problem, minimum.lower);
    const SolverResult result = solve(model.system(), left);
    minimum.seconds = seconds_since(start);
    minimum.why = result.why;
    if (result.status == SolverResult::Status::unknown) return minimum;
    if (result.status == SolverResult::Status::no_solution) {
      ++minimum.lower;
      continue;
    }
    if (const auto violation =
            schedule::find_violation(problem.matrix, problem.free, model.schedule(result.solution)))
      throw Error(ErrorCode::internal, "the solver's schedule is wrong: " + *violation);
    minimum.upper = minimum.lower;
  }
  minimum.proved = true;
  return minimum;
}

}  // namespace valet::plan
