/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_P4EST_H
#define VALET_P4EST_H

/**
 * @file
 * p4est's transfers inside one array for C: p4est/transfer.hpp. Needs nothing of p4est, and no
 * library but Valet's. Errors, options and reports are those of valet.h.
 */

#include <valet/export.hpp>
#include <valet/options.h>
#include <valet/plan.h>
#include <valet/report.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** p4est_transfer_fixed inside one array: valet::p4est::transfer_fixed(). Collective.
 * @param dest_gfq        global_first_quadrant after p4est_partition, P + 1 entries. [global]
 * @param src_gfq         A copy of the same array from before. [global]
 * @param communicator    That of the forest, of P ranks.
 * @param data            On entry the data of this rank's old quadrants, on return that of its new
 *                        ones. [local]
 * @param capacity_bytes  Capacity of `data`, for the quadrants before and for those after. [local]
 * @param bytes_each      Size of a quadrant's data; 0 moves nothing. [global]
 * @param options         As for Valet_Alltoallv_in_place(); NULL for the defaults.
 * @param report          NULL, or receives the report, counting quadrants as blocks.
 * @return VALET_SUCCESS or an error code of valet::p4est::transfer_fixed(). */
VALET_EXPORT int Valet_P4est_transfer_fixed(const int64_t* dest_gfq, const int64_t* src_gfq,
                                            MPI_Comm communicator, void* data,
                                            size_t capacity_bytes, size_t bytes_each,
                                            const Valet_Options* options, Valet_Report* report);
/** p4est_transfer_custom likewise: valet::p4est::transfer_custom(). Collective. `src_sizes` are
 * bytes of this rank's old quadrants, `dest_sizes` of its new ones; the report counts bytes. */
VALET_EXPORT int Valet_P4est_transfer_custom(const int64_t* dest_gfq, const int64_t* src_gfq,
                                             MPI_Comm communicator, void* data,
                                             size_t capacity_bytes, const int* src_sizes,
                                             const int* dest_sizes, const Valet_Options* options,
                                             Valet_Report* report);
/** p4est_transfer_items likewise: valet::p4est::transfer_items(). Collective. As for
 * Valet_P4est_transfer_custom(), but numbers of items of `item_bytes` in place of bytes. */
VALET_EXPORT int Valet_P4est_transfer_items(const int64_t* dest_gfq, const int64_t* src_gfq,
                                            MPI_Comm communicator, void* data,
                                            size_t capacity_bytes, const int* src_counts,
                                            const int* dest_counts, size_t item_bytes,
                                            const Valet_Options* options, Valet_Report* report);

/** p4est_transfer_fixed_begin likewise: valet::p4est::transfer_fixed_begin(), which says what moves
 * when. Collective. `execution` receives what Valet_Execution_wait(), in place of
 * p4est_transfer_fixed_end, ends and frees: it must be called, and until then `data` belongs to
 * Valet. Unchanged on error. */
VALET_EXPORT int Valet_P4est_transfer_fixed_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                                  MPI_Comm communicator, void* data,
                                                  size_t capacity_bytes, size_t bytes_each,
                                                  const Valet_Options* options,
                                                  Valet_Execution** execution);
/** p4est_transfer_custom_begin likewise: valet::p4est::transfer_custom_begin(). Collective. */
VALET_EXPORT int Valet_P4est_transfer_custom_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                                   MPI_Comm communicator, void* data,
                                                   size_t capacity_bytes, const int* src_sizes,
                                                   const int* dest_sizes,
                                                   const Valet_Options* options,
                                                   Valet_Execution** execution);
/** p4est_transfer_items_begin likewise: valet::p4est::transfer_items_begin(). Collective. */
VALET_EXPORT int Valet_P4est_transfer_items_begin(const int64_t* dest_gfq, const int64_t* src_gfq,
                                                  MPI_Comm communicator, void* data,
                                                  size_t capacity_bytes, const int* src_counts,
                                                  const int* dest_counts, size_t item_bytes,
                                                  const Valet_Options* options,
                                                  Valet_Execution** execution);

#ifdef __cplusplus
}
#endif

#endif
