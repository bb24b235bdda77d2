/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ZOLTAN_ATTACHED_H
#define VALET_ZOLTAN_ATTACHED_H

/**
 * @file
 * Storage attached to a Zoltan_Struct for C: attached.hpp. Included by valet_zoltan.h.
 *
 * The Fortran module `valet_zoltan` has the same names and is used with `valet`. It also has
 * Valet_Zoltan_create() and Valet_Zoltan_destroy(), because Zoltan has no module there.
 */

#include <valet/valet.h>

#include <stddef.h>
#include <stdint.h>

struct Zoltan_Struct;

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming) */

/** Handle of storage attached to a Zoltan_Struct: see valet::zoltan::Attached. */
typedef struct Valet_Attached Valet_Attached;

/** Valet_Attached_options::when_infeasible; see valet::WhenInfeasible. */
enum {
  VALET_WHEN_INFEASIBLE_REFUSE = 0, /**< VALET_INFEASIBLE, and nothing has moved */
  VALET_WHEN_INFEASIBLE_REPAIR = 1, /**< the partition is corrected; not for ragged storage */
  VALET_WHEN_INFEASIBLE_GROW = 2    /**< Valet_Attached_grow() gives a function that makes room */
};

/** Options as in valet::zoltan::AttachedOptions; start from Valet_Attached_options_default(). A
 * parameter that is set on the Zoltan_Struct itself goes before them. */
typedef struct Valet_Attached_options {
  size_t struct_size;             /**< sizeof(Valet_Attached_options) */
  const Valet_Options* migration; /**< options of the migration; NULL for the defaults */
  uint64_t granularity;           /**< the most objects in a cell; 0: as they fit */
  int when_infeasible;            /**< if a partition does not fit: VALET_WHEN_INFEASIBLE_... */
} Valet_Attached_options;

/** Sets all options to their defaults, and `struct_size`. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Attached_options) in the caller. */
VALET_EXPORT void Valet_Attached_options_init(Valet_Attached_options* options, size_t struct_size);
/** The defaults of all options. Local. @return The options, to be modified and passed on. */
static inline Valet_Attached_options Valet_Attached_options_default(void) {
  Valet_Attached_options options;
  Valet_Attached_options_init(&options, sizeof options);
  return options;
}

/** Valet_Numbers::type. */
enum {
  VALET_NUMBERS_DOUBLE = 0, /**< double */
  VALET_NUMBERS_FLOAT = 1,  /**< float */
  VALET_NUMBERS_INT32 = 2,  /**< int32_t */
  VALET_NUMBERS_UINT32 = 3, /**< uint32_t */
  VALET_NUMBERS_INT64 = 4,  /**< int64_t */
  VALET_NUMBERS_UINT64 = 5  /**< uint64_t */
};

/** An array of numbers, some for each slot, or a member of an array of structures. It must stay in
 * place until other numbers take its place or the attached storage is freed. */
typedef struct Valet_Numbers {
  const void* data;    /**< the first number of slot 0 */
  int type;            /**< VALET_NUMBERS_... */
  size_t components;   /**< numbers of a slot, one behind the other: 1 to 3 */
  size_t stride_bytes; /**< from one slot to the next; 0: slots follow each other */
  uint64_t slots;      /**< slots that have numbers: as many as the storage has */
} Valet_Numbers;

/** The last migration of attached storage on this rank: see valet::RebalanceResult. Start from
 * Valet_Rebalance_result_default(). */
typedef struct Valet_Rebalance_result {
  size_t struct_size;             /**< sizeof(Valet_Rebalance_result); no more is written */
  uint64_t count;                 /**< objects of this rank, in slots 0 to count-1 */
  uint64_t required_slots;        /**< slots that this rank required */
  double weight_imbalance_before; /**< weights of all ranks, largest over mean */
  double count_imbalance_before;  /**< the same of the numbers of objects */
  double weight_imbalance_after;  /**< the same after the partition */
  double count_imbalance_after;   /**< the same after the partition */
  double partition_seconds;       /**< partitioning; 0 for Zoltan's lists */
  double migration_seconds;       /**< planning and moving */
  double largest_cell_share;      /**< the heaviest cell, as a fraction of the share of a rank */
  uint64_t partition_extra_bytes; /**< peak memory of the partition, with the map */
  char warning[512];              /**< on a partition that is not as it should be; else "" */
} Valet_Rebalance_result;

