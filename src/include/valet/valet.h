/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_VALET_H
#define VALET_VALET_H

/**
 * @file
 * Valet for C: the contents of valet.hpp, with handles and return codes. Includes ragged.h and
 * custom.h.
 *
 * Functions that return int return VALET_SUCCESS or an error code. Valet_Error_message() then has
 * the text, which names the rank, the block and the remedy. Input errors give the same code on all
 * ranks, even if the arguments or options of only one rank are wrong, and the blocks are unchanged.
 * A null pointer where none is allowed is VALET_INVALID_ARGUMENT; only a null Valet_Plan is an
 * error on its own rank alone, because without the plan the communicator is unknown. After
 * VALET_MPI_FAILURE and VALET_INTERNAL the content of the occupied slots is unspecified; after
 * VALET_CORRUPTED, that of the blocks named in the text. After VALET_CALLBACK_FAILED the text says
 * whether every block is at its destination.
 *
 * VALET_MPI_FAILURE is local: other ranks may be waiting for this one. Valet therefore first passes
 * a failed MPI call to the error handler of the application's communicator (of MPI_COMM_WORLD if
 * that has been freed). The default, MPI_ERRORS_ARE_FATAL, ends the job. If you set a handler that
 * returns, such as MPI_ERRORS_RETURN, call MPI_Abort() when a function returns this code: do not
 * call Valet on that communicator again. Memory of pending operations is leaked, because MPI may
 * still write to it.
 *
 * Options and reports begin with their size, so that members added later do not break programs
 * compiled before. A size that does not fit this library is VALET_INVALID_ARGUMENT.
 *
 * Functions have the memory bounds of the C++ functions that they name. Collective functions are
 * blocking, and must be called by all ranks of the communicator, including ranks without blocks.
 *
 * @code{.c}
 * Valet_Storage* storage = Valet_Storage_create();
 * Valet_Storage_add_field(storage, position, slots, 3 * sizeof(double), 3 * sizeof(double), "x");
 * Valet_Plan* plan = NULL;
 * if (Valet_Plan_to_ranks(comm, storage, count, NULL, ranks, NULL, &plan) != VALET_SUCCESS)
 *   fprintf(stderr, "%s\n", Valet_Error_message());
 * else if (Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
 *   count = Valet_Plan_blocks_after(plan);
 * Valet_Plan_free(plan);
 * Valet_Storage_free(storage);
 * @endcode
 *
 * The Fortran module `valet` has the same names. There, maps, addresses and counts are passed as
 * arrays: `ranks` is integer(c_int). Untyped data (of a field or buffer, and a mask) and arrays in
 * a structure (such as the lists of a Valet_Layout) are type(c_ptr): pass c_loc(x), or c_null_ptr
 * where NULL is allowed. Options, reports and a Valet_Array are optional. Communicators are the
 * integers of `mpi`, or comm%mpi_val of `mpi_f08`. Ranks and slots start at 0, as in MPI and C.
 */

#include <valet/custom.h>
#include <valet/export.hpp>
#include <valet/ragged.h>
#include <valet/version.hpp>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names have a prefix, as in Zoltan. NOLINTBEGIN(readability-identifier-naming) */

/** Error codes, as valet::ErrorCode. */
enum {
  VALET_SUCCESS = 0,               /**< no error */
  VALET_INVALID_ARGUMENT = 1,      /**< an argument is invalid or contradicts another */
  VALET_RANK_OUT_OF_RANGE = 2,     /**< a destination rank is not in the communicator */
  VALET_SLOT_OUT_OF_RANGE = 3,     /**< a destination slot does not exist on its rank */
  VALET_SLOT_TAKEN_TWICE = 4,      /**< two blocks have the same destination slot */
  VALET_INFEASIBLE = 5,            /**< a rank would hold more blocks than it has slots */
  VALET_FIELD_MISMATCH = 6,        /**< the fields of a storage have different numbers of slots */
  VALET_BLOCK_SIZE_MISMATCH = 7,   /**< ranks disagree on the bytes of a block */
  VALET_BUDGET_TOO_SMALL = 8,      /**< the method cannot work within the budget */
  VALET_INACCESSIBLE_MEMORY = 9,   /**< a field has no memory */
  VALET_NOT_INITIALIZED = 10,      /**< MPI is not initialised, or already finalised */
  VALET_INVALID_COMMUNICATOR = 11, /**< MPI_COMM_NULL, an intercommunicator, of another MPI */
  VALET_OUT_OF_MEMORY = 12,        /**< the system refused memory */
  VALET_CORRUPTED = 13,            /**< verification found a block that differs from the one sent */
  VALET_MPI_FAILURE = 14,          /**< an MPI call returned an error; end the job: see above */
  VALET_INTERNAL = 15,             /**< a broken invariant: a bug in Valet */
  VALET_CALLBACK_FAILED = 16 /**< a callback of the application failed or threw an exception */
};

