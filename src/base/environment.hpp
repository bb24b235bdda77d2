// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace valet::detail {

/// All variables of the environment that Valet reads, those of adapters included: one process
/// may use only a part of the library in an environment made for another.
constexpr std::array<std::string_view, 22> variables{"VALET_ALLTOALL_MEMORY",
                                                     "VALET_DEVICE_MPI",
                                                     "VALET_MIGRATE_CALLBACKS",
                                                     "VALET_MIGRATE_EDGE_ORDER",
                                                     "VALET_MIGRATE_GRANULARITY",
                                                     "VALET_MIGRATE_HEURISTIC",
                                                     "VALET_MIGRATE_KEEP_MEMORY",
                                                     "VALET_MIGRATE_MEMORY",
                                                     "VALET_MIGRATE_METHOD",
                                                     "VALET_MIGRATE_ORDER",
                                                     "VALET_MIGRATE_PARKING",
                                                     "VALET_MIGRATE_PROGRESS",
                                                     "VALET_MIGRATE_REPORT",
                                                     "VALET_MIGRATE_SCHEDULER",
                                                     "VALET_MIGRATE_SEED",
                                                     "VALET_MIGRATE_SHARE_MEMORY",
                                                     "VALET_MIGRATE_TRACE",
                                                     "VALET_MIGRATE_TRANSFERS",
                                                     "VALET_MIGRATE_VERBOSE",
                                                     "VALET_MIGRATE_VERIFY",
                                                     "VALET_MIGRATE_WHEN_INFEASIBLE",
                                                     "VALET_PROGRESS"};

/// Letters to change, add or leave out to make one text of the other (Levenshtein). Local.
[[nodiscard]] VALET_EXPORT std::size_t edit_distance(std::string_view a, std::string_view b);

/// Names that begin with VALET_ and that Valet does not read, each with the nearest one that it
/// does; empty if there are none. Those of tests, and those by which module systems say where an
/// installation is, are left out. Local.
/// @param environment  "NAME=value", up to a null pointer.
[[nodiscard]] VALET_EXPORT std::string unknown_variables(const char* const* environment);

/// Logs a warning of them, once in a process. Local.
/// @param rank  Rank 0 prints it where the application has no callback for messages.
VALET_EXPORT void warn_of_unknown_variables(int rank);

}  // namespace valet::detail
