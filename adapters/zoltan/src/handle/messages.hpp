// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What the adapter prints, on standard error in the form of Zoltan's own messages.

#include "handle/parameters.hpp"
#include "mpi/channel.hpp"
#include <valet/report.hpp>
#include <valet/zoltan/valet_zoltan.h>

#include <cstdint>
#include <string>

namespace valet::zoltan {

/// In MPI_COMM_WORLD; 0 where MPI does not run.
[[nodiscard]] int rank_in_world();
/// On standard error, in the form of Zoltan's own messages, which is where its users look for them.
void print_warning(const char* function, const std::string& text);
void print_error(int rank, const char* function, const std::string& text);

/// Where MIGRATE_VERBOSE asks for it: says who moves the objects, Valet or stock Zoltan, and how.
/// Once, and again where that has changed; on rank 0 of the communicator of `zoltan`. Local.
/// @param left_out  Parameters that this call cannot obey, beside those without meaning for `kind`.
void say_who_moves(const Zoltan_Struct* zoltan, const MigrationParameters& parameters,
                   ObjectKind kind = ObjectKind::callbacks, const std::string& left_out = {});

/// Where MIGRATE_VERBOSE asks for it and HOLD keeps more than the budget: what STEPS might save,
/// and where to read what it asks for. Once. Local.
/// @param arrivals  Packed bytes, the most of all ranks.
void say_what_steps_save(const MigrationParameters& parameters, std::uint64_t arrivals);

/// Whether the method is one that Zoltan does not know and no storage is attached, which is
/// printed. The same on all ranks. Local.
[[nodiscard]] bool lacks_storage(const Zoltan_Struct* zoltan);

/// Sums a report over the ranks (times, peak and bound: their maxima), and appends it on rank 0 as
/// one line of JSON to the file of that rank, if it has one. Collective; a file that cannot be
/// written is a warning.
void append_report(MPI_Comm communicator, const std::string& path, const Report& report);
void append_report(const mpi::Channel& channel, const std::string& path,
                   const Valet_Migration_Report& report);

/// Prints the error that all ranks agreed upon: where it was found, and on rank 0. Local.
void print_error_once(const mpi::Channel& channel, const char* function, const std::string& text);

}  // namespace valet::zoltan
