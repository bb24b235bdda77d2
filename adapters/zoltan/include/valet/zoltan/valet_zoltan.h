/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ZOLTAN_VALET_ZOLTAN_H
#define VALET_ZOLTAN_VALET_ZOLTAN_H

/**
 * @file
 * Valet in the place of Zoltan_Migrate, and for lists of Zoltan without its callbacks:
 * Valet_Zoltan_Migrate_lists().
 *
 * An application needs nothing of this header to use it: with libvalet_zoltan.so linked in front of
 * Zoltan (or preloaded) and the Zoltan parameter MIGRATE_METHOD set to another than ZOLTAN (or
 * the environment variable VALET_MIGRATE_METHOD), Zoltan_Migrate, Zoltan_Help_Migrate and
 * AUTO_MIGRATE run Valet_Migrate. It declares what goes beyond Zoltan's interface.
 *
 * Parameters, for Zoltan_Set_Param, the default first; VALET_<name> in the environment sets the
 * default. They must be the same on all ranks, but for MIGRATE_MEMORY, MIGRATE_SHARE_MEMORY,
 * MIGRATE_KEEP_MEMORY and MIGRATE_VERBOSE:
 *
 * - MIGRATE_METHOD: ZOLTAN, AUTO, STREAM, DIRECT, PHASED, CYCLIC. ZOLTAN is the stock function.
 * AUTO takes STREAM, which packs and sends what fits the cache at a time. DIRECT sends everything
 * at once, and is refused where that does not fit MIGRATE_MEMORY. PHASED moves in phases, none of
 * which brings a rank more than it can take. So does CYCLIC, where rank 0 makes each phase of
 * cycles and shifts between ranks: nobody takes from more than one rank, or sends to more.
 * - MIGRATE_MEMORY: 4M; bytes of scratch per rank, with K, M or G (powers of 1024).
 * - MIGRATE_CALLBACKS: HOLD, STEPS. See Valet_Migrate().
 * - MIGRATE_HEURISTIC: FORTUNE_WHEEL and the other names of valet::Heuristic: how a rank
 *   of PHASED divides what it can take in a phase among its sources.
 * - MIGRATE_PARKING: 0, or k: at every k-th phase of PHASED objects of ranks that expect more than
 *   they can take leave for ranks with scratch to spare, where they wait, packed.
 * - MIGRATE_SCHEDULER: DISTRIBUTED, CENTRALIZED: whether each rank of PHASED divides for itself or
 *   rank 0 for all, which must have room for all pairs of ranks in its MIGRATE_MEMORY.
 * - MIGRATE_SHARE_MEMORY: 1, 0: whether ranks of a node pack into memory that they share, inside
 *   MIGRATE_MEMORY, where more moves than fits it at once or the neighbours are those of the last
 *   migration; otherwise, and where the system does not let them, packed objects go as messages.
 *   Callbacks come in the same order.
 * - MIGRATE_KEEP_MEMORY: 1, 0: whether scratch, up to MIGRATE_MEMORY, is kept for the next
 * migration until Zoltan_Destroy; 0 on any rank gives it back everywhere at the end of the
 * migration.
 * - MIGRATE_VERIFY: 0, 1: compare checksums of the packed objects at both ends.
 * - MIGRATE_PROGRESS: 0, 1: rank 0 prints to standard error how far the migration is.
 * - MIGRATE_VERBOSE: 0, 1: rank 0 says once, on standard error, that Valet is there and which
 * method moves the objects, ZOLTAN included.
 * - MIGRATE_REPORT: a file to which rank 0 appends one line of JSON per migration. Where it cannot,
 *   nothing is appended and a warning says why; likewise a trace.
 * - MIGRATE_TRACE: a file that gets what every rank did and when, as Chrome trace events (for
 *   ui.perfetto.dev), of the last migration. It takes 24 KiB more.
 */

#include <valet/export.hpp>
#include <valet/valet.h>

#include <stddef.h>
#include <stdint.h>
#include <zoltan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C has no namespaces: names carry the prefix, as Zoltan's do.
 * NOLINTBEGIN(readability-identifier-naming) */