/** Valet_Options::method; see valet::Method. */
enum {
  VALET_METHOD_STREAM = 0,   /**< receivers grant credits, senders stream */
  VALET_METHOD_DIRECT = 1,   /**< everything at once, if it fits the budget */
  VALET_METHOD_PHASED = 2,   /**< in phases that fit free memory */
  VALET_METHOD_CYCLIC = 3,   /**< cycles and shifts scheduled by rank 0 */
  VALET_METHOD_AUTOMATIC = 4 /**< STREAM or DIRECT, whichever is predicted faster */
};
/** Valet_Phased_options::heuristic; see valet::Heuristic. */
enum {
  VALET_HEURISTIC_FIRST_FIT = 0,     /**< sources in list order */
  VALET_HEURISTIC_MAX_FIRST = 1,     /**< the source with the most blocks left */
  VALET_HEURISTIC_RANDOM = 2,        /**< each source with the same probability */
  VALET_HEURISTIC_FORTUNE_WHEEL = 3, /**< with a probability proportional to the blocks left */
  VALET_HEURISTIC_MIN_MAX = 4,       /**< minimises the most blocks left at any source */
  VALET_HEURISTIC_CONTINUOUS = 5     /**< equal pieces of every transfer */
};
/** Valet_Phased_options::scheduler; see valet::Scheduler. */
enum {
  VALET_SCHEDULER_DISTRIBUTED = 0, /**< every receiver decides */
  VALET_SCHEDULER_CENTRALIZED = 1  /**< rank 0 decides */
};
/** Valet_Options::order; see valet::Order. */
enum {
  VALET_ORDER_ANY = 0,   /**< slots that were just left: the fastest */
  VALET_ORDER_FILL = 1,  /**< the lowest free slots, by source and old slot */
  VALET_ORDER_STABLE = 2 /**< packed from slot 0, in order */
};
/** Valet_Cyclic_options::edge_order; see valet::EdgeOrder. */
enum {
  VALET_EDGE_ORDER_ASCENDING = 0, /**< as published */
  VALET_EDGE_ORDER_ROTATED = 1    /**< starting after this rank */
};
/** Valet_Options::alltoall_method, for Valet_Alltoallv_in_place(); see valet::AlltoallMethod. */
enum {
  VALET_ALLTOALL_AUTOMATIC = 0, /**< direct if it fits, else the one predicted faster */
  VALET_ALLTOALL_STREAM = 1,    /**< straight to the destination, in pages */
  VALET_ALLTOALL_SWAPS = 2,     /**< pairwise or bitonic, whichever swaps less */
  VALET_ALLTOALL_BITONIC = 3,   /**< bitonic sort across ranks */
  VALET_ALLTOALL_PAIRWISE = 4,  /**< asymmetric swaps between pairs of ranks */
  VALET_ALLTOALL_DIRECT = 5     /**< all at once; needs a budget for all departing elements */
};

/** Handle of a validated map that can be executed many times. */
typedef struct Valet_Plan Valet_Plan;

/** A slot in the memory of all ranks. */
typedef struct Valet_Address {
  int rank;      /**< in the communicator, 0 to P-1 */
  uint64_t slot; /**< on that rank, from 0 */
} Valet_Address;

