// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// An all-to-all inside one buffer for adapters whose ranks know what each of them gives and gets.

#include <valet/alltoall.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/storage_backend.hpp>

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
  std::uint64_t& fingerprint;         ///< of what all ranks must have alike to agree on the counts
};

/// Where counts come from, and how errors call them.
struct KnownCounts {
  /// Fills in the counts, or says what is wrong. They must fit the buffer: that is not looked at
  /// again. Local.
  std::function<std::optional<Diagnostic>(const CountsOfRank&)> count;
  /// Set on all ranks where received counts may be wrong: each rank then tells the others what it
  /// sends them, and the first count that differs is described here. Local.
  std::function<Diagnostic(int source, std::uint64_t sent)> mismatch = {};
  const char* basis = "";         ///< what has the fingerprint
  const char* element_name = "";  ///< of the bytes of an element
  std::size_t element_bytes = 1;  ///< as the application gave them, 0 too
};

/// alltoallv_in_place() with such counts: none are exchanged, but for `mismatch`, and what an
/// adapter finds wrong goes into the one agreement that there is anyway. Collective.
VALET_EXPORT Report alltoallv_of_known(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                       const KnownCounts& counts, const AlltoallOptions& options);

}  // namespace valet::detail