/**
 * Migrates the objects of the lists with the callbacks registered in `zz`.
 *
 * Collective over zz's communicator; ranks outside of it return ZOLTAN_OK at once. The arguments
 * are Zoltan_Migrate's: import lists, export lists or both; whether export lists are given must be
 * the same on all ranks, and where they are import lists are only handed to pre, mid and post.
 * Callbacks that pre or mid registers count from then on. MIGRATE_METHOD is obeyed, but for its
 * default: whoever calls this function gets STREAM then.
 *
 * HOLD: pre; the sizes of all objects; batch by batch in the order of the export list sizes again
 * (when there is more than one batch) and pack; mid; every unpack, in Zoltan's order; post. Extra
 * memory: imports + MIGRATE_MEMORY + 24 + 4*(gid + lid entries) bytes for each object that leaves
 * or arrives.
 *
 * PHASED or CYCLIC with HOLD: the same, but batches take half of MIGRATE_MEMORY, no phase brings a
 * rank more than the other half, and a memory callback is obeyed: it says what may arrive, packed.
 * What waits for other ranks (MIGRATE_PARKING) fills that half, too.
 *
 * STEPS: pre with the full lists; the sizes; then step by step sizes and pack, the free callback
 * for what has left, mid with the lists of the step, unpack; post with the full lists. The number
 * of steps is the same on all ranks. Local ids of the export list must stay valid until their
 * object has left. Extra memory: as above without the imports. With MIGRATE_PARKING an object may
 * arrive some steps after it left: mid has it in the export list of the one step and the import
 * list of the other.
 *
 * CYCLIC, MIGRATE_PARKING and MIGRATE_SCHEDULER CENTRALIZED, which ask a root, add 64 KiB and 64
 * bytes for each rank to these bounds.
 *
 * In both, an object larger than MIGRATE_MEMORY raises it for that object, and the report says so.
 *
 * @param zz                 With pack, unpack and size callbacks, and with mid for STEPS if wanted.
 * @param num_import         Objects that arrive here, or -1: no import lists. [local]
 * @param import_global_ids  Their global ids.
 * @param import_local_ids   Their local ids.
 * @param import_procs       The ranks they come from.
 * @param import_to_part     The parts they go to; may be NULL.
 * @param num_export         Objects that leave, or -1: no export lists. [local]
 * @param export_global_ids  Their global ids.
 * @param export_local_ids   Their local ids.
 * @param export_procs       The ranks they go to.
 * @param export_to_part     The parts they go to; may be NULL.
 * @return ZOLTAN_OK or ZOLTAN_WARN, or ZOLTAN_FATAL or ZOLTAN_MEMERR on all ranks: the error is
 *         printed, and Valet_Get_Report() says what had moved. Errors of the lists, and of pre and
 *         of the sizes, are found before an object moves; of pack, before mid runs (in STEPS: of
 *         that step). An exception that a callback throws is ZOLTAN_FATAL, or ZOLTAN_MEMERR for
 *         std::bad_alloc. A failed MPI call is told to the error handler of zz's communicator, by
 *         default one that ends the job; where it returns, this rank alone returns ZOLTAN_FATAL,
 *         and must end the job (MPI_Abort), because others may wait for it.
 */
VALET_EXPORT int Valet_Migrate(struct Zoltan_Struct* zz, int num_import,
                               ZOLTAN_ID_PTR import_global_ids, ZOLTAN_ID_PTR import_local_ids,
                               int* import_procs, int* import_to_part, int num_export,
                               ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                               int* export_procs, int* export_to_part);

/** STEPS: this object has left the rank and its memory can be used again. Called locally.
 * @param data             As registered.
 * @param num_gid_entries  Entries of a global id.
 * @param num_lid_entries  Entries of a local id.
 * @param global_id        Of the object.
 * @param local_id         Of the object.
 * @param ierr             To be set to ZOLTAN_OK, or to an error that ends the migration on all
 *                         ranks. */