/** Empties a result and sets `struct_size`. Local.
 * @param result       NULL is ignored.
 * @param struct_size  sizeof(Valet_Rebalance_result) in the caller. */
VALET_EXPORT void Valet_Rebalance_result_init(Valet_Rebalance_result* result, size_t struct_size);
/** An empty result, to be filled by Valet_Attached_result(). Local. @return The result. */
static inline Valet_Rebalance_result Valet_Rebalance_result_default(void) {
  Valet_Rebalance_result result;
  Valet_Rebalance_result_init(&result, sizeof result);
  return result;
}

/** Makes room for what a partition brings, and leaves the objects in place: WhenInfeasible::grow.
 * Arrays that are elsewhere afterwards are given again, by Valet_Attached_storage() and for
 * numbers. Must not communicate or exit by longjmp.
 * @param required_slots  Slots that this rank needs; with ragged storage, blocks.
 * @param required_bytes  Of each arena of ragged storage; NULL for other storage.
 * @param data            As given to Valet_Attached_grow().
 * @return 0; anything else makes all ranks return VALET_CALLBACK_FAILED, and nothing moves. */
typedef int Valet_Grow_fn(uint64_t required_slots, const uint64_t* required_bytes, void* data);

/** Attaches storage to a structure: valet::zoltan::Attached. Collective over its communicator.
 *
 * From then on Zoltan_LB_Partition() partitions the objects in the slots of the storage, and moves
 * them if AUTO_MIGRATE is set; Zoltan_Migrate() moves those of its lists.
 * @param zz        From Zoltan_Create().
 * @param count     Objects of this rank, in slots 0 to count-1. [local]
 * @param storage   The data to move, which is not needed afterwards; its arrays are. [local]
 * @param options   NULL for the defaults; not needed afterwards.
 * @param attached  Receives the handle, to be freed with Valet_Attached_free(); unchanged on error.
 * @return VALET_SUCCESS; VALET_INVALID_ARGUMENT on all ranks for a null pointer, for bad options,
 *         if storage is attached already, and in a callback of Zoltan's. A null `zz` is an error
 *         of this rank alone. */
VALET_EXPORT int Valet_Zoltan_attach(struct Zoltan_Struct* zz, uint64_t count,
                                     const Valet_Storage* storage,
                                     const Valet_Attached_options* options,
                                     Valet_Attached** attached);
/** The same for blocks of different sizes: object k has block k of every arena and row k of every
 * column. Collective.
 * @param zz        From Zoltan_Create().
 * @param count     Objects of this rank. [local]
 * @param storage   The data to move, which is not needed afterwards; its arrays are. [local]
 * @param options   NULL for the defaults; not needed afterwards.
 * @param attached  Receives the handle; unchanged on error.
 * @return As above. */
VALET_EXPORT int Valet_Zoltan_attach_ragged(struct Zoltan_Struct* zz, uint64_t count,
                                            const Valet_Ragged_storage* storage,
                                            const Valet_Attached_options* options,
                                            Valet_Attached** attached);

/** Coordinates of the objects, 1 to 3 for each. Local; on all ranks or on none.
 * @param attached  From Valet_Zoltan_attach().
 * @param numbers   Copied, without the array; NULL: there are none.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. An array that is too short
 *         or null is reported by the call that partitions, on all ranks. */
VALET_EXPORT int Valet_Attached_coordinates(Valet_Attached* attached, const Valet_Numbers* numbers);
/** The work of each object, one number. Local; on all ranks or on none.
 * @param attached  From Valet_Zoltan_attach().
 * @param numbers   Copied, without the array; NULL: there are none.
 * @return As above. */
VALET_EXPORT int Valet_Attached_weights(Valet_Attached* attached, const Valet_Numbers* numbers);
/** Global ids of the objects, 1 to 3 entries for each, from 0 to 2^32-1. Local; on all ranks or on
 * none.
 * @param attached  From Valet_Zoltan_attach().
 * @param numbers   Copied, without the array; NULL: there are none.
 * @return As above. */
