// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An all-to-all inside one buffer for adapters whose ranks know what they send and receive.

#include <valet/alltoall.hpp>
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace valet::detail {

/// To be filled in on one rank.
struct CountsOfRank {
  int rank = 0;
  std::span<std::uint64_t> sent;      ///< elements for each rank, P entries
  std::span<std::uint64_t> received;  ///< elements from each rank, P entries
  std::uint64_t& fingerprint;         ///< of the data from which all ranks derive the counts
};

/// The source of the counts, and its names in error texts.
struct KnownCounts {
  /// Fills in the counts, or returns an error. The counts must fit the buffer: this is not checked
  /// again. Local.
  std::function<std::optional<Diagnostic>(const CountsOfRank&)> count;
  /// Set on all ranks if received counts may be wrong: each rank then sends its counts to the
  /// others, and this describes the first one that differs. Local.
  std::function<Diagnostic(int source, std::uint64_t sent)> mismatch = {};
  const char* basis = "";         ///< name of the data that has the fingerprint
  const char* element_name = "";  ///< name of element_bytes
  std::size_t element_bytes = 1;  ///< as given by the application, may be 0
};

/// alltoallv_in_place() with known counts: none are exchanged, except for `mismatch`, and errors
/// found by an adapter are part of the existing agreement. Collective.
VALET_EXPORT Report alltoallv_of_known(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                       const KnownCounts& counts, const AlltoallOptions& options);
/// The same, under way, on a communicator of its own, on which the ranks agree first. Only the
/// memory of the buffer must stay. Collective.
[[nodiscard]] VALET_EXPORT Execution start_alltoallv_of_known(MPI_Comm communicator,
                                                              const AlltoallBuffer& buffer,
                                                              const KnownCounts& counts,
                                                              const AlltoallOptions& options);

}  // namespace valet::detail
