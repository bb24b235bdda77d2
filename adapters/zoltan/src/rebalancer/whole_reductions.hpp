// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "mpi/channel.hpp"
#include <valet/error.hpp>

#include <optional>

namespace valet::zoltan {

/// Finds out whether MPI hands the six integers of a reduction to an operation of the application
/// all at once. Zoltan_LB_Build_PartDist reads and writes six whatever it is given; an MPI may
/// apply an operation to some at a time. Collective; a reduction.
/// @return What is wrong, on all ranks, if anything.
[[nodiscard]] std::optional<Diagnostic> check_whole_reductions(const mpi::Channel& communicator);

}  // namespace valet::zoltan
