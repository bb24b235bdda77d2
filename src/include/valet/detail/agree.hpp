// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What adapter templates need from the communicator before they call the library.

#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>

#include <functional>
#include <optional>

namespace valet::detail {

/// Either returns on every rank, or throws on every rank the error found by the lowest failing
/// rank. Collective.
/// @param find  find(rank) returns the error found by this rank, if any.
/// @throws Error also not_initialized or invalid_communicator.
VALET_EXPORT void agree(MPI_Comm communicator,
                        const std::function<std::optional<Diagnostic>(int)>& find);

}  // namespace valet::detail
