// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What templates of the adapters need of the communicator before they call the library.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/storage_backend.hpp>

#include <optional>

namespace valet::detail {

/// This rank in `communicator`. @throws Error not_initialized or invalid_communicator. Collective
/// at the first call for a communicator.
[[nodiscard]] VALET_EXPORT int rank_in(MPI_Comm communicator);

/// Either every rank comes back or every rank throws what the lowest failing rank found.
/// Collective.
VALET_EXPORT void agree(MPI_Comm communicator, const std::optional<Diagnostic>& mine);

}  // namespace valet::detail
