// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>

#include <cstdint>
#include <string>

namespace valet::mpi {

constexpr int no_peer = -1;

/// Passes when `code` is MPI_SUCCESS. Otherwise throws Error mpi_failure that names the call, the
/// peer if there is one, and what MPI says about the code. Local.
VALET_EXPORT void check(int code, const char* call, int peer = no_peer);

/// What MPI says about a code. Local.
[[nodiscard]] std::string text_of(int code);

/// Lets the next check() of this thread fail with `code`, whatever its call returns. For error
/// handlers: where one has returned, MPICH 5.0 returns MPI_SUCCESS from the call that failed.
void fail_next_check(int code);

/// The one way from a 64-bit count to MPI's int. @throws Error internal when it does not fit: what
/// can be larger goes through message.hpp.
VALET_EXPORT int checked_count(std::uint64_t count);

/// Seconds on MPI's clock, which a simulator may simulate.
[[nodiscard]] VALET_EXPORT double now();

}  // namespace valet::mpi
