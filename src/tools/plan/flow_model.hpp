// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// "Can it be done in L phases?" as an integer multicommodity flow on the reduced graph of Pinar
/// and Hendrickson section 3, Figure 3. A vertex is a rank between two phases; in every phase
/// blocks stay on their rank, or leave for the one vertex in the middle of the phase and arrive
/// from there. The commodities are the blocks of one destination each: they are interchangeable, so
/// no further distinction is needed.

#include "problem.hpp"
#include "tools/schedules/phase_schedule.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace valet::plan {

/// A system of linear equations and inequalities over non-negative integers, by columns.
struct LinearSystem {
  std::vector<int> starts{0};  ///< where each column begins in `rows`, and the end
  std::vector<int> rows;
  std::vector<double> coefficients;
  std::vector<double> most;  ///< for each column
  std::vector<double> row_least;
  std::vector<double> row_most;

  [[nodiscard]] int columns() const { return static_cast<int>(most.size()); }
};

/// The flow of one problem and number of phases.
class FlowModel {
 public:
  /// Unknowns of a model: 3 * phases * ranks * commodities.
  [[nodiscard]] static std::uint64_t unknowns(const Problem& problem, std::uint64_t phases);

  /// @param phases  From 1 on; unknowns() must be within 2^30.
  FlowModel(const Problem& problem, std::uint64_t phases);

  [[nodiscard]] const LinearSystem& system() const { return system_; }
  /// The schedule that a solution of the system stands for.
  [[nodiscard]] schedule::PhaseSchedule schedule(const std::vector<double>& solution) const;

 private:
  [[nodiscard]] std::size_t vertex(std::size_t phase, std::size_t commodity,
                                   std::size_t rank) const {
    return (phase * destinations_.size() + commodity) * ranks_ + rank;
  }
  void add_rows(const Problem& problem);
  void add_columns(const Problem& problem);
  void add_edge(double most, std::initializer_list<std::pair<std::size_t, double>> entries);

  std::size_t phases_;
  std::size_t ranks_;
  std::vector<std::uint32_t> destinations_;  ///< for each commodity
  std::size_t first_crossing_ = 0;           ///< rows of the vertices in the middle of phases
  std::size_t first_memory_ = 0;             ///< rows of the memory of ranks in phases
  LinearSystem system_;
};

}  // namespace valet::plan
