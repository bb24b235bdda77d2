// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/export.hpp>
#include <valet/mpi/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report/report.hpp>

#include <cstddef>
#include <cstdint>
#include <span>

namespace valet {

/// What the user decides about an all-to-all. Ranks may give different budgets, the rest must be
/// the same on all ranks.
struct AlltoallOptions {
  /// Scratch in bytes that this rank may use for what is in transit.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// Whether elements may end in any order: a pass over the data less, and the one case where the
  /// timing of messages may show in the result.
  bool any_order = false;
  /// As Options::share_memory.
  bool share_memory = true;
};

/// The memory of an all-to-all: `bytes` of it, of which elements fill the front.
struct AlltoallBuffer {
  void* data = nullptr;
  std::size_t bytes = 0;
  std::size_t element_bytes = 1;
};

/// MPI_Alltoallv inside one buffer. Before, it holds the elements for rank 0, those for rank 1, and
/// so on, without gaps; afterwards those from rank 0, those from rank 1, and so on, each in the
/// order in which they were sent.
///
/// Collective over `communicator`; blocking.
///
/// @param buffer       The elements, and room for as many as there are afterwards; element_bytes
///                     equal on all ranks. [local]
/// @param send_counts  Elements for each rank, P entries. [local]
/// @param recv_counts  Elements from each rank, P entries, or none: then they are found out.
/// [local]
/// @return blocks_before and blocks_after are in elements; the rest is about pages, the groups of
///         elements that were moved.
/// @throws Error invalid_argument (counts that are negative, not P, or do not match between ranks),
///         infeasible (more elements than the buffer has room for, with the number), block_size_
///         mismatch, budget_too_small, not_initialized, invalid_communicator: on all ranks alike,
///         the data is as it was. mpi_failure: the content is unspecified.
///
/// Memory beyond the buffer: budget + 64 KiB + 64*P bytes. Nothing per element. Time: every element
/// crosses the network once; in order one more pass over the memory, unless all segments are
/// multiples of a page.
VALET_EXPORT Report alltoallv_in_place(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                       std::span<const std::int64_t> send_counts,
                                       std::span<const std::int64_t> recv_counts = {},
                                       const AlltoallOptions& options = {});

}  // namespace valet