typedef void VALET_FREE_OBJ_FN(void* data, int num_gid_entries, int num_lid_entries,
                               ZOLTAN_ID_PTR global_id, ZOLTAN_ID_PTR local_id, int* ierr);

/** STEPS, PHASED and CYCLIC: the packed bytes of objects that the application can take right now.
 * Called locally, before each step. When no rank can take an object, the migration ends with
 * ZOLTAN_MEMERR. Objects that wait on this rank for another are in Valet's scratch and do not
 * count.
 * @param data  As registered.
 * @param ierr  To be set to ZOLTAN_OK, or to an error that ends the migration on all ranks.
 * @return Bytes. */
typedef uint64_t VALET_MEMORY_FN(void* data, int* ierr);

/** Registers the optional callback of STEPS that says what has left. Local. As Zoltan's own
 * it follows Zoltan_Copy and Zoltan_Copy_To and ends with Zoltan_Destroy.
 * @param zz    Zoltan's structure.
 * @param fn    The callback; NULL removes it.
 * @param data  Given to the callback.
 * @return ZOLTAN_OK. */
VALET_EXPORT int Valet_Set_Free_Obj_Fn(struct Zoltan_Struct* zz, VALET_FREE_OBJ_FN* fn, void* data);
/** Registers the optional callback of STEPS, PHASED and CYCLIC that says what fits. Local;
 * likewise.
 * @param zz    Zoltan's structure.
 * @param fn    The callback; NULL removes it.
 * @param data  Given to the callback.
 * @return ZOLTAN_OK. */
VALET_EXPORT int Valet_Set_Memory_Fn(struct Zoltan_Struct* zz, VALET_MEMORY_FN* fn, void* data);

/** What the last migration did on this rank. Bytes are those of packed objects, sizes rounded up to
 * multiples of 8 as Zoltan does. */
typedef struct Valet_Migration_Report {
  char method[16];           /**< "STREAM", "DIRECT", "PHASED" or "CYCLIC" */
  char callbacks[8];         /**< "HOLD" or "STEPS" */
  int code;                  /**< what the migration returned */
  int ranks;                 /**< in the communicator */
  int verified;              /**< 1: checksums were compared and agreed */
  int lists_from_layout;     /**< 1: the lists are cyclic, so counts were computed, not exchanged */
  uint64_t objects_exported; /**< objects that had to leave, or to be packed for their own rank */
  uint64_t objects_imported; /**< objects that had to arrive */
  uint64_t bytes_exported;   /**< all these objects */
  uint64_t bytes_imported;   /**< all these objects */
  uint64_t objects_packed;   /**< what really happened: all of it, unless there was an error */
  uint64_t objects_sent;     /**< have arrived elsewhere; in HOLD they may still be held packed */
  uint64_t objects_unpacked; /**< objects that unpack was called for */
  uint64_t messages;         /**< data messages sent */
  uint64_t batches;          /**< times that a batch of objects was packed */
  uint64_t steps;            /**< or phases; 1 in HOLD without phases */
  uint64_t objects_parked;   /**< exports of this rank that waited on a third rank */
  uint64_t budget_bytes;     /**< MIGRATE_MEMORY */
  uint64_t budget_raised_bytes; /**< by how much objects larger than their share raised it, or 0 */
  uint64_t peak_extra_bytes;    /**< most that Valet had allocated at a time */
  uint64_t extra_bytes_bound;   /**< what it promises not to pass */
  double seconds;               /**< the whole call */
  double list_seconds;          /**< lists, sizes and global ids */
  double move_seconds;          /**< packing and moving; in STEPS all of the steps */
  double unpack_seconds;        /**< HOLD: unpacking */
  char reason[128];             /**< AUTO: why it chose the method; else empty */
  char message[512];            /**< text of the error, or empty */
} Valet_Migration_Report;

/** Copies the report of zz's last migration with Valet. Local.
 * @param zz      Zoltan's structure.
 * @param report  Gets the report.
 * @return ZOLTAN_OK, or ZOLTAN_WARN when there was none. */
