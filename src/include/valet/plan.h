/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_PLAN_H
#define VALET_PLAN_H

/**
 * @file
 * Plans and maps for C: plan.hpp, object_layout.hpp, repair.hpp and resize.hpp. Included by
 * valet.h, which describes what all functions have in common.
 */

#include <valet/block_storage.h>
#include <valet/export.hpp>
#include <valet/options.h>
#include <valet/redistribute.h>
#include <valet/report.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of a validated map that can be executed many times. */
typedef struct Valet_Plan Valet_Plan;

/** A slot in the memory of all ranks. */
typedef struct Valet_Address {
  int rank;      /**< in the communicator, 0 to P-1 */
  uint64_t slot; /**< on that rank, from 0 */
} Valet_Address;

/** Plans a map that gives each block a rank: valet::plan_to_ranks(). Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks, in the first slots; with a mask, its length: the number of slots.
 * @param mask          NULL, or for each slot whether it holds a block. [local]
 * @param ranks         `count` destinations; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Receives the plan, to be freed with Valet_Plan_free(); unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::plan_to_ranks(). */
VALET_EXPORT int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask, const int* ranks,
                                     const Valet_Options* options, Valet_Plan** plan);
/** Plans a map that gives each block an address: valet::plan_to_slots(). Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks, in the first slots; with a mask, its length: the number of slots.
 * @param mask          NULL, or for each slot whether it holds a block. [local]
 * @param addresses     `count` different destinations; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Receives the plan, to be freed with Valet_Plan_free(); unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::plan_to_slots(). */
VALET_EXPORT int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask,
                                     const Valet_Address* addresses, const Valet_Options* options,
                                     Valet_Plan** plan);
/** A distribution of numbered objects over ranks; see valet::ObjectLayout. */
typedef struct Valet_Object_layout {
  uint64_t block_size; /**< objects per block, assigned to the ranks in turn; 0: one block per rank,
                          with lengths that differ by at most one object */
  int ranks;           /**< number of ranks that have objects, the first ones; 0: all */
  const Valet_Layout* tiling; /**< NULL, or in place of both: the objects are the elements of an
                                 array in this layout, whose list of ranks is NULL */
  int numbering;              /**< of these elements: VALET_ROW_MAJOR or VALET_COLUMN_MAJOR */
} Valet_Object_layout;

/** Plans the move of numbered objects to a layout, without a map: valet::plan_to_layout().
 * Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The objects of this rank. [local]
 * @param count         Number of objects, in the first slots. [local]
 * @param from          The layout before; NULL: objects are numbered by rank and slot. The same on
 *                      all ranks.
 * @param to            The layout after. The same on all ranks.
 * @param options       NULL for the defaults.
 * @param plan          Receives the plan, to be freed with Valet_Plan_free(); unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::plan_to_layout(). */
VALET_EXPORT int Valet_Plan_to_layout(MPI_Comm communicator, const Valet_Storage* storage,
                                      uint64_t count, const Valet_Object_layout* from,
                                      const Valet_Object_layout* to, const Valet_Options* options,
                                      Valet_Plan** plan);
/** Corrects a map to ranks with the fewest changes, so that no rank gets more blocks than it has
 * slots: valet::repair(). Collective; moves nothing.
 * @param communicator    An intracommunicator.
 * @param count           Blocks, in the first slots; with a mask, its length: the number of slots.
 * @param mask            NULL, or for each slot whether it holds a block. [local]
 * @param ranks           `count` destinations, corrected in place. [local]
 * @param slots           Most blocks that this rank may hold afterwards. [local]
 * @param changed         NULL, or receives the number of blocks of this rank with a new
 *                        destination.
 * @param changed_in_all  NULL, or receives the same for all ranks.
 * @return VALET_SUCCESS or an error code of valet::repair(), which leaves the map unchanged. */
VALET_EXPORT int Valet_Repair(MPI_Comm communicator, uint64_t count, const uint8_t* mask,
                              int* ranks, uint64_t slots, uint64_t* changed,
                              uint64_t* changed_in_all);
/** Puts the blocks of this rank in place into segments of its slots, such as arrivals into their
 * levels or tiles: valet::group(). Local: no other rank takes part.
 * @param storage        The blocks.
 * @param count          Blocks in the first slots or, with a mask, slots.
 * @param mask           One byte per slot, not 0 where there is a block; NULL without.
 * @param segments       The segment of the block in each slot, from 0: `count` entries.
 * @param segment_count  Number of segments.
 * @param segment_slots  The slots of each segment, which follow one another.
 * @param options        NULL for the defaults.
 * @param blocks         Set to the blocks of each segment, which are in its first slots.
 * @return VALET_SUCCESS; VALET_INVALID_ARGUMENT, VALET_INFEASIBLE (a segment with fewer slots than
 *         blocks) and what Valet_Execute() returns: of this rank. */
VALET_EXPORT int Valet_Group(const Valet_Storage* storage, uint64_t count, const uint8_t* mask,
                             const uint32_t* segments, size_t segment_count,
                             const uint64_t* segment_slots, const Valet_Options* options,
                             uint64_t* blocks);
/** Balance of Valet_Resize(): what the ranks get equal numbers of, see valet::ResizeBalance. */
enum {
  VALET_BALANCE_COUNT = 0,    /**< blocks, the fewest of which move */
  VALET_BALANCE_NUMBERING = 1 /**< blocks, which keep their order by rank and slot */
};
/** Learns that slots of a rank that leaves are not used any more, and Valet_Resize()'s `data`. Must
 * not communicate, call Valet, touch other slots or exit by longjmp. */
