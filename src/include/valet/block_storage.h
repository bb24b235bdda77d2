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
/** Adds a field whose rows are arrays of several dimensions, in any strides: a row of slot s has
 * its entry (i_1, ..., i_n) at data + s * slot_stride_bytes + i_1 * stride_bytes[0] + ... Local.
 * @param storage            From Valet_Storage_create().
 * @param data               The first entry of slot 0; the caller owns the memory.
 * @param slots              Number of rows; the same for all fields of a storage.
 * @param slot_stride_bytes  From one row to the next.
 * @param element_bytes      Bytes of an entry; the same on all ranks.
 * @param dimensions         Of a row: 0 to 7; 0: it is one entry. The same on all ranks.
 * @param extents            Entries along each dimension, the same on all ranks; not used if there
 *                           is none.
 * @param stride_bytes       From one entry to the next, along each dimension. [local]
 * @param label              As in Valet_Storage_add_field().
 * @return As Valet_Storage_add_field(); VALET_INVALID_ARGUMENT for other numbers of dimensions. */
VALET_EXPORT int Valet_Storage_add_array(Valet_Storage* storage, void* data, uint64_t slots,
                                         ptrdiff_t slot_stride_bytes, size_t element_bytes,
                                         int dimensions, const size_t* extents,
                                         const ptrdiff_t* stride_bytes, const char* label);
/** Puts the rows of the field that was added last in tiles of equally many slots at equal
 * distances: what was added describes the first tile, with the slots of all; valet::in_tiles().
 * Local.
 * @param storage            From Valet_Storage_create(), with a field.
 * @param slots_per_tile     At least 1. The last tile may have fewer in use, but is there whole.
 * @param tile_stride_bytes  From a tile to the next; may be negative.
 * @return VALET_SUCCESS, or VALET_INVALID_ARGUMENT if `storage` is NULL or has no field. */
VALET_EXPORT int Valet_Storage_in_tiles(Valet_Storage* storage, uint64_t slots_per_tile,
                                        ptrdiff_t tile_stride_bytes);
/** Puts the rows of the field that was added last in several arrays, one after another in the order
 * of the slots: valet::in_segments(). What was added tells how rows lie; its data and slots are not
 * used. Local; copies both lists.
 * @param storage   From Valet_Storage_create(), with a field.
 * @param segments  Number of arrays. [local]
 * @param starts    The first row of each; NULL for one without rows.
 * @param slots     The rows of each.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL or has
 *         no field, or a list is NULL. */
VALET_EXPORT int Valet_Storage_in_segments(Valet_Storage* storage, size_t segments,
                                           void* const* starts, const uint64_t* slots);
/** Puts the row of each slot of the field that was added last behind a pointer:
 * valet::pointed_field(). Local.
 * @param storage  From Valet_Storage_create(), with a field.
 * @param rows     One pointer for each slot, none NULL; the caller owns the table and keeps it as
 *                 long as the storage is used. NULL if the field has no slots.
 * @return VALET_SUCCESS, or VALET_INVALID_ARGUMENT if `storage` is NULL or has no field. */
VALET_EXPORT int Valet_Storage_by_pointers(Valet_Storage* storage, void* const* rows);
/** Makes every call refuse this storage on all ranks, with VALET_INVALID_ARGUMENT and this text:
 * for a layer above, where the arguments of a rank are wrong and others wait for it. Local.
 * @param storage  From Valet_Storage_create().
 * @param why      What is wrong, where, and how to fix it.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if a pointer is NULL. */
VALET_EXPORT int Valet_Storage_refuse(Valet_Storage* storage, const char* why);
/** Returns a storage with at least so many slots, whose handle may be freed in the next call; NULL
 * on failure. Must not communicate or exit by longjmp. `data` is what was given with it. */
typedef const Valet_Storage* Valet_Storage_for_fn(void* data, uint64_t blocks);
/** Lets calls that move blocks enlarge a storage, on a rank that will hold more blocks than it has
 * slots: valet::BlockStorage::growing(). Local.
 * @param storage  From Valet_Storage_create() or Valet_Storage_create_custom().
 * @param grow     Called at most once in a call, when all ranks have planned and before anything
 *                 moves. Enlarges the arrays, which keep their rows, and returns a storage of them,
 *                 which the application uses from then on in place of this one. NULL: it does not
 *                 grow.
 * @param data     For `grow`.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Storage_grow_by(Valet_Storage* storage, Valet_Storage_for_fn* grow,
                                       void* data);
/** Frees the handle, not the fields. Local. @param storage  May be NULL. */
VALET_EXPORT void Valet_Storage_free(Valet_Storage* storage);

#ifdef __cplusplus
}
#endif

#endif