/** Progress of a migration on this rank: see valet::Progress. */
typedef struct Valet_Progress {
  uint64_t blocks_done;   /**< blocks that have left or arrived */
  uint64_t blocks_total;  /**< blocks that leave or arrive */
  uint64_t bytes_done;    /**< bytes of blocks_done */
  uint64_t bytes_total;   /**< bytes of blocks_total */
  double elapsed_seconds; /**< since the execution began */
} Valet_Progress;
/** Receives the progress and Valet_Options::progress_data. Must not communicate, call Valet, touch
 * the storage or exit by longjmp. If it throws a C++ exception, it is not called again, and the
 * call returns VALET_CALLBACK_FAILED at the end. */
typedef void Valet_Progress_fn(const Valet_Progress* progress, void* data);

/** Returns the bytes that blocks may fill on this rank in the phase that begins; receives
 * Valet_Phased_options::available_bytes_data. Must not communicate, call Valet, touch the storage
 * or exit by longjmp. For C++ exceptions see valet::PhasedOptions. */
typedef size_t Valet_Available_bytes_fn(void* data);

/** The cost of moving data; see valet::CostModel. All members are above 0. */
typedef struct Valet_Cost_model {
  double latency_seconds; /**< time of an empty message */
  double bandwidth;       /**< bytes per second sent while receiving as much */
  double copy_bandwidth;  /**< bytes per second from memory to memory */
  double block_seconds;   /**< time to gather or scatter a block of 64 bytes */
} Valet_Cost_model;
/** Parses "latency=2e-6,bandwidth=4e9,copy=5e9,block=8e-9": valet::parse_cost_model(). Local.
 * @param text   Omitted entries have their defaults.
 * @param model  Receives the model; unchanged on error.
 * @return VALET_SUCCESS or VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Parse_cost_model(const char* text, Valet_Cost_model* model);

/* The parts of Valet_Options keep their size: later options of a method go behind the last member
 * of Valet_Options. */

/** Options of VALET_METHOD_AUTOMATIC; see valet::AutomaticOptions. */
typedef struct Valet_Automatic_options {
  const Valet_Cost_model* model; /**< NULL: VALET_MODEL, or a measurement; read during the call */
} Valet_Automatic_options;
/** Options of VALET_METHOD_STREAM; see valet::StreamOptions. */
typedef struct Valet_Stream_options {
  int window; /**< most outstanding data messages, 1 to 64; default 32 */
} Valet_Stream_options;
/** Options of VALET_METHOD_PHASED; see valet::PhasedOptions. */
typedef struct Valet_Phased_options {
  int heuristic;                             /**< default VALET_HEURISTIC_FORTUNE_WHEEL */
  int scheduler;                             /**< default VALET_SCHEDULER_DISTRIBUTED */
  int parking;                               /**< in every k-th phase; default 0 for never */
  uint64_t seed;                             /**< of heuristics that draw lots; default 1 */
  Valet_Available_bytes_fn* available_bytes; /**< NULL for none; used until the plan is freed */
  void* available_bytes_data;                /**< for available_bytes */
} Valet_Phased_options;
/** Options of VALET_METHOD_CYCLIC; see valet::CyclicOptions. */
typedef struct Valet_Cyclic_options {
  int edge_order; /**< default VALET_EDGE_ORDER_ASCENDING */
} Valet_Cyclic_options;

/** Options as in valet::Options; start from Valet_Options_default(). Budgets, message_bytes,
 * keep_memory, windows, available_bytes, edge orders, models, progress callbacks and bars may
 * differ between ranks; the rest must be the same on all ranks. */
typedef struct Valet_Options {
  size_t struct_size;   /**< sizeof(Valet_Options); members beyond it have their defaults */
  size_t budget_bytes;  /**< scratch of this rank; default 4 MiB */
  int method;           /**< default VALET_METHOD_AUTOMATIC */
  int order;            /**< default VALET_ORDER_ANY */
  int verify;           /**< not 0: compare checksums of every block; default 0 */
  int share_memory;     /**< not 0: ranks of a node share memory; default 1 */
  int keep_memory;      /**< not 0: the communicator keeps memory for later calls; default 1 */
  size_t message_bytes; /**< most bytes of a data message; default 0 lets Valet choose */
  int alltoall_method;  /**< default VALET_ALLTOALL_AUTOMATIC */
  int progress_bar;     /**< not 0: progress bar on the terminal of rank 0; default 1 */
  Valet_Automatic_options automatic; /**< used if Valet chooses the method */
  Valet_Stream_options stream;       /**< used if Valet or the user chooses this method */
  Valet_Phased_options phased;       /**< likewise */
  Valet_Cyclic_options cyclic;       /**< likewise */
  const char* trace;                 /**< path of a trace, read during the call; NULL for none */
  Valet_Progress_fn* progress;       /**< NULL for none; used until the plan is freed */
  void* progress_data;               /**< for progress */
} Valet_Options;

