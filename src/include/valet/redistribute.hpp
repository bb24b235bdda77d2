// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Redistribution of arrays between block-cyclic layouts and general grids, into a second array;
/// between block-cyclic layouts also in place.

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

/// A layout and the ranks of a communicator that form its grid; the same on all ranks.
struct GridLayout {
  BlockCyclic layout;  ///< distribution of the array over the grid
  /// Rank g of the grid is rank ranks[g] of the communicator; if empty, rank g. The two grids of a
  /// redistribution may be equal, overlap or be disjoint. In a general grid cell g belongs to rank
  /// ranks[g]: a rank may have any number of cells, or none.
  std::vector<int> ranks = {};
};

/// A cell of a general grid on its rank; members as in LocalArray.
template <class Pointer>
struct CellArray {
  Pointer data = nullptr;             ///< the first element
  std::size_t bytes = 0;              ///< size of the memory
  BlockCyclic::Extents strides = {};  ///< empty: contiguous
};

/// The part of a distributed array on a rank: the element with local indices i, j, ... is
/// i*strides[0] + j*strides[1] + ... elements behind `data`.
template <class Pointer>
struct LocalArray {
  Pointer data = nullptr;  ///< the element with local indices 0, 0, ...
  std::size_t bytes = 0;   ///< size of the memory, at least up to the last element
  /// Which index varies fastest in memory. [global]
  IndexOrder order = IndexOrder::row_major;
  /// Elements from one index to the next, per dimension, ascending from the fastest dimension; they
  /// include leading dimensions. Empty: the elements are contiguous. [local]
  BlockCyclic::Extents strides = {};
  /// In place of `data`, `bytes` and `strides`: one array for each cell of this rank in a general
  /// grid, ascending by the cells' numbers. Empty: the cells lie one after the other at `data`,
  /// each contiguous, and `strides` are only for a single cell. [local]
  std::vector<CellArray<Pointer>> cells = {};
};
/// An array to read.
using SourceArray = LocalArray<const void*>;
/// An array to write.
using TargetArray = LocalArray<void*>;

/// Options for moving an array. Only `method`, `verify`, `share_memory`, and whether `trace` is
/// set, must be the same on all ranks.
struct LayoutOptions {
  /// Scratch for elements in transit and for the overlap with other ranks' parts, in bytes.
  std::size_t budget_bytes = std::size_t{4} << 20;
  /// How redistribute_in_place() exchanges its pages; redistribute() has its own schedule.
  Method method = Method::automatic;
  /// Compares checksums of the whole array before and afterwards, in which each element counts with
  /// its place in the array.
  bool verify = false;
  /// As Options::share_memory.
  bool share_memory = true;
  /// As Options::keep_memory; also covers buffers.
  bool keep_memory = true;
  /// As Options::trace.
  std::string trace = {};
  /// As Options::progress, counting as blocks the elements of the old part as they leave it and of
  /// the new part as they arrive; in place also those that change ranks.
  std::function<void(const Progress&)> progress = {};
  /// As Options::progress_bar.
  bool progress_bar = true;
};

/// Copies a distributed array from one layout into an array with another layout.
///
/// Collective over `communicator`, including ranks in neither grid; blocking.
///
/// @param communicator   An intracommunicator that contains both grids.
/// @param from, to       The layouts, of equal extents. [global]
/// @param element_bytes  Size of an element, at least 1. [global]
/// @param source         This rank's part by `from`; ignored on ranks outside that grid. [local]
/// @param target         Room for this rank's part by `to`; ignored on ranks outside that grid.
///                       Memory between its elements is left unchanged. [local]
/// @param options        Budgets may differ between ranks.
/// @return Counts elements as blocks; `messages` are parts of up to 128 KiB or, if the budgets hold
///         everything and no rank sends more than 8 MiB to others, one per neighbour.
/// @throws Error invalid_argument (layouts of different extents or that differ between ranks, a
///         grid that is larger than the communicator or, unless it is general, has a rank twice,
///         strides that let elements overlap, arrays that overlap), rank_out_of_range (in a grid),
///         block_size_mismatch (element_bytes), infeasible (an array is too small; the text gives
///         the required bytes), inaccessible_memory, budget_too_small (with the required bytes),
///         out_of_memory, not_initialized, invalid_communicator: the same error on all ranks, and
///         nothing has been written. mpi_failure: the content of the target is unspecified.
///
/// Memory beyond the arrays: budget + 64 KiB + 256*neighbours + 64*P bytes, and nothing per
/// element. The budget includes the description of the overlaps: per dimension 40 bytes per segment
/// of one period, and 8 per coordinate of the other grid; of a general grid that for each own cell,
/// 1600 bytes per cell, and 32 bytes per cell of the other grid that it overlaps. Nothing about the
/// layouts is communicated, and each element crosses the network at most once.
VALET_EXPORT Report redistribute(MPI_Comm communicator, const GridLayout& from,
                                 const GridLayout& to, std::size_t element_bytes,
                                 const SourceArray& source, const TargetArray& target,
                                 const LayoutOptions& options = {});

/// Moves a distributed array from one block-cyclic layout to another inside the memory that it
/// occupies.
///
/// Collective over `communicator`, including ranks in neither grid; blocking.
///
/// @param communicator   An intracommunicator that contains both grids.
/// @param from, to       The layouts, of equal extents, none of them cut. [global]
/// @param element_bytes  Size of an element, at least 1. [global]
/// @param array          In: this rank's part by `from`. Out: its part by `to`. Must have room for
///                       the larger part, and no strides: elements are contiguous, in the same
///                       order before and after; the memory behind them is unspecified. Ignored on
///                       ranks outside both grids. [local]
/// @param options        Budgets may differ between ranks; the method may not.
/// @return Counts elements as blocks; messages carry pages.
/// @throws Error as redistribute(): the same error on all ranks, and the array is unchanged.
///         mpi_failure: its content is unspecified.
///
/// Memory beyond the array: budget + 64 KiB + 256*neighbours + 64*P bytes. With Method::automatic
/// and direct everything moves at once if the budgets hold the old parts and all arriving elements.
/// Otherwise in three passes: into pages of at most budget / (4*neighbours) and 64 KiB, their
/// exchange, and out of them. Pages are listed, so a budget below about 20 * sqrt(neighbours *
/// bytes of the part) is refused.
VALET_EXPORT Report redistribute_in_place(MPI_Comm communicator, const GridLayout& from,
                                          const GridLayout& to, std::size_t element_bytes,
                                          const TargetArray& array,
                                          const LayoutOptions& options = {});

}  // namespace valet
