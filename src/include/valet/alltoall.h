/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ALLTOALL_H
#define VALET_ALLTOALL_H

/**
 * @file
 * All-to-alls for C: alltoall.hpp. Included by valet.h, which describes what all functions have in
 * common.
 */

#include <valet/export.hpp>
#include <valet/options.h>
#include <valet/report.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** MPI_Alltoallv inside one buffer: valet::alltoallv_in_place(). Collective.
 * @param communicator   An intracommunicator of P ranks.
 * @param buffer         On entry elements by destination, in rank order; on return by source.
 *                       [local]
 * @param buffer_bytes   Capacity, for the elements before and for those after. [local]
 * @param send_counts    Elements for each rank, P entries. [local]
 * @param recv_counts    Elements from each rank, P entries; if NULL, Valet determines them.
 * @param element_bytes  The same on all ranks.
 * @param any_order      Not 0: elements may end in any order, which is faster. The same on all
 *                       ranks.
 * @param options        Uses budget_bytes, share_memory, keep_memory, alltoall_method, trace and
 *                       progress (three members); the others are checked as well. NULL for the
 *                       defaults.
 * @param report         NULL, or receives the report, counting elements as blocks.
 * @return VALET_SUCCESS or an error code of valet::alltoallv_in_place(). */
VALET_EXPORT int Valet_Alltoallv_in_place(MPI_Comm communicator, void* buffer, size_t buffer_bytes,
                                          const int64_t* send_counts, const int64_t* recv_counts,
                                          size_t element_bytes, int any_order,
                                          const Valet_Options* options, Valet_Report* report);

#ifdef __cplusplus
}
#endif

#endif
