/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_RAGGED_H
#define VALET_RAGGED_H

/**
 * @file
 * Blocks of different sizes for C: ragged_storage.hpp. Included by valet.h, which describes what
 * all functions have in common.
 *
 * The Fortran module `valet_ragged` has the same names and is used with `valet`. There, data,
 * lengths and offsets are c_loc of arrays; lengths and offsets are 64-bit integers.
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

/** Handle of the arenas of one rank and the columns beside them. */
typedef struct Valet_Ragged_storage Valet_Ragged_storage;
/** Handle of a plan: who sends how much to whom, from a map and the lengths of the blocks. */
typedef struct Valet_Ragged_plan Valet_Ragged_plan;

/** Makes a storage without arenas. Local.
 * @return The handle, to be freed with Valet_Ragged_storage_free(); NULL if out of memory. */
VALET_EXPORT Valet_Ragged_storage* Valet_Ragged_storage_create(void);
/** Adds an arena, in which blocks of the given lengths are packed from the front. Local.
 *
 * Errors in arenas and columns are reported on all ranks when the storage is used. After an array
 * has grown, make a new storage.
 * @param storage          From Valet_Ragged_storage_create().
 * @param data             Block 0, at a multiple of the alignment; the caller owns the memory.
 * @param capacity_bytes   Bytes that blocks may fill, including alignment padding.
 * @param lengths          Bytes of each block; Valet writes the new ones. The caller owns the
 *                         array.
 * @param block_capacity   Entries of `lengths`: the most blocks that fit.
 * @param alignment_bytes  Alignment of every block: a power of two, at most 64; 1 for none. The
 *                         same on all ranks.
 * @param label            Name used in messages; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Ragged_storage_add_field(Valet_Ragged_storage* storage, void* data,
                                                uint64_t capacity_bytes, uint64_t* lengths,
                                                uint64_t block_capacity, size_t alignment_bytes,
                                                const char* label);
/** Adds an arena with offsets instead of lengths, as in compressed rows: block k has the bytes from
 * offsets[k] to offsets[k + 1]. Local.
 * @param storage          From Valet_Ragged_storage_create().
 * @param data             Block 0, at a multiple of the alignment; the caller owns the memory.
 * @param capacity_bytes   Bytes that blocks may fill.
 * @param offsets          In bytes, multiples of the alignment, starting with 0; Valet writes the
 *                         new ones. The caller owns the array.
 * @param block_capacity   The most blocks that fit; there is one more offset.
 * @param alignment_bytes  As in Valet_Ragged_storage_add_field().
 * @param label            Name used in messages; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Ragged_storage_add_field_by_offsets(
    Valet_Ragged_storage* storage, void* data, uint64_t capacity_bytes, uint64_t* offsets,
    uint64_t block_capacity, size_t alignment_bytes, const char* label);
/** Adds a column, an array beside the arenas: row k belongs to block k. Local.
 * @param storage    From Valet_Ragged_storage_create().
 * @param data       Row of block 0; the caller owns the memory.
 * @param rows       Number of rows: the most blocks that fit.
 * @param row_bytes  From one row to the next; the same on all ranks.
 * @param label      Name used in messages; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Ragged_storage_add_column(Valet_Ragged_storage* storage, void* data,
                                                 uint64_t rows, size_t row_bytes,
                                                 const char* label);
/** As Valet_Storage_for_fn, with the bytes that each arena must have, in the order in which they
 * were added. */
typedef const Valet_Ragged_storage* Valet_Ragged_storage_for_fn(void* data, uint64_t blocks,
                                                                const uint64_t* bytes);
/** Lets calls that move blocks enlarge a storage: Valet_Storage_grow_by(). Local.
 * @param storage  From Valet_Ragged_storage_create().
 * @param grow     As there. NULL: it does not grow.
 * @param data     For `grow`.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT if `storage` is NULL. */
VALET_EXPORT int Valet_Ragged_storage_grow_by(Valet_Ragged_storage* storage,
                                              Valet_Ragged_storage_for_fn* grow, void* data);
/** As Valet_Storage_refuse(). Local.
 * @param storage  From Valet_Ragged_storage_create().
 * @param why      As there.
 * @return As there. */
