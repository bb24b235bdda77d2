/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_BLOCK_STORAGE_H
#define VALET_BLOCK_STORAGE_H

/**
 * @file
 * Fields of blocks for C: block_storage.hpp. Included by valet.h, which describes what all
 * functions have in common.
 */

#include <valet/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of the fields of one rank, seen as slots. */
typedef struct Valet_Storage Valet_Storage;

/** Makes a storage without fields. Local.
 * @return The handle, to be freed with Valet_Storage_free(); NULL if out of memory. */
VALET_EXPORT Valet_Storage* Valet_Storage_create(void);
/** Adds a field with rows of `row_bytes` bytes, `slot_stride_bytes` apart. Local.
 *
 * Errors in the fields, including fields that share memory, are reported on all ranks when the
 * storage is used.
 * @param storage            From Valet_Storage_create().
 * @param data               Row of slot 0; the caller owns the memory.
 * @param slots              Number of rows; the same for all fields of a storage.
 * @param row_bytes          Bytes of a block in this field; the same on all ranks.
 * @param slot_stride_bytes  From one row to the next; `row_bytes` if they are contiguous; negative
 *                           if the slots run backwards.
 * @param label              Name used in messages, the same on all ranks; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots,
                                         size_t row_bytes, ptrdiff_t slot_stride_bytes,
                                         const char* label);
/** Frees the handle, not the fields. Local. @param storage  May be NULL. */
VALET_EXPORT void Valet_Storage_free(Valet_Storage* storage);

#ifdef __cplusplus
}
#endif

#endif
