// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// p4est_transfer_fixed and p4est_transfer_custom inside one array. Includes nothing of p4est: what
/// it takes are the offsets of a forest, which p4est and p8est store alike.

#include <valet/alltoall.hpp>
#include <valet/detail/known_counts.hpp>
#include <valet/mpi.hpp>
#include <valet/p4est/detail/counts.hpp>
#include <valet/report.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

/// For codes that keep data of their quadrants beside a p4est or a p8est.
namespace valet::p4est {

/// p4est_transfer_fixed and p8est_transfer_fixed inside one array: after p4est has partitioned a
/// forest, the data that a code keeps for each quadrant follow to the quadrants' new ranks.
///
/// Collective over `communicator`; blocking. Ranks without quadrants take part.
///
/// @param dest_gfq        forest->global_first_quadrant after p4est_partition: P + 1 entries,
///                        beginning with 0, not descending, ending with the number of quadrants.
///                        [global]
/// @param src_gfq         A copy of the same array from before. [global]
/// @param communicator    That of the forest, of P ranks.
/// @param data            Before, the data of this rank's old quadrants; afterwards, those of its
///                        new ones. Packed in the order of the forest; what lies behind them is
///                        unspecified. May be null where capacity_bytes is 0. [local]
/// @param capacity_bytes  What `data` has room for, before and after: at least bytes_each for each
///                        quadrant. [local]
/// @param bytes_each      Of a quadrant's data; 0 moves nothing. [global]
/// @param options         Budgets, progress and bars may differ between ranks, the rest may not.
///                        AlltoallOptions::any_order must be off.
/// @return As of alltoallv_in_place(), with quadrants for elements.
/// @throws Error invalid_argument (offsets that are no partitions of one forest, or differ between
///         ranks; any_order), infeasible (capacity_bytes too small, with the number that would do),
///         inaccessible_memory (no data), block_size_mismatch (bytes_each differ), and what
///         alltoallv_in_place() throws: on all ranks alike, the data is as it was. mpi_failure: the
///         content is unspecified.
///
/// Memory beyond `data`: budget + 64 KiB + 256*neighbours + 64*P bytes; nothing per quadrant. Each
/// rank reads from the offsets what it sends and gets: no counts are exchanged.
inline Report transfer_fixed(const std::int64_t* dest_gfq, const std::int64_t* src_gfq,
                             MPI_Comm communicator, void* data, std::size_t capacity_bytes,
                             std::size_t bytes_each, const AlltoallOptions& options = {}) {
  const detail::Transfer transfer{{dest_gfq, src_gfq}, capacity_bytes, options.any_order};
  return detail::run(communicator, data, transfer,
                     {.count =
                          [&](const valet::detail::CountsOfRank& counts) {
                            return detail::count_fixed(transfer, bytes_each, counts);
                          },
                      .basis = detail::basis,
                      .element_name = "bytes_each",
                      .element_bytes = bytes_each},
                     options);
}

/// p4est_transfer_custom and p8est_transfer_custom inside one array: as transfer_fixed(), for
/// quadrants whose data have sizes of their own, zero included.
///
/// Collective over `communicator`; blocking. Ranks without quadrants take part.
///
/// @tparam Size           int, as p4est has it, or a wider integer; the same on all ranks.
/// @param dest_gfq        As of transfer_fixed(). [global]
/// @param src_gfq         As of transfer_fixed(). [global]
/// @param communicator    That of the forest, of P ranks.
/// @param data            As of transfer_fixed(): one quadrant's bytes after the other's, without
///                        gaps. [local]
/// @param capacity_bytes  What `data` has room for: at least the sum of src_sizes, and that of
///                        dest_sizes. [local]
/// @param src_sizes       Bytes of each of this rank's old quadrants. [local]
/// @param dest_sizes      Bytes of each of its new ones; where a code does not know them it moves
///                        the sizes first, with transfer_fixed(). [local]
/// @param options         As of transfer_fixed().
/// @return As of alltoallv_in_place(), with bytes for elements.
/// @throws Error as transfer_fixed(), invalid_argument also for sizes below zero and for dest_sizes
///         that do not add up to what src_sizes of a source do: on all ranks alike, the data is as
///         it was.
///
/// Memory beyond `data` and the sizes: as of transfer_fixed().
template <std::integral Size>
Report transfer_custom(const std::int64_t* dest_gfq, const std::int64_t* src_gfq,
                       MPI_Comm communicator, void* data, std::size_t capacity_bytes,
                       const Size* src_sizes, const Size* dest_sizes,
                       const AlltoallOptions& options = {}) {
  const detail::Transfer transfer{{dest_gfq, src_gfq}, capacity_bytes, options.any_order};
  int self = 0;  // as count() is told
  return detail::run(
      communicator, data, transfer,
      {.count =
           [&](const valet::detail::CountsOfRank& counts) {
             self = counts.rank;
             return detail::count_custom(transfer, src_sizes, dest_sizes, counts);
           },
       .mismatch =
           [&](int source, std::uint64_t sent) {
             const detail::SizesOfRank<Size> own(transfer.partitions, self, src_sizes, dest_sizes);
             return detail::sizes_differ(transfer.partitions, own.after, source, sent);
           },
       .basis = detail::basis},
      options);
}

}  // namespace valet::p4est
