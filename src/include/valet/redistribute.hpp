// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Distributed arrays from one block-cyclic layout to another, into a second array or in place.

#include <valet/block_cyclic.hpp>
#include <valet/export.hpp>
#include <valet/mpi.hpp>
#include <valet/options.hpp>
#include <valet/report.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace valet {

/// A layout, and the ranks of a communicator that form its grid. The same on all ranks.
struct GridLayout {
  BlockCyclic layout;  ///< how the array is distributed over the ranks of the grid
  /// Rank g of the grid is rank ranks[g] of the communicator; empty: g itself. The grids of a
  /// redistribution may be the same ranks, share some or none.
  std::vector<int> ranks = {};
};

/// The part of a distributed array that a rank holds: an element with local indices i, j, ... is
/// i * strides[0] + j * strides[1] + ... elements behind `data`.
template <class Pointer>
struct LocalArray {
  Pointer data = nullptr;  ///< the element with local indices 0, 0, ...
  std::size_t bytes = 0;   ///< memory, at least up to the last element
  /// Which index varies fastest in memory; the same on all ranks. [global]
  IndexOrder order = IndexOrder::row_major;
  /// Elements from an index to the next per dimension, ascending from the fastest one: leading
  /// dimensions are in them. Empty: the elements are contiguous. [local]
  BlockCyclic::Extents strides = {};
};
/// An array that is read.
using SourceArray = LocalArray<const void*>;
/// An array that is written.
using TargetArray = LocalArray<void*>;

/// What the user decides about moving an array; ranks may differ, but for the
/// method and whether there is a trace.
struct LayoutOptions {
  /// Bytes that this rank may use for what is in transit and for what it shares with others.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// How redistribute_in_place() exchanges its pages; redistribute() has a schedule of its own.
  Method method = Method::automatic;
  /// As Options::share_memory.
  bool share_memory = true;
  /// As Options::keep_memory, for buffers too.
  bool keep_memory = true;
  /// As Options::trace.
  std::string trace = {};
  /// As Options::progress. Blocks are elements: those of this rank's part before, as they leave it,
  /// and those of its part after, as they arrive; in place also those that change ranks.
  std::function<void(const Progress&)> progress = {};
  /// As Options::progress_bar.
  bool progress_bar = true;
};

/// Copies a distributed array from one layout into an array of another layout.
///
/// Collective over `communicator`, ranks that are in neither grid included; blocking.
///
/// @param communicator   An intracommunicator that holds both grids.
/// @param from, to       Of equal extents [global].
/// @param element_bytes  Of an element, 1 or more [global].
/// @param source         This rank's part by `from`; ignored on ranks outside of that grid. [local]
/// @param target         Room for its part by `to`; ignored outside of that grid. Memory between
///                       its elements stays as it is. [local]
/// @param options        Budgets may differ between ranks.
/// @return blocks are elements; `messages` are parts of 128 KiB, or 8 MiB where budgets hold all.
/// @throws Error invalid_argument (layouts of different extents or that differ between ranks, a
///         grid that is larger than the communicator or has a rank twice, strides that let elements
///         overlap, arrays that overlap), rank_out_of_range (of a grid), block_size_mismatch
///         (element_bytes), infeasible (an array is too small, with the bytes it needs),
///         inaccessible_memory, budget_too_small (with the bytes it needs), out_of_memory,
///         not_initialized, invalid_communicator: on all ranks alike, nothing has been written.
///         mpi_failure: the content of the target is unspecified.
///
/// Memory beyond the arrays: budget + 64 KiB + 256*neighbours + 64*P bytes. What a rank shares with
/// the others is in the budget: per dimension 40 bytes a segment of one period, and 8 per
/// coordinate of the other grid. Nothing per element. Nothing about the layouts is communicated,
/// and each element crosses the network once, or not at all.
VALET_EXPORT Report redistribute(MPI_Comm communicator, const GridLayout& from,
                                 const GridLayout& to, std::size_t element_bytes,
                                 const SourceArray& source, const TargetArray& target,
                                 const LayoutOptions& options = {});

/// Moves a distributed array from one layout to another inside the memory that it occupies.
///
/// Collective over `communicator`, ranks that are in neither grid included; blocking.
///
/// @param communicator   An intracommunicator that holds both grids.
/// @param from, to       Of equal extents [global].
/// @param element_bytes  Of an element, 1 or more [global].
/// @param array          In: this rank's part by `from`. Out: its part by `to`. Room for the larger
///                       one; no strides: elements are contiguous, in the same order before and
///                       after, and what is behind them is unspecified. Ignored outside of both
///                       grids. [local]
/// @param options        Budgets may differ between ranks; the method may not.
/// @return blocks are elements; messages are of pages.
/// @throws Error as redistribute(): on all ranks alike, the array is as it was. mpi_failure: its
///         content is unspecified.
///
/// Memory beyond the array: budget + 64 KiB + 256*neighbours + 64*P bytes. By Method::automatic and
/// direct all moves at once where budgets hold what arrives and was there. Else in three passes:
/// into pages of at most budget / (4*neighbours) and 64 KiB, their exchange, and out of them. Pages
/// are listed, so a budget below some 20 * sqrt(neighbours * bytes of the part) is refused.
VALET_EXPORT Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from,
                                          const GridLayout& to, std::size_t element_bytes,
                                          const TargetArray& array,
                                          const LayoutOptions& options = {});

}  // namespace valet