VALET_EXPORT int Valet_Ragged_storage_refuse(Valet_Ragged_storage* storage, const char* why);
/** Frees the handle, not the arrays. Local. @param storage  May be NULL. */
VALET_EXPORT void Valet_Ragged_storage_free(Valet_Ragged_storage* storage);

/** Plans a map that gives each block a rank, from the lengths of the blocks:
 * valet::plan_to_ranks(). Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks of this rank. [local]
 * @param ranks         `count` destinations; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Receives the plan, to be freed with Valet_Ragged_plan_free(); unchanged on
 *                      error.
 * @return VALET_SUCCESS or an error code of valet::plan_to_ranks(). */
VALET_EXPORT int Valet_Ragged_plan_to_ranks(MPI_Comm communicator,
                                            const Valet_Ragged_storage* storage, uint64_t count,
                                            const int* ranks, const Valet_Options* options,
                                            Valet_Ragged_plan** plan);
/** Frees a plan. Local; allowed after MPI_Finalize. @param plan  May be NULL. */
VALET_EXPORT void Valet_Ragged_plan_free(Valet_Ragged_plan* plan);

/** Blocks on this rank afterwards: the required lengths and rows. Local.
 * @param plan  A plan.
 * @return The blocks; 0 for a null `plan`, which sets Valet_Error_message(). */
VALET_EXPORT uint64_t Valet_Ragged_plan_blocks_after(const Valet_Ragged_plan* plan);
/** Bytes of an arena that the blocks of this rank take afterwards, including alignment padding. The
 * arena must also hold the blocks before. Local.
 * @param plan   A plan.
 * @param field  Which arena, in the order in which they were added, from 0.
 * @return The bytes; with fewer, Valet_Ragged_execute() returns VALET_INFEASIBLE on all ranks. 0
 *         for a null `plan` or an arena that does not exist, which sets Valet_Error_message(). */
VALET_EXPORT uint64_t Valet_Ragged_plan_required_bytes(const Valet_Ragged_plan* plan, size_t field);

/** Executes a plan in place; can be repeated: valet::execute(). Collective.
 * @param plan     NULL returns VALET_INVALID_ARGUMENT at once on this rank; ranks that have the
 *                 plan would wait for it.
 * @param storage  The planned blocks; its arrays may have grown. NULL is refused on all ranks.
 *                 [local]
 * @param ranks    The planned map, with as many entries. [local]
 * @param report   NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::execute(). */
VALET_EXPORT int Valet_Ragged_execute(Valet_Ragged_plan* plan, const Valet_Ragged_storage* storage,
                                      const int* ranks, Valet_Report* report);
/** Plans and executes in one call: valet::migrate(). Collective.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         In: blocks of this rank. Out, on success: the new number. [local]
 * @param ranks         One destination per block. [local]
 * @param options       NULL for the defaults.
 * @param report        NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::migrate(). */
VALET_EXPORT int Valet_Ragged_migrate(MPI_Comm communicator, const Valet_Ragged_storage* storage,
                                      uint64_t* count, const int* ranks,
                                      const Valet_Options* options, Valet_Report* report);
/** Moves blocks from the first `active_before` ranks to the first `active_after` ones:
 * valet::resize(). Collective, also over ranks that are not active.
 * @param communicator   An intracommunicator.
 * @param storage        The blocks of this rank; ranks without blocks have storage, too. [local]
 * @param count          In: blocks of this rank. Out, on success: the new number. [local]
 * @param active_before  Ranks that may have blocks. The same on all ranks.
 * @param active_after   Ranks that have blocks afterwards. The same on all ranks.
 * @param balance        VALET_BALANCE_COUNT or VALET_BALANCE_NUMBERING. The same on all ranks.
 * @param weights        NULL, or for each block what it weighs; as for Valet_Resize(). [local]
 * @param options        NULL for the defaults.
 * @param report         NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::resize(). */
VALET_EXPORT int Valet_Ragged_resize(MPI_Comm communicator, const Valet_Ragged_storage* storage,
                                     uint64_t* count, int active_before, int active_after,
                                     int balance, const double* weights,
                                     const Valet_Options* options, Valet_Report* report);

#ifdef __cplusplus
}
#endif

#endif