/** Sets all options to their defaults, and `struct_size`. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Options) in the caller: no more is written. */
VALET_EXPORT void Valet_Options_init(Valet_Options* options, size_t struct_size);
/** The defaults of all options. Local. @return The options, to be modified and passed on. */
static inline Valet_Options Valet_Options_default(void) {
  Valet_Options options;
  Valet_Options_init(&options, sizeof options);
  return options;
}

/** Sizes of the texts in Valet_Report, including the terminating 0. */
enum { VALET_REPORT_METHOD_BYTES = 16, VALET_REPORT_REASON_BYTES = 256 };

/** Report of a call for this rank or, after Valet_Summed_over_ranks(), for all; see valet::Report.
 * Start from Valet_Report_default(). */
typedef struct Valet_Report {
  size_t struct_size;         /**< sizeof(Valet_Report); no more is written */
  int ranks;                  /**< ranks covered by this report */
  int verified;               /**< not 0: checksums were compared and agree */
  int plan_from_layout;       /**< not 0: counts were computed from a layout */
  uint64_t block_bytes;       /**< bytes of a block, all fields together */
  uint64_t blocks_before;     /**< on this rank */
  uint64_t blocks_after;      /**< on this rank */
  uint64_t blocks_sent;       /**< to other ranks */
  uint64_t blocks_received;   /**< from other ranks */
  uint64_t bytes_sent;        /**< data only */
  uint64_t messages;          /**< data messages sent, or parts written inside the node */
  uint64_t credits;           /**< control messages sent */
  uint64_t local_copies;      /**< blocks copied from slot to slot inside the rank */
  uint64_t misplaced;         /**< blocks that arrived before their slots were free */
  uint64_t swaps;             /**< between two ranks, by methods that swap */
  uint64_t phases;            /**< VALET_METHOD_PHASED only */
  uint64_t detours;           /**< blocks received to wait here for another rank */
  uint64_t steps;             /**< VALET_METHOD_CYCLIC only: length of the critical path */
  uint64_t neighbours;        /**< ranks with which data is exchanged */
  uint64_t budget_bytes;      /**< Valet_Options::budget_bytes */
  uint64_t peak_extra_bytes;  /**< peak of the memory that Valet had allocated */
  uint64_t extra_bytes_bound; /**< guaranteed upper bound of peak_extra_bytes */
  uint64_t shared_bytes;      /**< part of the extra bytes shared with ranks of the node */
  uint64_t segments;          /**< planned from a layout: line segments of a period */
  uint64_t periods;           /**< planned from a layout: number of periods; else 0 */
  double plan_seconds;        /**< reading the map, exchanging counts */
  double exchange_seconds;    /**< moving blocks between ranks */
  double local_seconds;       /**< moving blocks inside the rank */
  double verify_seconds;      /**< checksums, if requested */
  double waiting_seconds;     /**< part of the exchange: blocked in MPI */
  double gather_seconds;    /**< part of the exchange: matrix to the root, centralized scheduler */
  double solve_seconds;     /**< part of the exchange: the root computes phases */
  double scatter_seconds;   /**< part of the exchange: phases to the ranks, including waiting */
  double seconds;           /**< plan, exchange and local time, without verification */
  double predicted_seconds; /**< VALET_METHOD_AUTOMATIC: of the chosen method; else 0 */
  double lower_bound_seconds; /**< VALET_METHOD_AUTOMATIC: to cross the network; else 0 */
  double achieved_fraction;   /**< lower bound over exchange and local time; else 0 */
  char method[VALET_REPORT_METHOD_BYTES]; /**< name of the method used, such as "stream" */
  char reason[VALET_REPORT_REASON_BYTES]; /**< VALET_METHOD_AUTOMATIC: why it chose; else "" */
} Valet_Report;