VALET_EXPORT int Valet_Attached_ids(Valet_Attached* attached, const Valet_Numbers* numbers);
/** Where the parts of the objects are, if parts are not ranks: they are asked for before a
 * partition, written, and move along. Local; on all ranks or on none.
 * @param attached  From Valet_Zoltan_attach().
 * @param parts     One for each slot; must stay in place. NULL: there are none.
 * @param slots     Entries of `parts`: as many as the storage has slots.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_parts(Valet_Attached* attached, int* parts, uint64_t slots);
/** The function for WhenInfeasible::grow. Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param grow      Called only on ranks that need more room; NULL: there is none.
 * @param data      Passed to the function.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_grow(Valet_Attached* attached, Valet_Grow_fn* grow, void* data);

/** Objects of this rank. Local. @param attached  From Valet_Zoltan_attach().
 * @return The number; 0 for a null `attached`, which sets Valet_Error_message(). */
VALET_EXPORT uint64_t Valet_Attached_count(const Valet_Attached* attached);
/** Says how many there are now, in slots 0 to count-1. Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param count     The number; more than there are slots is reported by the next call.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_set_count(Valet_Attached* attached, uint64_t count);
/** The layout that the objects are in, as far as is known: valet::zoltan::Attached::layout().
 * Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param is_known  Receives 1 or 0.
 * @param layout    Receives the layout; unchanged where none is known. Its tiling, if any, is that
 * of `attached`, until the next call of this function.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_layout(const Valet_Attached* attached, int* is_known,
                                       Valet_Object_layout* layout);
/** Says which layout the objects are in. Local; the same on all ranks.
 * @param attached  From Valet_Zoltan_attach().
 * @param layout    Copied.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. A count that is not that of
 *         the layout is reported by the call that partitions. */
VALET_EXPORT int Valet_Attached_set_layout(Valet_Attached* attached,
                                           const Valet_Object_layout* layout);
/** From now on objects are numbered by rank and slot, as after the application itself has put rows
 * elsewhere. Local; on all ranks.
 * @param attached  From Valet_Zoltan_attach().
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_forget_layout(Valet_Attached* attached);
/** Replaces the storage, whose arrays are elsewhere now. Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param storage   Not needed afterwards; its arrays are.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_storage(Valet_Attached* attached, const Valet_Storage* storage);
/** The same for blocks of different sizes. Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param storage   Not needed afterwards; its arrays are.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_storage_ragged(Valet_Attached* attached,
                                               const Valet_Ragged_storage* storage);

/** Partitions the objects and moves them, in any link order: valet::zoltan::Attached::partition().
 * Collective; blocking.
 * @param attached  NULL returns VALET_INVALID_ARGUMENT at once on this rank; ranks that have the
 *                  handle would wait for it.
 * @param changes   NULL, or receives 1 if anything changed, else 0. [global]
 * @param report    NULL, or receives the report of this rank; unchanged where nothing changed.
 * @return VALET_SUCCESS or an error code of valet::zoltan::Attached::partition(), the same on all
 *         ranks; VALET_INVALID_ARGUMENT also for a report without its struct_size, before anything
 *         moves. */
VALET_EXPORT int Valet_Attached_partition(Valet_Attached* attached, int* changes,
                                          Valet_Report* report);
/** The last migration of this storage, whichever call made it. Local.
 * @param attached  From Valet_Zoltan_attach().
 * @param result    NULL, or receives counts, times and imbalances.
 * @param report    NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or, on this rank alone, VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Attached_result(const Valet_Attached* attached,
                                       Valet_Rebalance_result* result, Valet_Report* report);

/** Takes the storage from the structure, which is as it was before; the handle remains to be freed.
 * Collective.
 * @param attached  NULL as for Valet_Attached_partition().
 * @return VALET_SUCCESS; VALET_INVALID_ARGUMENT on all ranks in a callback of Zoltan's and where
 *         the structure has been destroyed. */
VALET_EXPORT int Valet_Attached_detach(Valet_Attached* attached);
/** Frees the handle. Local. The structure remembers that it had storage: partitioning and migrating
 * with it are errors until other storage is attached, unless Valet_Attached_detach() came before.
 * @param attached  May be NULL. */
VALET_EXPORT void Valet_Attached_free(Valet_Attached* attached);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
