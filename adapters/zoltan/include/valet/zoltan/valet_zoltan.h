/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_ZOLTAN_VALET_ZOLTAN_H
#define VALET_ZOLTAN_VALET_ZOLTAN_H

/**
 * @file
 * A replacement for Zoltan_Migrate; storage that is attached to a Zoltan_Struct (attached.h); and
 * Zoltan's lists without its callbacks (lists.h).
 *
 * An application does not need this header to use the replacement. Link libvalet_zoltan.so before
 * Zoltan (or preload it) and set the Zoltan parameter MIGRATE_METHOD, or the environment variable
 * VALET_MIGRATE_METHOD, to a value other than ZOLTAN: Zoltan_Migrate, Zoltan_Help_Migrate and
 * AUTO_MIGRATE then run Valet_Migrate. This header declares extensions to Zoltan's interface.
 *
 * Parameters for Zoltan_Set_Param, with the default first; VALET_<name> in the environment sets the
 * default. They must be the same on all ranks, except for MIGRATE_MEMORY, MIGRATE_SHARE_MEMORY,
 * MIGRATE_KEEP_MEMORY and MIGRATE_VERBOSE:
 *
 * - MIGRATE_METHOD: ZOLTAN, AUTO, STREAM, DIRECT, PHASED, CYCLIC. ZOLTAN is the stock function.
 *   AUTO uses STREAM, which packs and sends as much at a time as fits the cache. DIRECT sends
 *   everything at once, and is refused if that does not fit MIGRATE_MEMORY. PHASED moves in phases
 *   that bring no rank more than it can take. So does CYCLIC, in which rank 0 builds each phase
 *   from cycles and shifts between ranks: every rank receives from at most one rank and sends to at
 *   most one.
 * - MIGRATE_MEMORY: 4M; bytes of scratch per rank, with K, M or G (powers of 1024).
 * - MIGRATE_CALLBACKS: HOLD, STEPS. See Valet_Migrate(). Not for objects in slots.
 * - MIGRATE_HEURISTIC: FORTUNE_WHEEL and the other names of valet::Heuristic: how a rank with
 *   PHASED divides what it can take in a phase among its sources.
 * - MIGRATE_PARKING: 0, or k: in every k-th phase of PHASED, objects of ranks that expect more than
 *   they can take wait, packed, on ranks with scratch to spare.
 * - MIGRATE_SCHEDULER: DISTRIBUTED, CENTRALIZED: with PHASED, each rank divides for itself, or rank
 *   0 for all, which needs room for all pairs of ranks in its MIGRATE_MEMORY.
 * - MIGRATE_SEED: 1; of the heuristics that choose at random.
 * - MIGRATE_EDGE_ORDER: ASCENDING, ROTATED: with CYCLIC, the order in which a rank offers its
 *   destinations to rank 0.
 * - MIGRATE_ORDER: ANY, FILL, STABLE: which slots objects get. Only for objects in slots: attached
 *   storage (valet::zoltan::Attached), the Rebalancer, lists.
 * - MIGRATE_GRANULARITY: the most objects in a cell, 1 for each by itself. Only for attached
 *   storage and the Rebalancer, as the next one.
 * - MIGRATE_WHEN_INFEASIBLE: REFUSE, REPAIR, GROW: what happens if a partition does not fit.
 * - MIGRATE_SHARE_MEMORY: 1, 0: whether ranks of a node pack into shared memory, inside
 *   MIGRATE_MEMORY, if more moves than fits it at once or the neighbours are those of the last
 *   migration. Otherwise, or if the system does not permit it, packed objects are sent as messages.
 *   Callbacks come in the same order.
 * - MIGRATE_KEEP_MEMORY: 1, 0: whether scratch, up to MIGRATE_MEMORY, is kept for the next
 *   migration until Zoltan_Destroy; 0 on any rank frees it on all ranks at the end of the
 *   migration.
 * - MIGRATE_VERIFY: 0, 1: compare checksums of the packed objects at both ends, and find packs that
 *   write outside the size that was declared. With STEPS also see whether local ids of objects that
 *   have not left were changed (by ZOLTAN_OBJ_LIST_FN), and whether objects were lost or doubled.
 * - MIGRATE_PROGRESS: 0, 1: rank 0 prints the progress of the migration on standard error.
 * - MIGRATE_VERBOSE: 0, 1: rank 0 prints once, on standard error, that Valet is present and which
 *   method moves the objects, including ZOLTAN.
 * - MIGRATE_REPORT: a file to which rank 0 appends one line of JSON per migration. If it cannot,
 *   nothing is appended and a warning gives the reason; the same holds for a trace.
 * - MIGRATE_TRACE: a file for a trace of what every rank did and when in the last migration, in
 *   Chrome trace events (for ui.perfetto.dev). Takes 24 KiB more.
 * - MIGRATE_TRANSFERS: a file for the matrix of transfers of the last migration, the objects that
 *   each rank has sent to each other one (Matrix Market, for valet-plan).
 */