/** Empties a report and sets `struct_size`. Local.
 * @param report       NULL is ignored.
 * @param struct_size  sizeof(Valet_Report) in the caller: no more is written. */
VALET_EXPORT void Valet_Report_init(Valet_Report* report, size_t struct_size);
/** An empty report, to be filled by a call. Local. @return The report. */
static inline Valet_Report Valet_Report_default(void) {
  Valet_Report report;
  Valet_Report_init(&report, sizeof report);
  return report;
}
/** The report as a few readable lines: valet::Report::to_string(). Local.
 * @param report  A report filled by a call.
 * @param text    Receives as much as fits, and a 0; may be NULL if `bytes` is 0.
 * @param bytes   Size of `text`.
 * @return Length of the whole text without the 0, as snprintf(). 0 for a null `report` or a wrong
 *         struct_size, which sets Valet_Error_message(). */
VALET_EXPORT size_t Valet_Report_to_string(const Valet_Report* report, char* text, size_t bytes);
/** The report as one JSON object: valet::Report::to_json(). Local.
 * @param report  A report filled by a call.
 * @param text    Receives as much as fits, and a 0; may be NULL if `bytes` is 0.
 * @param bytes   Size of `text`.
 * @return As Valet_Report_to_string(). */
VALET_EXPORT size_t Valet_Report_to_json(const Valet_Report* report, char* text, size_t bytes);
/** Combines the reports of all ranks: valet::summed_over_ranks(). Collective.
 * @param communicator  The ranks to combine.
 * @param report        The report of this rank. [local]
 * @param total         Receives the same report on all ranks; may be `report` itself.
 * @return VALET_SUCCESS or an error code. */
VALET_EXPORT int Valet_Summed_over_ranks(MPI_Comm communicator, const Valet_Report* report,
                                         Valet_Report* total);

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

/** MPI_Alltoallv inside one buffer: valet::alltoallv_in_place(). Collective.
 * @param communicator   An intracommunicator of P ranks.
 * @param buffer         On entry elements by destination, in rank order; on return by source.
 *                       [local]
 * @param buffer_bytes   Capacity, for the elements before and for those after. [local]
 * @param send_counts    Elements for each rank, P entries. [local]
 * @param recv_counts    Elements from each rank, P entries; if NULL, Valet determines them.
 * @param element_bytes  The same on all ranks.
 * @param any_order      Not 0: elements may end in any order, which is faster. The same on all
 *                       ranks.
 * @param options        Uses budget_bytes, share_memory, keep_memory, alltoall_method, trace and
 *                       progress (three members); the others are checked as well. NULL for the
 *                       defaults.
 * @param report         NULL, or receives the report, counting elements as blocks.
 * @return VALET_SUCCESS or an error code of valet::alltoallv_in_place(). */
VALET_EXPORT int Valet_Alltoallv_in_place(MPI_Comm communicator, void* buffer, size_t buffer_bytes,
                                          const int64_t* send_counts, const int64_t* recv_counts,
                                          size_t element_bytes, int any_order,
                                          const Valet_Options* options, Valet_Report* report);

/** Which of several indices varies fastest; see valet::IndexOrder. */
enum {
  VALET_ROW_MAJOR = 0,   /**< the last one */
  VALET_COLUMN_MAJOR = 1 /**< the first one */
};

/** A block-cyclic layout of an array on ranks of a communicator, the same on all ranks: see
 * valet::BlockCyclic and valet::GridLayout. Lists have one entry per dimension. */
typedef struct Valet_Layout {
  int dimensions;             /**< 1 to 6 */
  const int64_t* extents;     /**< elements of the global array */
  const int64_t* block_sizes; /**< elements of a block */
  const int* grid;            /**< ranks of the grid */
  int rank_order;             /**< VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: numbering of the grid */
  const int* first_ranks;     /**< coordinate that owns global index 0; NULL: all 0 */
  const int* ranks;           /**< communicator rank of each rank of the grid; NULL: 0, 1, ... */
} Valet_Layout;

