/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ERROR_H
#define VALET_ERROR_H

/**
 * @file
 * Error codes and texts for C: error.hpp. Included by valet.h, which describes the errors of all
 * functions.
 */

#include <valet/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

/** Error codes, as valet::ErrorCode. */
enum {
  VALET_SUCCESS = 0,               /**< no error */
  VALET_INVALID_ARGUMENT = 1,      /**< an argument is invalid or contradicts another */
  VALET_RANK_OUT_OF_RANGE = 2,     /**< a destination rank is not in the communicator */
  VALET_SLOT_OUT_OF_RANGE = 3,     /**< a destination slot does not exist on its rank */
  VALET_SLOT_TAKEN_TWICE = 4,      /**< two blocks have the same destination slot */
  VALET_INFEASIBLE = 5,            /**< a rank would hold more blocks than it has slots */
  VALET_FIELD_MISMATCH = 6,        /**< the fields of a storage have different numbers of slots */
  VALET_BLOCK_SIZE_MISMATCH = 7,   /**< ranks disagree on the bytes of a block */
  VALET_BUDGET_TOO_SMALL = 8,      /**< the method cannot work within the budget */
  VALET_INACCESSIBLE_MEMORY = 9,   /**< a field has no memory */
  VALET_NOT_INITIALIZED = 10,      /**< MPI is not initialised, or already finalised */
  VALET_INVALID_COMMUNICATOR = 11, /**< MPI_COMM_NULL, an intercommunicator, of another MPI */
  VALET_OUT_OF_MEMORY = 12,        /**< the system refused memory */
  VALET_CORRUPTED = 13,            /**< verification found a block that differs from the one sent */
  VALET_MPI_FAILURE = 14,          /**< an MPI call returned an error; end the job: see above */
  VALET_INTERNAL = 15,             /**< a broken invariant: a bug in Valet */
  VALET_CALLBACK_FAILED = 16, /**< a callback of the application failed or threw an exception */
  VALET_FILE_FAILURE = 17     /**< a file cannot be written or read, or is none of Valet */
};

/** The text of the last error on this thread. Local.
 * @return "" if there was none; valid until the next error on this thread. */
VALET_EXPORT const char* Valet_Error_message(void);

#ifdef __cplusplus
}
#endif

#endif