#include <valet/export.hpp>
#include <valet/valet.h>
#include <valet/zoltan/attached.h>
#include <valet/zoltan/lists.h>

#include <stdint.h>
#include <zoltan.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C has no namespaces: names have a prefix, as in Zoltan.
 * NOLINTBEGIN(readability-identifier-naming) */

/**
 * Migrates the objects of the lists with the callbacks registered in `zz`.
 *
 * Collective over zz's communicator; ranks outside it return ZOLTAN_OK at once. The arguments are
 * those of Zoltan_Migrate: import lists, export lists or both. Export lists must be given on all
 * ranks or on none; if they are given, import lists are only passed to pre, mid and post. Callbacks
 * registered by pre or mid take effect immediately. MIGRATE_METHOD applies, except that its default
 * means STREAM here.
 *
 * HOLD calls, in this order: pre; the sizes of all objects; for each batch, in the order of the
 * export list, sizes again (if there is more than one batch) and pack; mid; every unpack, in
 * Zoltan's order; post. Extra memory: imports + MIGRATE_MEMORY, and 24 + 4*(gid + lid entries)
 * bytes for each object that leaves or arrives.
 *
 * PHASED or CYCLIC with HOLD: the same, but batches take half of MIGRATE_MEMORY, and no phase
 * brings a rank more than the other half, which also holds objects waiting for other ranks
 * (MIGRATE_PARKING). A memory callback is obeyed: it returns the packed bytes that may arrive.
 *
 * STEPS calls pre with the full lists and the sizes; then, in each step, sizes and pack, the free
 * callback for objects that have left, mid with the lists of the step, and unpack; finally post
 * with the full lists. The number of steps is the same on all ranks. mid gets the objects of the
 * step in the order of the caller's list, in the first step also those that are listed and stay; a
 * single step gets the lists as they were given. The application promises that the local ids of the
 * export list stay valid until their object has left: mid must not renumber the objects that are
 * left, such as by compacting an array. If ZOLTAN_NUM_OBJ_FN is registered on all ranks, its sums
 * before pre and after post are compared: ZOLTAN_WARN if they differ, with MIGRATE_VERIFY
 * ZOLTAN_FATAL. Extra memory: as above without the imports. With
 * MIGRATE_PARKING an object may arrive some steps after it left: mid gets it in the export list of
 * one step and the import list of the other.
 *
 * CYCLIC, MIGRATE_PARKING and MIGRATE_SCHEDULER CENTRALIZED, which use a root, add 64 KiB and 64
 * bytes per rank to these bounds.
 *
 * In all cases an object larger than MIGRATE_MEMORY raises it for that object, which is reported.
 *
 * @param zz                 With pack, unpack and size callbacks; mid is optional, even with STEPS.
 * @param num_import         Objects that arrive here, or -1: no import lists. [local]
 * @param import_global_ids  Their global ids.
 * @param import_local_ids   Their local ids.
 * @param import_procs       Their source ranks.
 * @param import_to_part     Their destination parts; may be NULL.
 * @param num_export         Objects that leave, or -1: no export lists. [local]
 * @param export_global_ids  Their global ids.
 * @param export_local_ids   Their local ids.
 * @param export_procs       Their destination ranks.
 * @param export_to_part     Their destination parts; may be NULL.
 * @return ZOLTAN_OK or ZOLTAN_WARN; on an error ZOLTAN_FATAL or ZOLTAN_MEMERR on all ranks. The
 *         error is printed, and Valet_Get_Report() reports what had moved. Errors of the lists, of
 *         pre and of the sizes are found before an object moves; errors of pack, before mid runs
 *         (with STEPS, before mid of that step). An exception from a callback is ZOLTAN_FATAL, or
 *         ZOLTAN_MEMERR for std::bad_alloc. A failed MPI call is passed to the error handler of
 *         zz's communicator, which by default ends the job. If the handler returns, only this rank
 *         returns ZOLTAN_FATAL, and must end the job (MPI_Abort), because others may be waiting for
 *         it.
 */