typedef void Valet_Released_fn(uint64_t first_slot, uint64_t slots, void* data);
/** Moves blocks from the first `active_before` ranks to the first `active_after` ones:
 * valet::resize(). Collective, also over ranks that are not active.
 * @param communicator   An intracommunicator.
 * @param storage        The blocks of this rank; ranks without blocks have storage, too. [local]
 * @param count          In: blocks of this rank. Out, on success: the new number. [local]
 * @param active_before  Ranks that may have blocks. The same on all ranks.
 * @param active_after   Ranks that have blocks afterwards. The same on all ranks.
 * @param balance        VALET_BALANCE_COUNT or VALET_BALANCE_NUMBERING. The same on all ranks.
 * @param weights        NULL, or for each block what it weighs: the ranks then get equal weights,
 * in the order by rank and slot. On all ranks that have blocks or on none. [local]
 * @param released       NULL, or called on a rank that leaves, see valet::ResizeOptions. [local]
 * @param data           Passed to `released`. [local]
 * @param options        NULL for the defaults.
 * @param report         NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::resize(). */
VALET_EXPORT int Valet_Resize(MPI_Comm communicator, const Valet_Storage* storage, uint64_t* count,
                              int active_before, int active_after, int balance,
                              const double* weights, Valet_Released_fn* released, void* data,
                              const Valet_Options* options, Valet_Report* report);
/** Frees a plan. Local; allowed after MPI_Finalize. @param plan  May be NULL. */
VALET_EXPORT void Valet_Plan_free(Valet_Plan* plan);

/** Blocks on this rank afterwards. Local. @param plan  A plan.
 * @return The blocks; 0 for a null `plan`, which sets Valet_Error_message(). */
VALET_EXPORT uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan);
/** Slots that this rank needs for the plan. Local.
 * @param plan  A plan.
 * @return The slots; with fewer, Valet_Execute() returns VALET_INFEASIBLE on all ranks. 0 for a
 *         null `plan`, which sets Valet_Error_message(). */
VALET_EXPORT uint64_t Valet_Plan_required_slots(const Valet_Plan* plan);

/** Executes a plan in place; can be repeated: valet::execute(). Collective.
 * @param plan     Its blocks are in the slots that were occupied when it was made. NULL returns
 *                 VALET_INVALID_ARGUMENT at once on this rank; ranks that have the plan would wait
 *                 for it.
 * @param storage  The planned fields, with at least Valet_Plan_required_slots() slots. NULL, or a
 *                 storage without fields, is refused on all ranks. [local]
 * @param report   NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::execute(). */
VALET_EXPORT int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage,
                               Valet_Report* report);

/** Looks at a storage and agrees on it once, for Valet_Execute_bound() and
 * Valet_Execution_start_bound(): valet::Plan::bind(). Collective; moves nothing.
 * @param plan     A plan without verification and trace, until it is executed with a storage.
 * @param storage  As for Valet_Execute(); plain memory that stays where it is. [local]
 * @return VALET_SUCCESS or an error code of valet::Plan::bind(). */
VALET_EXPORT int Valet_Plan_bind(Valet_Plan* plan, const Valet_Storage* storage);
/** Executes a bound plan without a reduction over all ranks: valet::execute(). Collective.
 * @param plan    A plan that Valet_Plan_bind() was called for.
 * @param report  NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code; VALET_INVALID_ARGUMENT on this rank for a plan that is
 *         not bound. */
VALET_EXPORT int Valet_Execute_bound(Valet_Plan* plan, Valet_Report* report);

/** Handle of an execution under way: valet::Execution. */
typedef struct Valet_Execution Valet_Execution;

/** Begins to execute a plan, so that the application can compute while blocks travel:
 * valet::start(), which says what may be touched until Valet_Execution_wait(). Collective.
 * @param plan       Lives until Valet_Execution_wait().
 * @param storage    As for Valet_Execute(); may be freed after the call, its memory not. [local]
 * @param execution  Receives what Valet_Execution_wait() ends and frees; unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::start(). */
VALET_EXPORT int Valet_Execution_start(Valet_Plan* plan, const Valet_Storage* storage,
                                       Valet_Execution** execution);
/** The same for a bound plan, without a reduction over all ranks.
 * @param plan       A plan that Valet_Plan_bind() was called for; lives until
 * Valet_Execution_wait().
 * @param execution  Receives what Valet_Execution_wait() ends and frees; unchanged on error.
 * @return As Valet_Execute_bound(). */
VALET_EXPORT int Valet_Execution_start_bound(Valet_Plan* plan, Valet_Execution** execution);
/** Sends and receives what can go on without waiting: valet::Execution::progress(). Local.
 * @param execution  Of Valet_Execution_start().
 * @param done       NULL, or receives 1 when only Valet_Execution_wait() is left to call, else 0.
 * @return VALET_SUCCESS or VALET_MPI_FAILURE. */
VALET_EXPORT int Valet_Execution_progress(Valet_Execution* execution, int* done);
/** Ends an execution and frees its handle, also on error: valet::Execution::wait(). Collective.
 * @param execution  Of Valet_Execution_start().
 * @param report     NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::Execution::wait(). */
VALET_EXPORT int Valet_Execution_wait(Valet_Execution* execution, Valet_Report* report);

#ifdef __cplusplus
}
#endif

#endif
