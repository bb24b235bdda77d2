// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The options of all operations, in one place: what they may be, and which of them must be the
/// same on all ranks. Whether an operation uses an option makes no difference.

#include "mpi/agreement.hpp"
#include <valet/alltoall.hpp>
#include <valet/options.hpp>
#include <valet/redistribute.hpp>

#include <optional>

namespace valet::plan {

/// What is wrong with the options of this rank, if anything. Local.
[[nodiscard]] std::optional<Diagnostic> check_options(const Options& options);
[[nodiscard]] std::optional<Diagnostic> check_options(const LayoutOptions& options);
[[nodiscard]] std::optional<Diagnostic> check_options(const AlltoallOptions& options);

/// Adds what must be the same on all ranks to the agreement of a call.
void agree_on_options(mpi::Agreement& agreement, const Options& options);
void agree_on_options(mpi::Agreement& agreement, const LayoutOptions& options);
void agree_on_options(mpi::Agreement& agreement, const AlltoallOptions& options);

}  // namespace valet::plan
