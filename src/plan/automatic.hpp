// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Method::automatic in a plan: the numbers of the ranks become one shape in a reduction that
/// planning makes anyway, and every rank draws the same conclusion from it.

#include "plan/plan_state.hpp"

#include <array>
#include <cstdint>

namespace valet::plan {

/// What a rank tells of itself for the choice, as values of which the largest counts.
using ShapeNumbers = std::array<std::int64_t, 22>;

/// What a rank knows of its part of a redistribution.
struct OwnShape {
  std::uint64_t slots = 0;
  std::uint64_t used_slots = 0;    ///< before
  std::uint64_t sent = 0;          ///< blocks to other ranks
  std::uint64_t received = 0;      ///< blocks from other ranks
  std::uint64_t destinations = 0;  ///< ranks
  std::uint64_t sources = 0;
  std::uint64_t partners = 0;      ///< both
  std::uint64_t runs = 0;          ///< that leaving blocks stand in
  std::uint64_t moved_inside = 0;  ///< blocks
  bool is_dense = true;            ///< blocks are one array
};

/// The numbers of this rank for a plan that is to be. Local.
[[nodiscard]] ShapeNumbers shape_numbers(const plan::State& state, const OwnShape& own);
/// As above, from the flows of the plan: reads the list of leaving blocks once. Zeros where the
/// method is not Method::automatic. Local.
[[nodiscard]] ShapeNumbers shape_numbers(const plan::State& state, bool is_dense);

/// Whether no rank has a block for another. [global]
[[nodiscard]] bool moves_nothing(const ShapeNumbers& largest);

/// What a choice is made from.
struct CostInputs {
  schedule::CostModel model;
  schedule::ExchangeShape shape;
};
/// The same on all ranks. Collective: at the first time for a communicator what moving data costs
/// is measured; the options of a rank, or VALET_MODEL, count for more.
/// @param largest  shape_numbers(), the largest of all ranks. [global]
[[nodiscard]] CostInputs cost_inputs(plan::State& state, const ShapeNumbers& largest);

/// Replaces Method::automatic in the options of a plan by the method that is predicted to be the
/// fastest, and keeps the choice for the report. Nothing where another method is asked for.
/// Collective.
/// @param largest  shape_numbers(), the largest of all ranks. [global]
void resolve_method(plan::State& state, const ShapeNumbers& largest);

}  // namespace valet::plan