VALET_EXPORT int Valet_Get_Report(struct Zoltan_Struct* zz, Valet_Migration_Report* report);

/** One of the lists that Zoltan_LB_Partition returns: see valet::zoltan::PartitionList. */
typedef struct Valet_Zoltan_list {
  int count;                        /**< objects; -1: the list is not given */
  const ZOLTAN_ID_TYPE* global_ids; /**< count * gid_entries */
  const ZOLTAN_ID_TYPE* local_ids;  /**< count * lid_entries, of the rank they come from */
  const int* procs;                 /**< ranks that imports come from and exports go to */
  const int* parts;                 /**< the parts that they go to; NULL where parts are ranks */
} Valet_Zoltan_list;

/** What Zoltan_LB_Partition or Zoltan_LB_Balance returned: see valet::zoltan::PartitionLists. */
typedef struct Valet_Zoltan_lists {
  int gid_entries;           /**< words of a global id; the same on all ranks */
  int lid_entries;           /**< words of a local id, 0 for none; the same on all ranks */
  Valet_Zoltan_list imports; /**< what comes to this rank */
  Valet_Zoltan_list exports; /**< what leaves this rank, or all that it has */
} Valet_Zoltan_lists;

/** The slot of an object, called once for each on the rank that has it. Must not communicate or
 * leave by longjmp.
 * @param global_id  Of the object.
 * @param local_id   Of the object; NULL where there are none.
 * @param data       Valet_Zoltan_list_options::slot_of_data.
 * @return The slot, from 0. */
typedef uint64_t Valet_Slot_of_fn(const ZOLTAN_ID_TYPE* global_id, const ZOLTAN_ID_TYPE* local_id,
                                  void* data);

/** As valet::zoltan::ListOptions; start from Valet_Zoltan_list_options_default(). Functions and
 * arrays are given on all ranks or on none. */
typedef struct Valet_Zoltan_list_options {
  size_t struct_size;             /**< sizeof(Valet_Zoltan_list_options) */
  const Valet_Options* migration; /**< how the data moves; NULL for the defaults */
  Valet_Slot_of_fn* slot_of;      /**< NULL: the first word of the local id is the slot */
  void* slot_of_data;             /**< for slot_of */
  const int* part_to_rank;        /**< NULL: objects go where the lists say */
  size_t part_count;              /**< entries of part_to_rank */
  int* parts;                     /**< NULL, or the part of the object in each slot: in and out */
  ZOLTAN_ID_TYPE* global_ids;     /**< NULL, or gid_entries for each slot: in and out */
} Valet_Zoltan_list_options;

/** Gives all options their defaults, and `struct_size` itself. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Zoltan_list_options) where the caller was compiled. */
VALET_EXPORT void Valet_Zoltan_list_options_init(Valet_Zoltan_list_options* options,
                                                 size_t struct_size);
/** The defaults of all options. Local. @return The options, to be changed and given on. */
static inline Valet_Zoltan_list_options Valet_Zoltan_list_options_default(void) {
  Valet_Zoltan_list_options options;
  Valet_Zoltan_list_options_init(&options, sizeof options);
  return options;
}

/**
 * Moves the objects of Zoltan's lists, every field of `storage`: valet::zoltan::migrate(). No
 * Zoltan_Struct is needed and no callback but slot_of is called. Collective; blocking.
 *
 * @param communicator  That of Zoltan_Create.
 * @param lists      As Zoltan returned them; read only during the call. [local]
 * @param count      Objects, in the first slots. With a mask: its length, the number of slots.
 * @param mask       NULL, or per slot whether it holds an object. [local]
 * @param storage    The data that moves. [local]
 * @param options    NULL for the defaults.
 * @param new_count  Gets the objects of this rank, which are in slots 0 to new_count-1; untouched
 *                   on an error. [local]
 * @param report     NULL, or gets what was done on this rank.
 * @return VALET_SUCCESS or the code of an error of valet::zoltan::migrate(), the same on all ranks;
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
