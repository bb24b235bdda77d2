// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/cost_model.hpp>

#include <optional>

namespace valet::mpi {

/// What the ranks of a communicator run on; the same on all of them.
struct Machine {
  std::optional<schedule::CostModel> model;  ///< none: not measured yet
  int ranks_on_node = 1;                     ///< most ranks that a node has
};

}  // namespace valet::mpi
