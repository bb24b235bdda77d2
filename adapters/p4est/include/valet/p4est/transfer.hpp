// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// p4est_transfer_fixed, _custom and _items inside one array. Does not include p4est: the functions
/// take the offsets of a forest, which p4est and p8est store in the same way.

#include <valet/alltoall.hpp>
#include <valet/detail/known_counts.hpp>
#include <valet/mpi.hpp>
#include <valet/p4est/detail/counts.hpp>
#include <valet/plan.hpp>
#include <valet/report.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// For codes that keep data of their quadrants beside a p4est or a p8est.
namespace valet::p4est {

/// p4est_transfer_fixed and p8est_transfer_fixed inside one array: after p4est has partitioned a
/// forest, the data kept for each quadrant moves to the quadrant's new rank.
///
/// Collective over `communicator`, including ranks without quadrants; blocking.
///
/// @param dest_gfq        forest->global_first_quadrant after p4est_partition: P + 1 entries,
///                        starting with 0, not descending, ending with the number of quadrants.
///                        [global]
/// @param src_gfq         A copy of the same array from before. [global]
/// @param communicator    The communicator of the forest, of P ranks.
/// @param data            On entry the data of this rank's old quadrants, on return that of its new
///                        ones, packed in the order of the forest; the memory behind it is
///                        unspecified. May be null if capacity_bytes is 0. [local]
/// @param capacity_bytes  Capacity of `data`: at least bytes_each for each quadrant, before and
///                        after. [local]
/// @param bytes_each      Size of a quadrant's data; 0 moves nothing. [global]
/// @param options         Budget, progress callback and bar may differ between ranks; the rest may
///                        not. AlltoallOptions::any_order must be off.
/// @return As alltoallv_in_place(), with quadrants as elements.
/// @throws Error invalid_argument (offsets that are not partitions of one forest, or differ between
///         ranks; any_order), infeasible (capacity_bytes too small; the text gives a sufficient
///         number), inaccessible_memory (no data), block_size_mismatch (bytes_each differs), and
///         errors of alltoallv_in_place(): the same error on all ranks, and the data is unchanged.
///         mpi_failure: the content is unspecified.
///
/// Memory beyond `data`: budget + 64 KiB + 256*neighbours + 64*P bytes, and nothing per quadrant.
/// No counts are exchanged: each rank computes from the offsets what it sends and receives.
inline Report transfer_fixed(const std::int64_t* dest_gfq, const std::int64_t* src_gfq,
                             MPI_Comm communicator, void* data, std::size_t capacity_bytes,
                             std::size_t bytes_each, const AlltoallOptions& options = {}) {
  return detail::run_fixed(valet::detail::alltoallv_of_known, {dest_gfq, src_gfq}, communicator,
                           {data, capacity_bytes, bytes_each}, options);
}

/// p4est_transfer_custom and p8est_transfer_custom inside one array: as transfer_fixed(), for
/// quadrants with data of different sizes, including zero.
///
/// Collective over `communicator`, including ranks without quadrants; blocking.
///
/// @tparam Size           int, as in p4est, or a wider integer; the same on all ranks.
/// @param dest_gfq        As for transfer_fixed(). [global]
/// @param src_gfq         As for transfer_fixed(). [global]
/// @param communicator    The communicator of the forest, of P ranks.
/// @param data            As for transfer_fixed(), quadrant after quadrant without gaps. [local]
/// @param capacity_bytes  Capacity of `data`: at least the sum of src_sizes and that of dest_sizes.
///                        [local]
/// @param src_sizes       Bytes of each of this rank's old quadrants. [local]
/// @param dest_sizes      Bytes of each of its new quadrants. If you do not know them, move the
///                        sizes first, with transfer_fixed(). [local]
/// @param options         As for transfer_fixed().
/// @return As alltoallv_in_place(), with bytes as elements.
/// @throws Error as transfer_fixed(), also invalid_argument for negative sizes and for dest_sizes
///         whose sum does not match the src_sizes of a source: the same error on all ranks, and the
///         data is unchanged.
///
/// Memory beyond `data` and the sizes: as transfer_fixed().
template <std::integral Size>
Report transfer_custom(const std::int64_t* dest_gfq, const std::int64_t* src_gfq,
                       MPI_Comm communicator, void* data, std::size_t capacity_bytes,
                       const Size* src_sizes, const Size* dest_sizes,
                       const AlltoallOptions& options = {}) {
  return detail::run_items(valet::detail::alltoallv_of_known, {dest_gfq, src_gfq}, communicator,
                           {data, capacity_bytes}, {}, src_sizes, dest_sizes, options);
}

/// p4est_transfer_items and p8est_transfer_items inside one array: as transfer_custom(), for
/// quadrants with different numbers of items of one size.
///
/// Collective over `communicator`, including ranks without quadrants; blocking.
///
/// @tparam Count          int, as in p4est, or a wider integer; the same on all ranks.
/// @param dest_gfq        As for transfer_fixed(). [global]
/// @param src_gfq         As for transfer_fixed(). [global]
/// @param communicator    The communicator of the forest, of P ranks.
/// @param data            As for transfer_custom(). [local]
/// @param capacity_bytes  Capacity of `data`, for the items before and for those after. [local]
/// @param src_counts      Items of each of this rank's old quadrants. [local]
/// @param dest_counts     Items of each of its new quadrants. [local]
/// @param item_bytes      Size of an item; 0 moves nothing. [global]
/// @param options         As for transfer_fixed().
/// @return As alltoallv_in_place(), with items as elements.
/// @throws Error as transfer_custom(), with counts for sizes; block_size_mismatch (item_bytes
///         differs).
///
/// Memory beyond `data` and the counts: as transfer_fixed().
template <std::integral Count>
Report transfer_items(const std::int64_t* dest_gfq, const std::int64_t* src_gfq,
                      MPI_Comm communicator, void* data, std::size_t capacity_bytes,
                      const Count* src_counts, const Count* dest_counts, std::size_t item_bytes,
                      const AlltoallOptions& options = {}) {
  return detail::run_items(valet::detail::alltoallv_of_known, {dest_gfq, src_gfq}, communicator,
                           {data, capacity_bytes}, detail::items_of(item_bytes), src_counts,
                           dest_counts, options);
}

/// p4est_transfer_fixed_begin: transfer_fixed() that goes on while the application computes.
/// Execution::wait() is p4est_transfer_fixed_end.
///
/// Collective, with the arguments of transfer_fixed(); returns when all ranks have agreed. Until
/// Execution::wait() has returned, `data` belongs to Valet; the other arguments may go at once.
/// Several may be under way on one communicator, each in data and with a budget of its own; all
/// ranks begin them in the same order, and end them in the same order.
///
/// If the budgets hold all that leaves, at most 8 MiB per rank, it is under way on return.
/// Otherwise pages move in Execution::progress() and wait(), and where these do not fit the budget,
/// everything moves in wait().
///
/// @return wait() gives the report. A destructor that comes first waits, like it collectively.
/// @throws Error as transfer_fixed(); wait() throws mpi_failure and callback_failed.
///
/// Memory: as transfer_fixed(). One reduction more, and a communicator, which is kept for the next.
[[nodiscard]] inline Execution transfer_fixed_begin(
    const std::int64_t* dest_gfq, const std::int64_t* src_gfq, MPI_Comm communicator, void* data,
    std::size_t capacity_bytes, std::size_t bytes_each, const AlltoallOptions& options = {}) {
  return detail::run_fixed(valet::detail::start_alltoallv_of_known, {dest_gfq, src_gfq},
                           communicator, {data, capacity_bytes, bytes_each}, options);
}

/// p4est_transfer_custom_begin: transfer_custom() in two parts, as transfer_fixed_begin().
/// Collective.
template <std::integral Size>
[[nodiscard]] Execution transfer_custom_begin(const std::int64_t* dest_gfq,
                                              const std::int64_t* src_gfq, MPI_Comm communicator,
                                              void* data, std::size_t capacity_bytes,
                                              const Size* src_sizes, const Size* dest_sizes,
                                              const AlltoallOptions& options = {}) {
  return detail::run_items(valet::detail::start_alltoallv_of_known, {dest_gfq, src_gfq},
                           communicator, {data, capacity_bytes}, {}, src_sizes, dest_sizes,
                           options);
}

/// p4est_transfer_items_begin: transfer_items() in two parts, as transfer_fixed_begin().
/// Collective.
template <std::integral Count>
[[nodiscard]] Execution transfer_items_begin(const std::int64_t* dest_gfq,
                                             const std::int64_t* src_gfq, MPI_Comm communicator,
                                             void* data, std::size_t capacity_bytes,
                                             const Count* src_counts, const Count* dest_counts,
                                             std::size_t item_bytes,
                                             const AlltoallOptions& options = {}) {
  return detail::run_items(valet::detail::start_alltoallv_of_known, {dest_gfq, src_gfq},
                           communicator, {data, capacity_bytes}, detail::items_of(item_bytes),
                           src_counts, dest_counts, options);
}

}  // namespace valet::p4est
