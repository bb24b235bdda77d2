/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_VALET_H
#define VALET_VALET_H

/*
 * Valet for C. The same redistribution as valet.hpp, with handles and return codes.
 *
 * Functions that return int return VALET_SUCCESS or the code of an error; for errors of the input
 * the same one on all ranks, and the blocks are as they were. Valet_Error_message() then has the
 * text, which names the rank, the block and the remedy.
 */

#include <valet/export.hpp>
#include <valet/version.hpp>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C has no namespaces: names carry the prefix, as Zoltan's do.
 * NOLINTBEGIN(readability-identifier-naming) */

enum {
  VALET_SUCCESS = 0,
  VALET_INVALID_ARGUMENT = 1,
  VALET_RANK_OUT_OF_RANGE = 2,
  VALET_SLOT_OUT_OF_RANGE = 3,
  VALET_SLOT_TAKEN_TWICE = 4,
  VALET_INFEASIBLE = 5,
  VALET_FIELD_MISMATCH = 6,
  VALET_BLOCK_SIZE_MISMATCH = 7,
  VALET_BUDGET_TOO_SMALL = 8,
  VALET_INACCESSIBLE_MEMORY = 9,
  VALET_NOT_INITIALIZED = 10,
  VALET_INVALID_COMMUNICATOR = 11,
  VALET_OUT_OF_MEMORY = 12,
  VALET_CORRUPTED = 13,
  VALET_MPI_FAILURE = 14,
  VALET_INTERNAL = 15
};

enum {
  VALET_STREAM = 0,
  VALET_DIRECT = 1,
  VALET_PHASED = 2,
  VALET_CYCLIC = 3,
  VALET_AUTO = 4 /* the default: the one that is predicted to be the fastest */
};
/* Of VALET_PHASED; see valet::Heuristic and valet::Scheduler. */
enum {
  VALET_FIRST_FIT = 0,
  VALET_MAX_FIRST = 1,
  VALET_RANDOM = 2,
  VALET_FORTUNE_WHEEL = 3,
  VALET_MIN_MAX = 4,
  VALET_CONTINUOUS = 5
};
enum { VALET_DISTRIBUTED = 0, VALET_CENTRALIZED = 1 };
enum { VALET_FILL = 0, VALET_STABLE = 1 };
/* Of VALET_CYCLIC. */
enum { VALET_ASCENDING = 0, VALET_ROTATED = 1 };
/* Of Valet_Alltoallv_in_place; see valet::AlltoallMethod. */
enum {
  VALET_ALLTOALL_AUTOMATIC = 0,
  VALET_ALLTOALL_STREAM = 1,
  VALET_ALLTOALL_SWAPS = 2, /* pairwise or bitonic */
  VALET_ALLTOALL_BITONIC = 3,
  VALET_ALLTOALL_PAIRWISE = 4
};

/* The fields of one rank, seen as slots. */
typedef struct Valet_Storage Valet_Storage;
/* The validated, reusable result of looking at a map. */
typedef struct Valet_Plan Valet_Plan;

/* A place in the memory of all ranks together. */
typedef struct Valet_Address {
  int rank;
  uint64_t slot;
} Valet_Address;

/* How far a migration is on this rank: see valet::Progress. */
typedef struct Valet_Progress {
  uint64_t blocks_done;
  uint64_t blocks_total;
  uint64_t bytes_done;
  uint64_t bytes_total;
  double elapsed_seconds;
} Valet_Progress;
/* Must not communicate, call Valet, touch the storage or leave by longjmp. */
typedef void Valet_Progress_fn(const Valet_Progress* progress, void* data);

/* As valet::Options; start from Valet_Options_default(). */
typedef struct Valet_Options {
  size_t budget_bytes;
  int method;
  int order;
  int verify;
  size_t message_bytes;
  int share_memory;
  int window;
  int alltoall_method;
  int heuristic;
  int scheduler;
  int parking;
  uint64_t seed;
  int edge_order;
  const char* trace;           /* a path; NULL for no trace. Read during the call. */
  Valet_Progress_fn* progress; /* NULL for none; with progress_data, until the plan is freed */
  void* progress_data;
  int progress_bar;
} Valet_Options;

/* What an execution did on this rank. */
typedef struct Valet_Report {
  uint64_t blocks_before;
  uint64_t blocks_after;
  uint64_t blocks_sent;
  uint64_t blocks_received;
  uint64_t bytes_sent;
  uint64_t messages;
  uint64_t swaps;
  uint64_t local_copies;
  uint64_t peak_extra_bytes;
  uint64_t extra_bytes_bound;
  double plan_seconds;
  double exchange_seconds;
  double local_seconds;
  uint64_t phases;
  double waiting_seconds;
} Valet_Report;

VALET_EXPORT Valet_Options Valet_Options_default(void);

/* A storage without fields; NULL when there is no memory. Local. */
VALET_EXPORT Valet_Storage* Valet_Storage_create(void);
/* Adds rows of row_bytes bytes that start slot_stride_bytes apart; the caller keeps the memory.
 * Local. What is wrong with the fields is reported when the storage is used, on all ranks. */
VALET_EXPORT int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots,
                                         size_t row_bytes, ptrdiff_t slot_stride_bytes,
                                         const char* label);
/* Frees the handle, not the fields. Local; NULL is allowed. */
VALET_EXPORT void Valet_Storage_free(Valet_Storage* storage);

/* Plans a map that gives each block a rank. Collective over communicator.
 *   count  Blocks, in the first slots. With a mask: its length, the number of slots.
 *   mask   NULL, or per slot whether it holds a block.
 *   ranks  count destinations.
 *   plan   Gets the plan, to be freed with Valet_Plan_free(). */
