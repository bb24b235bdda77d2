// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Method::automatic in a plan: the numbers of the ranks become one shape in a reduction that
/// planning makes anyway, and every rank draws the same conclusion from it.

#include "mpi/agreement.hpp"
#include "plan/plan_state.hpp"

namespace valet::plan {

/// What a choice is made from. Before the ranks agree: of this rank. Afterwards the same on all,
/// each number that of the rank where it is worst.
struct JointShape {
  schedule::ExchangeShape shape;
  bool pulls = false;      ///< blocks are taken without messages
  bool has_model = false;  ///< by the options or by VALET_MODEL
  schedule::CostModel model{0, 0, 0, 0};

  /// Takes part in the reduction that the ranks agree with anyway.
  void join(mpi::Agreement& agreement);
  /// Whether no rank has a block for another. [global]
  [[nodiscard]] bool moves_nothing() const { return shape.sent == 0; }
};

/// The numbers of this rank for a plan that is to be. Local.
/// @param own  Slots, packs, sent, received, messages and neighbours; the others follow from these.
[[nodiscard]] JointShape shape_of(const plan::State& state, const schedule::ExchangeShape& own);
/// As above, from the flows of the plan. Empty where the method is not Method::automatic. Local.
[[nodiscard]] JointShape shape_of(const plan::State& state);

/// Adds what is the same for all ranks: their numbers, and what moving data costs where no rank has
/// a model in its options or in VALET_MODEL. Collective: the first time for a communicator it is
/// measured.
/// @param joint  Agreed upon. [global]
void add_costs(plan::State& state, JointShape& joint);

/// Replaces Method::automatic in the options of a plan by the method that is predicted to be the
/// fastest, and keeps the choice for the report. Nothing where another method is asked for.
/// Collective.
/// @param joint  Agreed upon. [global]
void resolve_method(plan::State& state, JointShape& joint);

}  // namespace valet::plan
