// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>
#include <valet/mpi.hpp>

namespace valet::mpi {

/// Not MPI_COMM_NULL. @throws Error not_initialized. Local.
[[nodiscard]] VALET_EXPORT bool is_intercommunicator(MPI_Comm communicator);

/// Ranks of a communicator that follow each other.
struct RankRange {
  int first = 0, count = 0;
};

/// The groups of an intercommunicator on one communicator, whose errors return.
struct TwoGroups {
  MPI_Comm communicator = MPI_COMM_NULL;
  RankRange own, other;
};

/// Leaves the intercommunicator to the caller. Collective over both groups.
[[nodiscard]] TwoGroups merge(MPI_Comm intercommunicator);
/// Frees the communicator of both, then ends the connection of two jobs. Collective over both
/// groups.
/// @param port  By meeting.hpp; MPI_COMM_NULL where the groups are of one job.
void separate(TwoGroups& groups, MPI_Comm& port);

}  // namespace valet::mpi
