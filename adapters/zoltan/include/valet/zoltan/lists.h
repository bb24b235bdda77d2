/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ZOLTAN_LISTS_H
#define VALET_ZOLTAN_LISTS_H

/**
 * @file
 * Zoltan's lists for C: lists.hpp. Included by valet_zoltan.h. The Fortran module `valet_zoltan`
 * has the same names and is used with `valet`.
 */

#include <valet/valet.h>

#include <stddef.h>
#include <stdint.h>
#include <zoltan_types.h>

struct Zoltan_Struct;

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(readability-identifier-naming) */

/** One of the lists that Zoltan_LB_Partition returns: see valet::zoltan::PartitionList. */
typedef struct Valet_Zoltan_list {
  int count;                        /**< number of objects; -1: no list */
  const ZOLTAN_ID_TYPE* global_ids; /**< count * gid_entries */
  const ZOLTAN_ID_TYPE* local_ids;  /**< count * lid_entries, on the rank they come from */
  const int* procs;                 /**< ranks that imports come from or exports go to */
  const int* parts;                 /**< the destination parts; NULL if parts are ranks */
} Valet_Zoltan_list;

/** The result of Zoltan_LB_Partition or Zoltan_LB_Balance: see valet::zoltan::PartitionLists. */
typedef struct Valet_Zoltan_lists {
  int gid_entries;           /**< words of a global id; the same on all ranks */
  int lid_entries;           /**< words of a local id, 0 for none; the same on all ranks */
  Valet_Zoltan_list imports; /**< objects that arrive */
  Valet_Zoltan_list exports; /**< objects that leave, or all objects of this rank */
} Valet_Zoltan_lists;

/** Returns the slot of an object; called once per object on the rank that has it. Must not
 * communicate or exit by longjmp.
 * @param global_id  Of the object.
 * @param local_id   Of the object; NULL if there are none.
 * @param data       Valet_Zoltan_list_options::slot_of_data.
 * @return The slot, from 0. */
typedef uint64_t Valet_Slot_of_fn(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id,
                                  void* data);

/** Options as in valet::zoltan::ListOptions; start from Valet_Zoltan_list_options_default().
 * Functions and arrays are given on all ranks or on none. */
typedef struct Valet_Zoltan_list_options {
  size_t struct_size;             /**< sizeof(Valet_Zoltan_list_options) */
  const Valet_Options* migration; /**< options of the migration; NULL for the defaults */
  Valet_Slot_of_fn* slot_of;      /**< NULL: the first word of the local id is the slot */
  void* slot_of_data;             /**< for slot_of */
  const int* part_to_rank;        /**< NULL: objects go to the ranks in the lists */
  size_t part_count;              /**< entries of part_to_rank */
  int* parts;                     /**< NULL, or the part of the object in each slot: in and out */
  ZOLTAN_ID_TYPE* global_ids;     /**< NULL, or gid_entries for each slot: in and out */
  struct Zoltan_Struct* zoltan;   /**< NULL, or what made the lists: its MIGRATE_* apply */
} Valet_Zoltan_list_options;

/** Sets all options to their defaults, and `struct_size`. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Zoltan_list_options) in the caller. */
VALET_EXPORT void Valet_Zoltan_list_options_init(Valet_Zoltan_list_options* options,
                                                 size_t struct_size);
/** The defaults of all options. Local. @return The options, to be modified and passed on. */
static inline Valet_Zoltan_list_options Valet_Zoltan_list_options_default(void) {
  Valet_Zoltan_list_options options;
  Valet_Zoltan_list_options_init(&options, sizeof options);
  return options;
}

/**
 * Moves every field of the objects in Zoltan's lists: valet::zoltan::migrate(). Needs no
 * Zoltan_Struct, and calls no callback except slot_of. Collective; blocking.
 *
 * @param communicator  The communicator of Zoltan_Create.
 * @param lists         As returned by Zoltan; read only during the call. [local]
 * @param count         Objects, in the first slots; with a mask, its length: the number of slots.
 * @param mask          NULL, or for each slot whether it holds an object. [local]
 * @param storage       The data to move. [local]
 * @param options       NULL for the defaults.
 * @param new_count     Receives the number of objects of this rank, which are in slots 0 to
 *                      new_count-1; unchanged on error. [local]
 * @param report        NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::zoltan::migrate(), the same on all ranks;
 *         Valet_Error_message() has the text.
 */
VALET_EXPORT int Valet_Zoltan_Migrate_lists(MPI_Comm communicator, const Valet_Zoltan_lists* lists,
                                            uint64_t count, const uint8_t* mask,
                                            const Valet_Storage* storage,
                                            const Valet_Zoltan_list_options* options,
                                            uint64_t* new_count, Valet_Report* report);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
