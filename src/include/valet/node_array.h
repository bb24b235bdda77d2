/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_NODE_ARRAY_H
#define VALET_NODE_ARRAY_H

/**
 * @file
 * Memory that the ranks of a node share, for C: node_array.hpp. Included by valet.h, which
 * describes what all functions have in common. The Fortran module `valet_node` has the same names.
 */

#include <valet/export.hpp>

#include <mpi.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Gives memory of `bytes` zeros from which other ranks of the node copy blocks straight into their
 * own: for the fields and arenas of a storage. Where the system has none to share it is ordinary
 * memory, which a message says once (Valet_Set_log_callback()). valet::node_array(). Collective.
 * @param communicator  An intracommunicator.
 * @param bytes         May be 0. [local]
 * @param memory        Receives the memory, from the beginning of a page on; unchanged if refused.
 *                      To be freed with Valet_Node_free(). [local]
 * @return VALET_SUCCESS or an error code of valet::node_array(). */
VALET_EXPORT int Valet_Node_alloc(MPI_Comm communicator, size_t bytes, void** memory);
/** Makes the memory larger or smaller where it is: addresses stay, and what is new is zero. Local.
 * @param memory  From Valet_Node_alloc(). In use by no call of Valet on the node.
 * @param bytes   The new size. Make a new storage if it has the old one.
 * @return VALET_SUCCESS; VALET_OUT_OF_MEMORY, VALET_INVALID_ARGUMENT (other memory, a size below 0)
 *         on this rank alone: nothing has changed. */
VALET_EXPORT int Valet_Node_resize(void* memory, size_t bytes);
/** Frees the memory. Local; also after MPI_Finalize.
 * @param memory  From Valet_Node_alloc(), or NULL; in use by no bound plan or execution.
 * @return VALET_SUCCESS, or VALET_INVALID_ARGUMENT for other memory. */
VALET_EXPORT int Valet_Node_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