/** This rank's part of a distributed array: see valet::LocalArray. */
typedef struct Valet_Array {
  void* data;   /**< the first element */
  size_t bytes; /**< size of the memory, at least up to the last element */
  int order;    /**< VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: the same on all ranks */
  const int64_t*
      strides; /**< elements from one index to the next per dimension; NULL: contiguous */
} Valet_Array;

/** Copies an array from one layout into an array with another: valet::redistribute(). Collective.
 * @param communicator   An intracommunicator.
 * @param from           The layout of the source.
 * @param to             The layout of the target, of equal extents.
 * @param element_bytes  The same on all ranks.
 * @param source         This rank's part; ignored, and may be NULL, on ranks outside the grid.
 *                       [local]
 * @param target         Room for this rank's part; ignored on ranks outside the grid. [local]
 * @param options        As for Valet_Alltoallv_in_place() except alltoall_method, or NULL.
 * @param report         NULL, or receives the report, counting elements as blocks.
 * @return VALET_SUCCESS or an error code of valet::redistribute(). */
VALET_EXPORT int Valet_Redistribute(MPI_Comm communicator, const Valet_Layout* from,
                                    const Valet_Layout* to, size_t element_bytes,
                                    const Valet_Array* source, const Valet_Array* target,
                                    const Valet_Options* options, Valet_Report* report);
/** The same inside one array: valet::redistribute_in_place(). Collective.
 * @param communicator   An intracommunicator.
 * @param from           The layout before.
 * @param to             The layout after, of equal extents.
 * @param element_bytes  The same on all ranks.
 * @param array          This rank's part, with room for the larger of both and without strides;
 *                       ignored, and may be NULL, on ranks outside both grids. [local]
 * @param options        As for Valet_Redistribute(), and method; or NULL.
 * @param report         NULL, or receives the report, counting elements as blocks.
 * @return VALET_SUCCESS or an error code of valet::redistribute_in_place(). */
VALET_EXPORT int Valet_Redistribute_in_place(MPI_Comm communicator, const Valet_Layout* from,
                                             const Valet_Layout* to, size_t element_bytes,
                                             const Valet_Array* array, const Valet_Options* options,
                                             Valet_Report* report);

/** Severity of a message; see valet::LogLevel. */
enum {
  VALET_LOG_DEBUG = 0,  /**< what was chosen, and why */
  VALET_LOG_INFO = 1,   /**< one line for every finished migration */
  VALET_LOG_WARNING = 2 /**< something requested is unavailable */
};
/** Receives a message without a line end, which is valid during the call, and the `data` of
 * Valet_Set_log_callback(). Must not call Valet. */
typedef void Valet_Log_fn(int level, const char* message, void* data);
/** Sends all messages of this process, except errors, to a callback: valet::set_log_callback().
 * Local; may be called at any time.
 * @param callback  NULL restores the default: warnings on rank 0 go to standard error.
 * @param data      Passed to the callback. */
VALET_EXPORT void Valet_Set_log_callback(Valet_Log_fn* callback, void* data);

/** The version of the library that runs, such as "0.1.0": valet::version(). Local; may be called at
 * any time. @return A text that stays valid. */
VALET_EXPORT const char* Valet_Version(void);
/** How the library was built, and its MPI, one fact a line: valet::configuration(). Local; may be
 * called at any time, before MPI_Init and after MPI_Finalize, too.
 * @param text   Receives as much as fits, and a 0; may be NULL if `bytes` is 0.
 * @param bytes  Size of `text`.
 * @return Length of the whole text without the 0, as snprintf(). */
VALET_EXPORT size_t Valet_Configuration_to_string(char* text, size_t bytes);
/** The same as one JSON object. Local; may be called at any time.
 * @param text   Receives as much as fits, and a 0; may be NULL if `bytes` is 0.
 * @param bytes  Size of `text`.
 * @return As Valet_Configuration_to_string(). */
VALET_EXPORT size_t Valet_Configuration_to_json(char* text, size_t bytes);

/** The text of the last error on this thread. Local.
 * @return "" if there was none; valid until the next error on this thread. */
VALET_EXPORT const char* Valet_Error_message(void);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
