// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Valet must know of a Zoltan_Struct and Zoltan does not report.

#include "handle/object_ids.hpp"
#include <valet/mpi.hpp>

#include <zoltan.h>

namespace valet::zoltan {

/// The communicator of `zoltan`, MPI_COMM_NULL on ranks outside of it. It is the first member of
/// the structure, with the rank and the number of ranks behind it (Zoltan 3.83 and 3.90).
/// @throws Error invalid_communicator where the members do not look like that. Local.
[[nodiscard]] MPI_Comm communicator_of(const Zoltan_Struct* zoltan);

/// Zoltan's own functions, whoever stands in front of them.
/// @throws Error internal where there are none. Local.
[[nodiscard]] decltype(&Zoltan_Migrate) stock_migrate();
[[nodiscard]] decltype(&Zoltan_LB_Partition) stock_partition();
[[nodiscard]] decltype(&Zoltan_LB_Balance) stock_balance();

/// What a stock migration of nothing gives away.
struct Probe {
  int code = ZOLTAN_FATAL;  ///< what the stock function returned
  EntryCounts entries;
  bool only_proc_changes = true;  ///< also where it was not found out
};

/// Asks the stock function behind the shim (interposer or wrapper) with callbacks of our own, on
/// this rank alone, and puts the application's and the communicator back. Local. @throws Error
/// internal where there is no stock function.
/// @param object  Of the application; nothing but its global id is looked at. Without one, or with
///                a null pointer, it is not found out which objects migrate.
[[nodiscard]] Probe probe(Zoltan_Struct* zoltan, ObjectIds object);

}  // namespace valet::zoltan
