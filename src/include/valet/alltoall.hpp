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

/// How elements get to their ranks. All methods keep the order; where AlltoallOptions::any_order
/// allows another one, only `stream` makes use of it.
enum class AlltoallMethod {
  /// `direct` where the budget of every rank holds what leaves it, 8 MiB at most. Else `stream`
  /// where the budget holds its pages on all ranks and it is predicted to be faster than `swaps`,
  /// which is for few elements: see Method::automatic. Report::reason says why.
  automatic,
  /// Straight to the destination, in pages. Needs memory for the fragments of segments that do not
  /// fill a page and lists of pages, all within the budget.
  stream,
  /// `pairwise` or `bitonic`, whichever swaps fewer elements one after the other; both are tried on
  /// the counts first, and `bitonic` is taken where a table of `pairwise` passes 4*P chunks.
  swaps,
  /// Bitonic sort between ranks: p*(p+1)/2 swaps, p = ceil(log2(P)), whatever the counts. A rank
  /// may hold more elements for a time than before or after.
  bitonic,
  /// P-1 asymmetric swaps a rank; `bitonic` where its table would pass 4*P chunks.
  pairwise,
  /// All at once: what leaves is copied to scratch and sent from there, a message for each
  /// neighbour, and what arrives is received in its place. Needs a budget for all that leaves.
  direct,
};

/// The name of a method: "automatic", "stream", "swaps", "bitonic", "pairwise" or "direct". Local.
VALET_EXPORT const char* to_string(AlltoallMethod method) noexcept;
/// The method of a name, in upper or lower case; "auto" is short for automatic.
/// @throws Error invalid_argument that lists the known names. Local.
VALET_EXPORT AlltoallMethod parse_alltoall_method(std::string_view name);

/// What the user decides about an all-to-all. Ranks may give different budgets, progress and bars;
/// the rest must be the same on all ranks.
struct AlltoallOptions {
  /// Scratch in bytes that this rank may use for what is in transit.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// Whether elements may end in any order: a pass over the data less, and the one case where the
  /// timing of messages may show in the result.
  bool any_order = false;
  /// As Options::share_memory; used by `stream`.
  bool share_memory = true;
  /// As Options::keep_memory, for buffers too.
  bool keep_memory = true;
  /// How elements get to their ranks.
  AlltoallMethod method = AlltoallMethod::automatic;
  /// As Options::trace.
  std::string trace = {};
  /// As Options::progress. Blocks are elements: those that leave this rank and those that arrive;
  /// by methods that swap, as often as they do.
  std::function<void(const Progress&)> progress = {};
  /// As Options::progress_bar.
  bool progress_bar = true;
};

/// The memory of an all-to-all: `bytes` of it, of which elements fill the front.
struct AlltoallBuffer {
  void* data = nullptr;           ///< the first element
  std::size_t bytes = 0;          ///< room, for the elements before and for those after
  std::size_t element_bytes = 1;  ///< one element, 1 or more; the same on all ranks
};

/// MPI_Alltoallv inside one buffer. Before, it holds the elements for rank 0, those for rank 1, and
/// so on, without gaps; afterwards those from rank 0, those from rank 1, and so on, each in the
/// order in which they were sent.
///
/// Collective over `communicator`; blocking.
///
/// @param communicator  An intracommunicator.
/// @param buffer       The elements, and room for as many as there are afterwards; element_bytes
///                     equal on all ranks. [local]
/// @param send_counts  Elements for each rank, P entries. [local]
/// @param recv_counts  Elements from each rank, P entries, or none: then they are found
///                     out. [local]
/// @param options      Budgets, progress and bars may differ between ranks, the rest may not.
/// @return `method` is the one that was used. blocks_before and blocks_after are in elements. For
///         `stream` the rest is about pages, the groups of elements that were moved; for the others
///         about elements, and `swaps` counts swaps.
/// @throws Error invalid_argument (counts that are negative, not P, or do not match between ranks;
///         options that differ), infeasible (more elements than the buffer has room for, with the
///         number; for `bitonic` also for a time), block_size_mismatch, budget_too_small,
///         not_initialized, invalid_communicator: on all ranks alike, the data is as it was.
///         mpi_failure: the content is unspecified.
///
/// Memory beyond the buffer: budget + 64 KiB + 256*neighbours + 64*P bytes. Nothing per element.
/// Time: by `stream` every element crosses the network once; in order one more pass over the
/// memory, unless all segments are multiples of a page. For the others see Zhuang, Nakashima,
/// Nagamochi, "A memory-efficient algorithm and its implementation of variable-size all-to-all
/// communication": O(N log^2 P) for `bitonic`, with N elements on a rank.
VALET_EXPORT Report alltoallv_in_place(MPI_Comm communicator, const AlltoallBuffer& buffer,
                                       std::span<const std::int64_t> send_counts,
                                       std::span<const std::int64_t> recv_counts = {},
                                       const AlltoallOptions& options = {});

}  // namespace valet
