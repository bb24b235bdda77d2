/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_RAGGED_H
#define VALET_RAGGED_H

/**
 * @file
 * Blocks of different sizes for C: ragged_storage.hpp with handles and return codes. valet.h, which
 * has the options, reports and errors, includes it, and says what all functions have in common.
 *
 * In Fortran the module `valet_ragged` has the same names, beside `valet`; data, lengths and
 * offsets are c_loc of arrays there, of 64-bit integers for the latter two.
 */

#include <valet/export.hpp>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming): as in valet.h, whose these are. */
struct Valet_Options;
struct Valet_Report;

/** The arenas of one rank and the columns beside them: a handle. */
typedef struct Valet_Ragged_storage Valet_Ragged_storage;
/** Who sends how much to whom, by a map and the lengths of the blocks: a handle. */
typedef struct Valet_Ragged_plan Valet_Ragged_plan;

/** Makes a storage without arenas. Local.
 * @return The handle, to be freed with Valet_Ragged_storage_free(); NULL when there is no memory.
 */
VALET_EXPORT Valet_Ragged_storage* Valet_Ragged_storage_create(void);
/** Adds an arena: blocks packed from its front, each with as many bytes as its length says. Local.
 *
 * What is wrong with arenas and columns is reported when the storage is used, on all ranks. After
 * one of them has grown, make a new storage.
 * @param storage          From Valet_Ragged_storage_create().
 * @param data             Block 0, at a multiple of the alignment; the caller keeps the memory.
 * @param capacity_bytes   That blocks may fill, what aligns them included.
 * @param lengths          Bytes of each block; Valet writes the new ones. The caller keeps them.
 * @param block_capacity   Most blocks that there are lengths for.
 * @param alignment_bytes  Kept for every block: a power of two, at most 64; 1 for none. The same on
 *                         all ranks.
 * @param label            How messages call the arena; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT for a null `storage`. */
VALET_EXPORT int Valet_Ragged_storage_add_field(Valet_Ragged_storage* storage, void* data,
                                                uint64_t capacity_bytes, uint64_t* lengths,
                                                uint64_t block_capacity, size_t alignment_bytes,
                                                const char* label);
/** Adds an arena with offsets in place of lengths, as of compressed rows: block k has the bytes
 * from offsets[k] to offsets[k + 1]. Local.
 * @param storage          From Valet_Ragged_storage_create().
 * @param data             Block 0, at a multiple of the alignment; the caller keeps the memory.
 * @param capacity_bytes   That blocks may fill.
 * @param offsets          In bytes, multiples of the alignment, from 0 on; Valet writes the new
 *                         ones. The caller keeps them.
 * @param block_capacity   Most blocks that there are offsets for, which are one more.
 * @param alignment_bytes  As in Valet_Ragged_storage_add_field().
 * @param label            How messages call the arena; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT for a null `storage`. */
VALET_EXPORT int Valet_Ragged_storage_add_field_by_offsets(
    Valet_Ragged_storage* storage, void* data, uint64_t capacity_bytes, uint64_t* offsets,
    uint64_t block_capacity, size_t alignment_bytes, const char* label);
/** Adds an array beside the arenas: row k belongs to block k. Local.
 * @param storage    From Valet_Ragged_storage_create().
 * @param data       Row of block 0; the caller keeps the memory.
 * @param rows       Most blocks that there are rows for.
 * @param row_bytes  From a row to the next; the same on all ranks.
 * @param label      How messages call the column; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT for a null `storage`. */
VALET_EXPORT int Valet_Ragged_storage_add_column(Valet_Ragged_storage* storage, void* data,
                                                 uint64_t rows, size_t row_bytes,
                                                 const char* label);
/** Frees the handle, not the arrays. Local. @param storage  Or NULL. */
VALET_EXPORT void Valet_Ragged_storage_free(Valet_Ragged_storage* storage);

/** Plans a map that gives each block a rank, by the lengths of the blocks: valet::plan_to_ranks().
 * Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks of this rank. [local]
 * @param ranks         `count` destinations; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Gets the plan, to be freed with Valet_Ragged_plan_free(); untouched on an
 *                      error.
 * @return VALET_SUCCESS or the code of an error of valet::plan_to_ranks(). */
VALET_EXPORT int Valet_Ragged_plan_to_ranks(MPI_Comm communicator,
                                            const Valet_Ragged_storage* storage, uint64_t count,
                                            const int* ranks, const struct Valet_Options* options,
                                            Valet_Ragged_plan** plan);
/** Frees a plan. Local; also after MPI_Finalize. @param plan  Or NULL. */
VALET_EXPORT void Valet_Ragged_plan_free(Valet_Ragged_plan* plan);

/** Blocks on this rank afterwards: the lengths and rows that it needs room for. Local.
 * @param plan  A plan.
 * @return The blocks; 0 for a null `plan`, and Valet_Error_message() says so. */
VALET_EXPORT uint64_t Valet_Ragged_plan_blocks_after(const Valet_Ragged_plan* plan);
/** Bytes of an arena that the blocks of this rank take afterwards, what aligns them included; no
 * less than they take before must be there, too. Local.
 * @param plan   A plan.
 * @param field  Which arena, in the order they were added, from 0.
 * @return The bytes; with fewer, Valet_Ragged_execute() returns VALET_INFEASIBLE on all ranks. 0
 * for a null `plan` and an arena that there is not, and Valet_Error_message() says so. */
VALET_EXPORT uint64_t Valet_Ragged_plan_required_bytes(const Valet_Ragged_plan* plan, size_t field);

/** Carries a plan out in place, as often as wanted: valet::execute(). Collective.
 * @param plan     NULL returns VALET_INVALID_ARGUMENT at once on this rank; others that do have the
 *                 plan would wait for it.
 * @param storage  The blocks that were planned for; its arrays may have grown. NULL is refused on
 *                 all ranks. [local]
 * @param ranks    The map that was planned, as many entries. [local]
 * @param report   NULL, or gets what was done on this rank.
 * @return VALET_SUCCESS or the code of an error of valet::execute(). */
VALET_EXPORT int Valet_Ragged_execute(Valet_Ragged_plan* plan, const Valet_Ragged_storage* storage,
                                      const int* ranks, struct Valet_Report* report);
/** Plans and carries out in one call: valet::migrate(). Collective.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks of this rank before, the new number on success. [local]
 * @param ranks         That many destinations. [local]
 * @param options       NULL for the defaults.
 * @param report        NULL, or gets what was done on this rank.
 * @return VALET_SUCCESS or the code of an error of valet::migrate(). */
VALET_EXPORT int Valet_Ragged_migrate(MPI_Comm communicator, const Valet_Ragged_storage* storage,
                                      uint64_t* count, const int* ranks,
                                      const struct Valet_Options* options,
                                      struct Valet_Report* report);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