VALET_EXPORT int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask, const int* ranks,
                                     const Valet_Options* options, Valet_Plan** plan);
/* Plans a map that gives each block an address; otherwise the same. */
VALET_EXPORT int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask,
                                     const Valet_Address* addresses, const Valet_Options* options,
                                     Valet_Plan** plan);
/* Frees a plan. Local; NULL is allowed. */
VALET_EXPORT void Valet_Plan_free(Valet_Plan* plan);

/* Blocks on this rank afterwards, and the slots it needs for that. Local. */
VALET_EXPORT uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan);
VALET_EXPORT uint64_t Valet_Plan_required_slots(const Valet_Plan* plan);

/* Carries a plan out in place, as often as wanted. Collective. `report` may be NULL. */
VALET_EXPORT int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage,
                               Valet_Report* report);

/* MPI_Alltoallv inside one buffer: see valet::alltoallv_in_place. Collective over communicator.
 *   buffer         The elements for rank 0, 1, ... on entry, those from rank 0, 1, ... on return.
 *   buffer_bytes   Room, for the elements before and for those after.
 *   send_counts    Elements for each rank.
 *   recv_counts    Elements from each rank, or NULL: then they are found out.
 *   element_bytes  The same on all ranks.
 *   any_order      Not 0: elements may end in any order, which is faster. The same on all ranks.
 *   options        budget_bytes, share_memory, alltoall_method and trace are used; NULL for the
 *                  defaults.
 *   report         NULL, or gets what was done; blocks are elements. */
VALET_EXPORT int Valet_Alltoallv_in_place(void* buffer, size_t buffer_bytes,
                                          const int64_t* send_counts, const int64_t* recv_counts,
                                          size_t element_bytes, int any_order,
                                          MPI_Comm communicator, const Valet_Options* options,
                                          Valet_Report* report);

enum { VALET_ROW_MAJOR = 0, VALET_COLUMN_MAJOR = 1 };

/* A block-cyclic layout of an array on ranks of a communicator: see valet::BlockCyclic and
 * valet::GridLayout. The same on all ranks.
 *   dimensions    1 to 6, the length of the lists below.
 *   rank_order    VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: how the grid is numbered.
 *   first_ranks   Coordinate that owns global index 0 per dimension; NULL: all 0.
 *   ranks         Communicator ranks of the grid's ranks, as many as the grid has; NULL: 0, 1, ...
 */
typedef struct Valet_Layout {
  int dimensions;
  const int64_t* extents;
  const int64_t* block_sizes;
  const int* grid;
  int rank_order;
  const int* first_ranks;
  const int* ranks;
} Valet_Layout;

/* This rank's part of such an array: see valet::LocalArray.
 *   bytes    Of memory.
 *   order    VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: which index varies fastest in memory.
 *   strides  Elements from an index to the next per dimension; NULL: the elements adjoin. */
typedef struct Valet_Array {
  void* data;
  size_t bytes;
  int order;
  const int64_t* strides;
} Valet_Array;

/* Copies an array from one layout into an array of another: see valet::redistribute. Collective
 * over communicator. The part of a rank outside of a grid is ignored and may be NULL.
 *   options  budget_bytes, share_memory and trace are used, and method in place; NULL: the
 * defaults. report   NULL, or gets what was done; blocks are elements. */
VALET_EXPORT int Valet_Redistribute(const Valet_Layout* from, const Valet_Layout* to,
                                    size_t element_bytes, const Valet_Array* source,
                                    const Valet_Array* target, MPI_Comm communicator,
                                    const Valet_Options* options, Valet_Report* report);
/* The same inside one array, which has room for the larger part: see
 * valet::redistribute_in_place. */
VALET_EXPORT int Valet_Redistribute_in_place(const Valet_Layout* from, const Valet_Layout* to,
                                             size_t element_bytes, const Valet_Array* array,
                                             MPI_Comm communicator, const Valet_Options* options,
                                             Valet_Report* report);

/* The collective functions for Fortran, which gives communicators as integers: for the module
 * `valet` (valet.f90). */
VALET_EXPORT int Valet_Plan_to_ranks_f(MPI_Fint communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask, const int* ranks,
                                       const Valet_Options* options, Valet_Plan** plan);
VALET_EXPORT int Valet_Plan_to_slots_f(MPI_Fint communicator, const Valet_Storage* storage,
                                       uint64_t count, const uint8_t* mask,
                                       const Valet_Address* addresses, const Valet_Options* options,
                                       Valet_Plan** plan);
VALET_EXPORT int Valet_Alltoallv_in_place_f(void* buffer, size_t buffer_bytes,
                                            const int64_t* send_counts, const int64_t* recv_counts,
                                            size_t element_bytes, int any_order,
                                            MPI_Fint communicator, const Valet_Options* options,
                                            Valet_Report* report);

/* Messages beside errors: see valet::set_log_callback. */
enum { VALET_LOG_DEBUG = 0, VALET_LOG_INFO = 1, VALET_LOG_WARNING = 2 };
/* Must not call Valet. `message` has no line end and lives as long as the call. */
typedef void Valet_Log_fn(int level, const char* message, void* data);
/* Gives all messages of this process to `callback`, with `data`; NULL brings the default back:
 * warnings to standard error on rank 0. Local, at any time. */
VALET_EXPORT void Valet_Set_log_callback(Valet_Log_fn* callback, void* data);

/* The text of the last error on this thread; "" when there was none. */
VALET_EXPORT const char* Valet_Error_message(void);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
