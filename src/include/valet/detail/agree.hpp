// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What templates of the adapters need of the communicator before they call the library.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/storage_backend.hpp>

#include <functional>
#include <optional>

namespace valet::detail {

/// Either every rank comes back or every rank throws what the lowest failing rank found.
/// Collective.
/// @param find  find(rank) says what this rank finds wrong, if anything.
/// @throws Error not_initialized or invalid_communicator too.
VALET_EXPORT void agree(MPI_Comm communicator,
                        const std::function<std::optional<Diagnostic>(int)>& find);

}  // namespace valet::detail
