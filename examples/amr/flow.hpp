// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The physics: a flat body of gas drifts through the cube, and something reacts at its surface.
///
/// d(u)/dt + velocity . grad(u) = reaction(u), in finite volumes, one axis after the other, first
/// order upwind. The velocity is the same everywhere, so the sum of the four fluxes through the
/// faces of small cells is the flux through the face of the large cell behind them. The phase
/// reacts as phase*(1-phase)*(phase-1/2) (Allen and Cahn), which keeps its front a few cells wide
/// against the diffusion of the scheme. Cells in the front take shorter steps for that, so the work
/// of a patch depends on its data.

#include "layers.hpp"
#include "patches.hpp"

#include <array>

namespace amr {

struct FlowOptions {
  int substeps = 8;      ///< steps of the reaction in a cell of the front
  double courant = 0.8;  ///< in the smallest cells
};

/// Velocity of the gas, in edges of the cube per unit of time.
inline constexpr std::array<double, 3> velocity{0.62, -0.35, 1.0};

class Flow {
 public:
  /// @param finest_level  Level of the smallest leaves there can be.
  Flow(const FlowOptions& options, int finest_level);

  [[nodiscard]] double time_step() const { return time_step_; }

  /// Writes the state at time 0 into a slot. Local.
  void fill(const Patches& patches, std::uint64_t slot) const;
  /// Whether the front at time 0 goes through a leaf.
  [[nodiscard]] bool front_at_start(const Leaf& leaf) const;
  /// Whether the front goes through the patch in a slot. Local.
  [[nodiscard]] bool front_in(const Patches& patches, std::uint64_t slot) const;
  /// One time step, and the work that it was. Collective.
  void advance(const Patches& patches, LayerExchange& layers) const;

 private:
  [[nodiscard]] double phase_at_start(const std::array<double, 3>& place) const;
  void sweep(const Patches& patches, int variable, int axis) const;
  void react(const Patches& patches) const;

  FlowOptions options_;
  double finest_length_;
  double time_step_;
};

}  // namespace amr
