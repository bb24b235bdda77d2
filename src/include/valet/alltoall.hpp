// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// MPI_Alltoallv inside one buffer, with 64-bit counts and a bound on extra memory.

#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace valet {

/// How elements get to their ranks. All methods keep the order of the elements; only `stream` makes
/// use of AlltoallOptions::any_order.
enum class AlltoallMethod {
  /// `direct` if the budget of every rank holds the elements that leave it, at most 8 MiB.
  /// Otherwise `stream` if its pages fit the budget of every rank, else `swaps`. Report::reason
  /// says why.
  automatic,
  /// Sends pages straight to their destination. The budget must hold lists of pages and the
  /// fragments of segments that do not fill a page.
  stream,
  /// `pairwise` or `bitonic`, whichever needs fewer sequential element swaps according to the
  /// counts; `bitonic` if a table of `pairwise` would exceed 4*P chunks.
  swaps,
  /// Bitonic sort across ranks: always p*(p+1)/2 swaps, p = ceil(log2(P)). A rank may temporarily
  /// hold more elements than before or after.
  bitonic,
  /// P-1 asymmetric swaps per rank; `bitonic` if its table would exceed 4*P chunks.
  pairwise,
  /// Everything at once: copies departing elements to scratch, sends one message per neighbour, and
  /// receives arrivals in place. The budget must hold all departing elements.
  direct,
};

/// The name of a method: "automatic", "stream", "swaps", "bitonic", "pairwise" or "direct". Local.
VALET_EXPORT const char* to_string(AlltoallMethod method) noexcept;
/// The method with this name, in upper or lower case; "auto" means automatic. Local.
/// @throws Error invalid_argument, listing the known names.
VALET_EXPORT AlltoallMethod parse_alltoall_method(std::string_view name);

/// Options of an all-to-all. Budget, keep_memory, progress callback and progress bar may differ
/// between ranks; the rest must be the same on all ranks.
struct AlltoallOptions {
  /// Scratch for elements in transit on this rank, in bytes.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// Elements may end in any order. Saves one pass over the data, and is the only case in which the
  /// timing of messages may affect the result.
  bool any_order = false;
  /// As Options::share_memory; used by `stream`.
  bool share_memory = true;
  /// As Options::keep_memory; also covers buffers.
  bool keep_memory = true;
  /// How elements get to their ranks.
  AlltoallMethod method = AlltoallMethod::automatic;
  /// As Options::trace.
  std::string trace = {};
  /// As Options::progress, counting elements that leave or arrive as blocks; methods that swap
  /// count an element each time it is swapped.
  std::function<void(const Progress&)> progress = {};
  /// As Options::progress_bar.
  bool progress_bar = true;
};

/// The memory of an all-to-all, filled with elements from the front.
struct AlltoallBuffer {
  void* data = nullptr;           ///< the first element
  std::size_t bytes = 0;          ///< capacity, for the elements before and for those after
  std::size_t element_bytes = 1;  ///< size of an element, at least 1; the same on all ranks
};

/// MPI_Alltoallv inside one buffer. On entry the buffer holds the elements for rank 0, then those
/// for rank 1, and so on, without gaps. On return it holds the elements from rank 0, then those
/// from rank 1, and so on, each in the order in which they were sent.
///
/// Collective over `communicator`; blocking.
///
/// @param communicator  An intracommunicator.
/// @param buffer        The elements, with room for those before and after; element_bytes is the
///                      same on all ranks. [local]
/// @param send_counts   Elements for each rank, P entries. [local]
/// @param recv_counts   Elements from each rank, P entries; if empty, Valet determines them.
///                      [local]
/// @param options       Budget, progress callback and bar may differ between ranks; the rest may
///                      not.
/// @return `method` is the method used; blocks_before and blocks_after count elements. The other
///         numbers count pages for `stream` and elements for the other methods; `swaps` counts
///         swaps.
/// @throws Error invalid_argument (counts that are negative, not P in number, or do not match
///         between ranks; options that differ), infeasible (more elements than the buffer holds,
///         for `bitonic` also temporarily; the text gives the number), block_size_mismatch,
///         budget_too_small, not_initialized, invalid_communicator: the same error on all ranks,
///         and the data is unchanged. mpi_failure: the content is unspecified.
///
/// Memory beyond the buffer: budget + 64 KiB + 256*neighbours + 64*P bytes, and nothing per
/// element.
///
/// Time: with `stream` every element crosses the network once; keeping the order takes one more
/// pass over the memory unless all segments are multiples of a page. For the other methods see
/// Zhuang, Nakashima, Nagamochi, "A memory-efficient algorithm and its implementation of
/// variable-size all-to-all communication": O(N log^2 P) for `bitonic`, with N elements on a rank.
VALET_EXPORT Report alltoallv_in_place(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                       std::span<const std::int64_t> send_counts,
                                       std::span<const std::int64_t> recv_counts = {},
                                       const AlltoallOptions& options = {});

}  // namespace valet