VALET_EXPORT int Valet_Migrate(struct Zoltan_Struct* zz, int num_import,
                               ZOLTAN_ID_PTR import_global_ids, ZOLTAN_ID_PTR import_local_ids,
                               int* import_procs, int* import_to_part, int num_export,
                               ZOLTAN_ID_PTR export_global_ids, ZOLTAN_ID_PTR export_local_ids,
                               int* export_procs, int* export_to_part);

/**
 * Zoltan_LB_Partition() for a structure with attached storage, in any link order: see
 * valet::zoltan::Attached. Without such storage it is Zoltan's own.
 *
 * Collective over zz's communicator. With AUTO_MIGRATE the objects are moved.
 *
 * @param zz                 Zoltan's structure.
 * @param changes            Receives 1 if any object changes its rank or part, else 0. [global]
 * @param num_gid_entries    Receives the entries of a global id.
 * @param num_lid_entries    Receives the entries of a local id.
 * @param num_import         Receives the number of imports; -1 for no list.
 * @param import_global_ids  Receives the lists, as RETURN_LISTS determines; to be freed with
 *                           Zoltan_LB_Free_Part(). Local ids are the old slots.
 * @param import_local_ids   Likewise.
 * @param import_procs       Likewise.
 * @param import_to_part     Likewise.
 * @param num_export         Receives the number of exports; -1 for no list.
 * @param export_global_ids  As for imports.
 * @param export_local_ids   Likewise.
 * @param export_procs       Likewise.
 * @param export_to_part     Likewise.
 * @return ZOLTAN_OK; on an error of valet::zoltan::Attached::partition() ZOLTAN_FATAL or
 *         ZOLTAN_MEMERR on all ranks, and the error is printed.
 */
VALET_EXPORT int Valet_LB_Partition(
    struct Zoltan_Struct* zz, int* changes, int* num_gid_entries, int* num_lid_entries,
    int* num_import, ZOLTAN_ID_PTR* import_global_ids, ZOLTAN_ID_PTR* import_local_ids,
    int** import_procs, int** import_to_part, int* num_export, ZOLTAN_ID_PTR* export_global_ids,
    ZOLTAN_ID_PTR* export_local_ids, int** export_procs, int** export_to_part);

/** Zoltan_LB_Balance() likewise: Valet_LB_Partition() where parts are ranks. */
VALET_EXPORT int Valet_LB_Balance(struct Zoltan_Struct* zz, int* changes, int* num_gid_entries,
                                  int* num_lid_entries, int* num_import,
                                  ZOLTAN_ID_PTR* import_global_ids, ZOLTAN_ID_PTR* import_local_ids,
                                  int** import_procs, int* num_export,
                                  ZOLTAN_ID_PTR* export_global_ids, ZOLTAN_ID_PTR* export_local_ids,
                                  int** export_procs);

/** Zoltan_Set_Param() with Valet's parameters, in any link order. Local.
 * @param zz     Zoltan's structure; NULL sets the default of all, of MIGRATE_* only.
 * @param name   Of the parameter, in upper or lower case.
 * @param value  Likewise; "DEFAULT" takes it back.
 * @return ZOLTAN_OK; ZOLTAN_WARN if the value or name is not known, which is printed. */
VALET_EXPORT int Valet_Set_Param(struct Zoltan_Struct* zz, const char* name, const char* value);

/** STEPS: this object has left the rank, and its memory can be reused. Called locally.
 * @param data             As registered.
 * @param num_gid_entries  Entries of a global id.
 * @param num_lid_entries  Entries of a local id.
 * @param global_id        Of the object.
 * @param local_id         Of the object.
 * @param ierr             Set to ZOLTAN_OK, or to an error that ends the migration on all ranks. */
