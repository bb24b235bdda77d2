// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Method::automatic in a plan: the numbers of the ranks become one shape in a reduction that
/// planning makes anyway, and every rank draws the same conclusion from it.

#include "mpi/agreement.hpp"
#include "plan/plan_state.hpp"

#include <cstdint>

namespace valet::plan {

/// What a choice is made from. Before the ranks agree: of this rank. Afterwards the same on all,
/// each number that of the rank where it is worst.
struct JointShape {
  schedule::ExchangeShape shape;
  std::uint64_t used_slots = 0;  ///< before
  bool names_message = false;    ///< Options::message_bytes is given
  bool has_model = false;        ///< by the options or by VALET_MODEL
  schedule::CostModel model{0, 0, 0, 0};

  /// Takes part in the reduction that the ranks agree with anyway.
  void join(mpi::Agreement& agreement);
  /// Whether no rank has a block for another. [global]
  [[nodiscard]] bool moves_nothing() const { return shape.sent == 0; }
};

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
[[nodiscard]] JointShape shape_of(const plan::State& state, const OwnShape& own);
/// As above, from the flows of the plan: reads the list of leaving blocks once. Empty where the
/// method is not Method::automatic. Local.
[[nodiscard]] JointShape shape_of(const plan::State& state, bool is_dense);

/// Costs, and the shape of what they are for.
struct CostInputs {
  schedule::CostModel model;
  schedule::ExchangeShape shape;
};
/// The same on all ranks. Collective: at the first time for a communicator what moving data costs
/// is measured; the options of a rank, or VALET_MODEL, count for more.
/// @param joint  Agreed upon. [global]
[[nodiscard]] CostInputs cost_inputs(plan::State& state, const JointShape& joint);

/// Replaces Method::automatic in the options of a plan by the method that is predicted to be the
/// fastest, and keeps the choice for the report. Nothing where another method is asked for.
/// Collective.
/// @param joint  Agreed upon. [global]
void resolve_method(plan::State& state, const JointShape& joint);

}  // namespace valet::plan
