// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// p4est_transfer_fixed and p4est_transfer_custom inside one array. Does not include p4est: the
/// functions take the offsets of a forest, which p4est and p8est store in the same way.

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
  const detail::Transfer transfer{{dest_gfq, src_gfq}, capacity_bytes, options.any_order};
  int self = 0;  // set by count()
  return detail::run(
      communicator, data, transfer,
      {.count =
           [&](const valet::detail::CountsOfRank& counts) {
             self = counts.rank;
             return detail::count_custom(transfer, src_sizes, dest_sizes, counts);
           },
       .mismatch =
           [&](int source, std::uint64_t sent) {
             const auto own = detail::range_of(dest_gfq, static_cast<std::size_t>(self));
             return detail::sizes_differ<Size>(
                 transfer.partitions, {"dest_sizes", "after", dest_sizes, own}, source, sent);
           },
       .basis = detail::basis},
      options);
}

}  // namespace valet::p4est