typedef void VALET_FREE_OBJ_FN(void* data, int num_gid_entries, int num_lid_entries,
                               ZOLTAN_ID_PTR global_id, ZOLTAN_ID_PTR local_id, int* ierr);

/** STEPS, PHASED and CYCLIC: the packed bytes of objects that the application can take now. Called
 * locally, before each step. If no rank can take an object, the migration ends with ZOLTAN_MEMERR.
 * Objects that wait on this rank for another are in Valet's scratch and do not count.
 * @param data  As registered.
 * @param ierr  Set to ZOLTAN_OK, or to an error that ends the migration on all ranks.
 * @return Bytes. */
typedef uint64_t VALET_MEMORY_FN(void* data, int* ierr);

/** Registers the optional callback of STEPS for objects that have left. Local. Like Zoltan's own
 * callbacks, it is copied by Zoltan_Copy and Zoltan_Copy_To and removed by Zoltan_Destroy.
 * @param zz    Zoltan's structure.
 * @param fn    The callback; NULL removes it.
 * @param data  Passed to the callback.
 * @return ZOLTAN_OK. */
VALET_EXPORT int Valet_Set_Free_Obj_Fn(struct Zoltan_Struct* zz, VALET_FREE_OBJ_FN* fn, void* data);
/** Registers the optional callback of STEPS, PHASED and CYCLIC for available memory. Local; copied
 * and removed likewise.
 * @param zz    Zoltan's structure.
 * @param fn    The callback; NULL removes it.
 * @param data  Passed to the callback.
 * @return ZOLTAN_OK. */
VALET_EXPORT int Valet_Set_Memory_Fn(struct Zoltan_Struct* zz, VALET_MEMORY_FN* fn, void* data);

/** Report of the last migration on this rank. Bytes are those of packed objects, with sizes rounded
 * up to multiples of 8 as in Zoltan. */
typedef struct Valet_Migration_Report {
  char method[16];           /**< "STREAM", "DIRECT", "PHASED" or "CYCLIC" */
  char callbacks[8];         /**< "HOLD" or "STEPS" */
  int code;                  /**< return value of the migration */
  int ranks;                 /**< ranks of the communicator */
  int verified;              /**< 1: checksums were compared and agree */
  int lists_from_layout;     /**< 1: the lists are a layout: counts were computed, not exchanged */
  uint64_t objects_exported; /**< objects to leave, or to be packed for their own rank */
  uint64_t objects_imported; /**< objects to arrive */
  uint64_t bytes_exported;   /**< bytes of objects_exported */
  uint64_t bytes_imported;   /**< bytes of objects_imported */
  uint64_t objects_packed;   /**< objects packed: all, unless there was an error */
  uint64_t objects_sent;     /**< objects that arrived elsewhere; with HOLD maybe still packed */
  uint64_t objects_unpacked; /**< objects for which unpack was called */
  uint64_t messages;         /**< data messages sent */
  uint64_t batches;          /**< batches of objects packed */
  uint64_t steps;            /**< steps or phases; 1 with HOLD without phases */
  uint64_t objects_parked;   /**< exports of this rank that waited on a third rank */
  uint64_t budget_bytes;     /**< MIGRATE_MEMORY */
  uint64_t budget_raised_bytes; /**< increase for objects larger than their share, or 0 */
  uint64_t peak_extra_bytes;    /**< peak of the memory that Valet had allocated */
  uint64_t extra_bytes_bound;   /**< guaranteed upper bound of peak_extra_bytes */
  double seconds;               /**< the whole call */
  double list_seconds;          /**< lists, sizes and global ids */
  double move_seconds;          /**< packing and moving; with STEPS, all steps */
  double unpack_seconds;        /**< HOLD: unpacking */
  char reason[128];             /**< AUTO: why it chose the method; else empty */
  char message[512];            /**< text of the error, or of Valet's own warning; else empty */
} Valet_Migration_Report;

/** Copies the report of zz's last migration with Valet. Local.
 * @param zz      Zoltan's structure.
 * @param report  Receives the report.
 * @return ZOLTAN_OK, or ZOLTAN_WARN if there was none. */
VALET_EXPORT int Valet_Get_Report(struct Zoltan_Struct* zz, Valet_Migration_Report* report);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
