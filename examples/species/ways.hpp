// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Three ways to move the cells of a rank, with their lists, to the ranks of a map. All collective.

#include "cells.hpp"
#include "support/failure.hpp"
#include <valet/options.hpp>

#include <mpi.h>

#include <cstdint>
#include <span>

namespace species {

/// What a way took on this rank.
struct Moved {
  std::uint64_t bytes_sent = 0;   ///< lists and rows, to other ranks
  std::uint64_t extra_bytes = 0;  ///< beside the arrays of the cells; 0 where it does not know
  std::uint64_t bound_bytes = 0;  ///< what it promised not to pass; 0 where it promised nothing
};

/// Valet, inside the arrays of the cells. @throws valet::Error on all ranks.
Moved move_in_place(MPI_Comm communicator, Cells& cells, std::span<const int> ranks,
                    const valet::Options& options);

/// Packs the cells that leave by destination, closes up those that stay, and receives behind them
/// by MPI_Alltoallv: first rows and lengths, then lists.
/// @throws OutOfMemory, NoRoom on all ranks.
Moved pack_and_send(MPI_Comm communicator, Cells& cells, std::span<const int> ranks);

/// Zoltan_Migrate, stock: it packs the cells that leave into one buffer and receives those that
/// arrive in another.
/// @throws NoRoom on all ranks; std::runtime_error on this rank alone where Zoltan fails.
Moved zoltan_migrate(MPI_Comm communicator, Cells& cells, std::span<const int> ranks);

}  // namespace species
