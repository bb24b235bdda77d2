/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_VALET_H
#define VALET_VALET_H

/**
 * @file
 * Valet for C: what valet.hpp has, with handles and return codes; ragged.h and custom.h are parts
 * of it.
 *
 * Functions that return int return VALET_SUCCESS or the code of an error; for errors of the input
 * the same one on all ranks, also where one rank alone has its arguments or options wrong, and the
 * blocks are as they were. Valet_Error_message() then has the text, which names the rank, the block
 * and the remedy. A null pointer where none is allowed is VALET_INVALID_ARGUMENT; a null
 * Valet_Plan is found by its own rank alone, because nothing else knows the communicator. After
 * VALET_MPI_FAILURE and VALET_INTERNAL the content of the occupied slots is unspecified, after
 * VALET_CORRUPTED that of the blocks that the text names; after VALET_CALLBACK_FAILED the text says
 * whether every block is where the map said.
 *
 * VALET_MPI_FAILURE is local: the others may be waiting for this rank. A failed MPI call is
 * therefore first told to the error handler of the communicator that the application gave
 * (MPI_COMM_WORLD's where that is freed): by default MPI_ERRORS_ARE_FATAL, which ends the job.
 * Whoever sets a handler that returns, MPI_ERRORS_RETURN for instance, must end the job where a
 * function returns this code, with MPI_Abort(): no call of Valet may follow on that communicator,
 * and the memory of what was pending is given up, not freed, because MPI may still write to it.
 *
 * Options and reports begin with their size, so that later members do not break what was compiled
 * before; one that this library cannot have is VALET_INVALID_ARGUMENT.
 *
 * What a function takes in memory is what its counterpart in C++ takes; each names it. Collective
 * functions are called by all ranks of the communicator, ranks without blocks included, and block.
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
 * The Fortran module `valet` has the same names. Maps, addresses and counts are arrays there, given
 * as they are: `ranks` is integer(c_int). What has no type of its own, the data of a field or of a
 * buffer and a mask, and what a structure points to, as the lists of a Valet_Layout, is
 * type(c_ptr): give c_loc(x), or c_null_ptr where NULL is allowed. Options, reports and a
 * Valet_Array are optional. Communicators are the integers of `mpi`, or comm%mpi_val of `mpi_f08`.
 * Ranks and slots start at 0, as in MPI and C.
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

/* Names carry the prefix, as Zoltan's do. NOLINTBEGIN(readability-identifier-naming) */

/** What went wrong; the codes of valet::ErrorCode. */
enum {
  VALET_SUCCESS = 0,               /**< nothing */
  VALET_INVALID_ARGUMENT = 1,      /**< an argument that contradicts another or itself */
  VALET_RANK_OUT_OF_RANGE = 2,     /**< a block is sent to a rank that there is not */
  VALET_SLOT_OUT_OF_RANGE = 3,     /**< a block is sent to a slot that its rank does not have */
  VALET_SLOT_TAKEN_TWICE = 4,      /**< two blocks are sent to the same slot */
  VALET_INFEASIBLE = 5,            /**< a rank would hold more blocks than it has slots */
  VALET_FIELD_MISMATCH = 6,        /**< fields of one storage with different numbers of slots */
  VALET_BLOCK_SIZE_MISMATCH = 7,   /**< ranks disagree on the bytes of a block */
  VALET_BUDGET_TOO_SMALL = 8,      /**< the method cannot work within the scratch */
  VALET_INACCESSIBLE_MEMORY = 9,   /**< a field without memory */
  VALET_NOT_INITIALIZED = 10,      /**< MPI is not initialised, or finalised already */
  VALET_INVALID_COMMUNICATOR = 11, /**< MPI_COMM_NULL or an intercommunicator */
  VALET_OUT_OF_MEMORY = 12,        /**< the operating system refused memory */
  VALET_CORRUPTED = 13,            /**< verification found a block that is not what was sent */
  VALET_MPI_FAILURE = 14,          /**< an MPI call returned an error; end the job: see above */
  VALET_INTERNAL = 15,             /**< a broken invariant: a bug in Valet */
  VALET_CALLBACK_FAILED = 16       /**< a callback of the application threw a C++ exception */
};

/** Valet_Options::method; see valet::Method. */
enum {
  VALET_METHOD_STREAM = 0,   /**< receivers credit, senders stream */
  VALET_METHOD_DIRECT = 1,   /**< everything at once, where it fits the budget */
  VALET_METHOD_PHASED = 2,   /**< in phases that fit free memory */
  VALET_METHOD_CYCLIC = 3,   /**< cycles and shifts that rank 0 finds */
  VALET_METHOD_AUTOMATIC = 4 /**< the one that is predicted to be the fastest */
};
/** Valet_Phased_options::heuristic; see valet::Heuristic. */
enum {
  VALET_HEURISTIC_FIRST_FIT = 0,     /**< in the order of the list */
  VALET_HEURISTIC_MAX_FIRST = 1,     /**< the source with the most left */
  VALET_HEURISTIC_RANDOM = 2,        /**< each with the same probability */
  VALET_HEURISTIC_FORTUNE_WHEEL = 3, /**< with a probability proportional to what it has left */
  VALET_HEURISTIC_MIN_MAX = 4,       /**< the most that is left becomes as small as possible */
  VALET_HEURISTIC_CONTINUOUS = 5     /**< equal pieces of every transfer */
};
/** Valet_Phased_options::scheduler; see valet::Scheduler. */
enum {
  VALET_SCHEDULER_DISTRIBUTED = 0, /**< every receiver decides */
  VALET_SCHEDULER_CENTRALIZED = 1  /**< rank 0 decides */
};
/** Valet_Options::order; see valet::Order. */
enum {
  VALET_ORDER_ANY = 0,   /**< slots that are just left: the fastest */
  VALET_ORDER_FILL = 1,  /**< the lowest slots, by source and old slot */
  VALET_ORDER_STABLE = 2 /**< packed from slot 0, in order */
};
/** Valet_Cyclic_options::edge_order; see valet::EdgeOrder. */
enum {
  VALET_EDGE_ORDER_ASCENDING = 0, /**< as published */
  VALET_EDGE_ORDER_ROTATED = 1    /**< beginning behind one's own rank */
};
/** Valet_Options::alltoall_method, of Valet_Alltoallv_in_place(); see valet::AlltoallMethod. */
enum {
  VALET_ALLTOALL_AUTOMATIC = 0, /**< direct where it fits, else what seems to be faster */
  VALET_ALLTOALL_STREAM = 1,    /**< straight to the destination, in pages */
  VALET_ALLTOALL_SWAPS = 2,     /**< pairwise or bitonic, whichever swaps less */
  VALET_ALLTOALL_BITONIC = 3,   /**< bitonic sort between ranks */
  VALET_ALLTOALL_PAIRWISE = 4,  /**< asymmetric swaps of pairs */
  VALET_ALLTOALL_DIRECT = 5     /**< all at once; a budget for all that leaves */
};

/** The validated, reusable result of looking at a map: a handle. */
typedef struct Valet_Plan Valet_Plan;

/** A place in the memory of all ranks together. */
typedef struct Valet_Address {
  int rank;      /**< in the communicator, 0 to P-1 */
  uint64_t slot; /**< on that rank, from 0 */
} Valet_Address;

/** How far a migration is on this rank: see valet::Progress. */
typedef struct Valet_Progress {
  uint64_t blocks_done;   /**< that have left or arrived */
  uint64_t blocks_total;  /**< that leave or arrive */
  uint64_t bytes_done;    /**< size of blocks_done */
  uint64_t bytes_total;   /**< size of blocks_total */
  double elapsed_seconds; /**< since the execution began */
} Valet_Progress;
/** Gets the progress and Valet_Options::progress_data. Must not communicate, call Valet, touch the
 * storage or leave by longjmp. Where it throws a C++ exception it is not called again, and the call
 * returns VALET_CALLBACK_FAILED in the end. */
typedef void Valet_Progress_fn(const Valet_Progress* progress, void* data);

/** Bytes that blocks may fill on this rank in the phase that begins; gets
 * Valet_Phased_options::available_bytes_data. Must not communicate, call Valet, touch the storage
 * or leave by longjmp. What happens where it throws a C++ exception: valet::PhasedOptions. */
typedef size_t Valet_Available_bytes_fn(void* data);

/** What moving data costs; see valet::CostModel. All above 0. */
typedef struct Valet_Cost_model {
  double latency_seconds; /**< a message of no bytes */
  double bandwidth;       /**< bytes per second, sent while as many are received */
  double copy_bandwidth;  /**< bytes per second, from memory to memory */
  double block_seconds;   /**< gathering or scattering a block of 64 bytes */
} Valet_Cost_model;
/** Reads "latency=2e-6,bandwidth=4e9,copy=5e9,block=8e-9": valet::parse_cost_model(). Local.
 * @param text   What is left out has its default.
 * @param model  Gets the model; untouched on an error.
 * @return VALET_SUCCESS or VALET_INVALID_ARGUMENT. */
VALET_EXPORT int Valet_Parse_cost_model(const char* text, Valet_Cost_model* model);

/* The parts of Valet_Options keep their size: what is added to a method's options later stands
 * behind the last member of Valet_Options. */

/** Options of VALET_METHOD_AUTOMATIC; see valet::AutomaticOptions. */
typedef struct Valet_Automatic_options {
  const Valet_Cost_model* model; /**< NULL: VALET_MODEL, or it is measured; read during the call */
} Valet_Automatic_options;
/** Options of VALET_METHOD_STREAM; see valet::StreamOptions. */
typedef struct Valet_Stream_options {
  int window; /**< data messages outstanding at once, 1 to 64; 32 */
} Valet_Stream_options;
/** Options of VALET_METHOD_PHASED; see valet::PhasedOptions. */
typedef struct Valet_Phased_options {
  int heuristic;                             /**< VALET_HEURISTIC_FORTUNE_WHEEL */
  int scheduler;                             /**< VALET_SCHEDULER_DISTRIBUTED */
  int parking;                               /**< at every k-th phase; 0 for never */
  uint64_t seed;                             /**< for the heuristics that draw; 1 */
  Valet_Available_bytes_fn* available_bytes; /**< NULL for none; used until the plan is freed */
  void* available_bytes_data;                /**< for available_bytes */
} Valet_Phased_options;
/** Options of VALET_METHOD_CYCLIC; see valet::CyclicOptions. */
typedef struct Valet_Cyclic_options {
  int edge_order; /**< VALET_EDGE_ORDER_ASCENDING */
} Valet_Cyclic_options;

/** As valet::Options; start from Valet_Options_default(). Ranks may give different budgets,
 * messages, windows, available_bytes, edge orders and models, the rest must be the same on all
 * ranks. */
typedef struct Valet_Options {
  size_t struct_size;   /**< sizeof(Valet_Options); what is behind a smaller one has its default */
  size_t budget_bytes;  /**< scratch of this rank; 4 MiB */
  int method;           /**< VALET_METHOD_AUTOMATIC */
  int order;            /**< VALET_ORDER_ANY */
  int verify;           /**< not 0: compare checksums of every block; 0 */
  int share_memory;     /**< not 0: ranks of one node share memory; 1 */
  int keep_memory;      /**< not 0: the communicator keeps memory for what comes next; 1 */
  size_t message_bytes; /**< one data message, at most; 0 lets Valet choose */
  int alltoall_method;  /**< VALET_ALLTOALL_AUTOMATIC */
  int progress_bar;     /**< not 0: a bar on the terminal of rank 0; 1 */
  Valet_Automatic_options automatic; /**< where Valet chooses the method */
  Valet_Stream_options stream;       /**< chosen by name or by Valet */
  Valet_Phased_options phased;       /**< likewise */
  Valet_Cyclic_options cyclic;       /**< likewise */
  const char* trace;                 /**< path of a trace, read during the call; NULL for none */
  Valet_Progress_fn* progress;       /**< NULL for none; used until the plan is freed */
  void* progress_data;               /**< for progress */
} Valet_Options;

/** Gives all options their defaults, and `struct_size` itself. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Options) where the caller was compiled: no more is written. */
VALET_EXPORT void Valet_Options_init(Valet_Options* options, size_t struct_size);
/** The defaults of all options. Local. @return The options, to be changed and given on. */
static inline Valet_Options Valet_Options_default(void) {
  Valet_Options options;
  Valet_Options_init(&options, sizeof options);
  return options;
}

/** Bytes of the texts in Valet_Report, with the 0 that ends them. */
enum { VALET_REPORT_METHOD_BYTES = 16, VALET_REPORT_REASON_BYTES = 256 };

/** What one call did on this rank, or on all after Valet_Summed_over_ranks(); see valet::Report.
 * Start from Valet_Report_default(). */
typedef struct Valet_Report {
  size_t struct_size;         /**< sizeof(Valet_Report); no more is written */
  int ranks;                  /**< in these numbers */
  int verified;               /**< not 0: checksums were compared and agreed */
  int plan_from_layout;       /**< not 0: counts were computed from a layout */
  uint64_t block_bytes;       /**< one block, all fields together */
  uint64_t blocks_before;     /**< on this rank */
  uint64_t blocks_after;      /**< on this rank */
  uint64_t blocks_sent;       /**< to other ranks */
  uint64_t blocks_received;   /**< from other ranks */
  uint64_t bytes_sent;        /**< data only */
  uint64_t messages;          /**< data messages sent, or parts written inside the node */
  uint64_t credits;           /**< control messages sent */
  uint64_t local_copies;      /**< blocks copied from slot to slot inside the rank */
  uint64_t misplaced;         /**< blocks that came before their slots were free */
  uint64_t swaps;             /**< between two ranks, by methods that swap */
  uint64_t phases;            /**< VALET_METHOD_PHASED only */
  uint64_t detours;           /**< blocks received to wait here for another rank */
  uint64_t steps;             /**< VALET_METHOD_CYCLIC only, one after the other */
  uint64_t neighbours;        /**< ranks that data is exchanged with */
  uint64_t budget_bytes;      /**< Valet_Options::budget_bytes */
  uint64_t peak_extra_bytes;  /**< most that Valet had allocated at a time */
  uint64_t extra_bytes_bound; /**< what it promises not to pass */
  uint64_t shared_bytes;      /**< part of the extra bytes, shared with ranks of the same node */
  uint64_t segments;          /**< planned from a layout: line segments of a period */
  uint64_t periods;           /**< planned from a layout: how often these occur; else 0 */
  double plan_seconds;        /**< looking at the map */
  double exchange_seconds;    /**< blocks between ranks */
  double local_seconds;       /**< blocks inside the rank */
  double verify_seconds;      /**< checksums, when asked for */
  double waiting_seconds;     /**< part of the exchange: blocked in MPI */
  double gather_seconds;    /**< part of the exchange: matrix to the root, centralized scheduler */
  double solve_seconds;     /**< part of the exchange: the root makes phases */
  double scatter_seconds;   /**< part of the exchange: phases to the ranks, waiting included */
  double seconds;           /**< plan + exchange + local, without verification */
  double predicted_seconds; /**< VALET_METHOD_AUTOMATIC: for the one that it chose; else 0 */
  double lower_bound_seconds; /**< VALET_METHOD_AUTOMATIC: for the bytes to cross; else 0 */
  double achieved_fraction;   /**< lower bound over exchange and local time; else 0 */
  char method[VALET_REPORT_METHOD_BYTES]; /**< the name of the one used, such as "stream" */
  char reason[VALET_REPORT_REASON_BYTES]; /**< VALET_METHOD_AUTOMATIC: why it chose; else "" */
} Valet_Report;

/** An empty report, with `struct_size` set. Local.
 * @param report       NULL is ignored.
 * @param struct_size  sizeof(Valet_Report) where the caller was compiled: no more is written. */
VALET_EXPORT void Valet_Report_init(Valet_Report* report, size_t struct_size);
/** An empty report, to be filled by a call. Local. @return The report. */
static inline Valet_Report Valet_Report_default(void) {
  Valet_Report report;
  Valet_Report_init(&report, sizeof report);
  return report;
}
/** A few lines for people: valet::Report::to_string(). Local.
 * @param report  What a call filled.
 * @param text    Gets as much as there is room for, and a 0; may be NULL where `bytes` is 0.
 * @param bytes   Room in `text`.
 * @return Bytes of the whole text without the 0, as snprintf() does; 0 for a null `report` or a
 * wrong struct_size, and Valet_Error_message() says so. */
VALET_EXPORT size_t Valet_Report_to_string(const Valet_Report* report, char* text, size_t bytes);
/** One JSON object: valet::Report::to_json(). Local.
 * @param report  What a call filled.
 * @param text    Gets as much as there is room for, and a 0; may be NULL where `bytes` is 0.
 * @param bytes   Room in `text`.
 * @return As Valet_Report_to_string(). */
VALET_EXPORT size_t Valet_Report_to_json(const Valet_Report* report, char* text, size_t bytes);
/** One report for all ranks: valet::summed_over_ranks(). Collective.
 * @param communicator  The ranks to sum over.
 * @param report        Of this rank. [local]
 * @param total         Gets the same on all ranks; may be `report` itself.
 * @return VALET_SUCCESS or the code of an error. */
VALET_EXPORT int Valet_Summed_over_ranks(MPI_Comm communicator, const Valet_Report* report,
                                         Valet_Report* total);

/** Makes a storage without fields. Local.
 * @return The handle, to be freed with Valet_Storage_free(); NULL when there is no memory. */
VALET_EXPORT Valet_Storage* Valet_Storage_create(void);
/** Adds a field: rows of `row_bytes` bytes that start `slot_stride_bytes` apart. Local.
 *
 * What is wrong with the fields, fields that share memory too, is reported when the storage is
 * used, on all ranks.
 * @param storage            From Valet_Storage_create().
 * @param data               Row of slot 0; the caller keeps the memory.
 * @param slots              Rows; the same for all fields of a storage.
 * @param row_bytes          Of a block in this field; the same on all ranks.
 * @param slot_stride_bytes  From a row to the next; `row_bytes` where they are contiguous;
 *                           negative where the slots run backwards.
 * @param label              How messages call the field; NULL for none.
 * @return VALET_SUCCESS, VALET_OUT_OF_MEMORY, or VALET_INVALID_ARGUMENT for a null `storage`. */
VALET_EXPORT int Valet_Storage_add_field(Valet_Storage* storage, void* data, uint64_t slots,
                                         size_t row_bytes, ptrdiff_t slot_stride_bytes,
                                         const char* label);
/** Frees the handle, not the fields. Local. @param storage  Or NULL. */
VALET_EXPORT void Valet_Storage_free(Valet_Storage* storage);

/** Plans a map that gives each block a rank: valet::plan_to_ranks(). Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks, in the first slots. With a mask: its length, the number of slots.
 * @param mask          NULL, or per slot whether it holds a block. [local]
 * @param ranks         `count` destinations; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Gets the plan, to be freed with Valet_Plan_free(); untouched on an error.
 * @return VALET_SUCCESS or the code of an error of valet::plan_to_ranks(). */
VALET_EXPORT int Valet_Plan_to_ranks(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask, const int* ranks,
                                     const Valet_Options* options, Valet_Plan** plan);
/** Plans a map that gives each block an address: valet::plan_to_slots(). Collective; moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The blocks of this rank. [local]
 * @param count         Blocks, in the first slots. With a mask: its length, the number of slots.
 * @param mask          NULL, or per slot whether it holds a block. [local]
 * @param addresses     `count` of them, no two alike; read only during the call. [local]
 * @param options       NULL for the defaults.
 * @param plan          Gets the plan, to be freed with Valet_Plan_free(); untouched on an error.
 * @return VALET_SUCCESS or the code of an error of valet::plan_to_slots(). */
VALET_EXPORT int Valet_Plan_to_slots(MPI_Comm communicator, const Valet_Storage* storage,
                                     uint64_t count, const uint8_t* mask,
                                     const Valet_Address* addresses, const Valet_Options* options,
                                     Valet_Plan** plan);
/** How numbered objects lie on ranks; see valet::ObjectLayout. */
typedef struct Valet_Object_layout {
  uint64_t block_size; /**< objects in a block, dealt to the ranks in turn; 0: one block for each
                            rank, of equal lengths up to one object */
  int ranks;           /**< the first so many; 0: all of the communicator */
} Valet_Object_layout;

/** Plans that numbered objects go to a layout, without a map: valet::plan_to_layout(). Collective;
 * moves nothing.
 * @param communicator  An intracommunicator.
 * @param storage       The objects of this rank. [local]
 * @param count         Objects, in the first slots. [local]
 * @param from          How they lie; NULL: they are numbered through by rank and slot. The same on
 *                      all ranks.
 * @param to            Where they go. The same on all ranks.
 * @param options       NULL for the defaults.
 * @param plan          Gets the plan, to be freed with Valet_Plan_free(); untouched on an error.
 * @return VALET_SUCCESS or the code of an error of valet::plan_to_layout(). */
VALET_EXPORT int Valet_Plan_to_layout(MPI_Comm communicator, const Valet_Storage* storage,
                                      uint64_t count, const Valet_Object_layout* from,
                                      const Valet_Object_layout* to, const Valet_Options* options,
                                      Valet_Plan** plan);
/** Corrects a map to ranks by the fewest changes, so that no rank is given more blocks than it has
 * slots: valet::repair(). Collective; moves nothing.
 * @param communicator    An intracommunicator.
 * @param count           Blocks, in the first slots. With a mask: its length, the number of slots.
 * @param mask            NULL, or per slot whether it holds a block. [local]
 * @param ranks           `count` destinations, corrected in place. [local]
 * @param slots           Most blocks that this rank may hold afterwards. [local]
 * @param changed         NULL, or gets the blocks of this rank that got another destination.
 * @param changed_in_all  NULL, or gets those of all ranks.
 * @return VALET_SUCCESS or the code of an error of valet::repair(): the map is as it was then. */
VALET_EXPORT int Valet_Repair(MPI_Comm communicator, uint64_t count, const uint8_t* mask,
                              int* ranks, uint64_t slots, uint64_t* changed,
                              uint64_t* changed_in_all);
/** Frees a plan. Local; also after MPI_Finalize. @param plan  Or NULL. */
VALET_EXPORT void Valet_Plan_free(Valet_Plan* plan);

/** Blocks on this rank afterwards. Local. @param plan  A plan.
 * @return The blocks; 0 for a null `plan`, and Valet_Error_message() says so. */
VALET_EXPORT uint64_t Valet_Plan_blocks_after(const Valet_Plan* plan);
/** Slots that this rank needs to carry the plan out. Local.
 * @param plan  A plan.
 * @return The slots; with fewer, Valet_Execute() returns VALET_INFEASIBLE on all ranks. 0 for a
 * null `plan`, and Valet_Error_message() says so. */
VALET_EXPORT uint64_t Valet_Plan_required_slots(const Valet_Plan* plan);

/** Carries a plan out in place, as often as wanted: valet::execute(). Collective.
 * @param plan     Its blocks are in the slots that were occupied when it was made. NULL returns
 *                 VALET_INVALID_ARGUMENT at once on this rank; others that do have the plan would
 *                 wait for it.
 * @param storage  As planned for, with Valet_Plan_required_slots() slots at least. NULL is refused
 *                 on all ranks, as a storage without fields. [local]
 * @param report   NULL, or gets what was done on this rank.
 * @return VALET_SUCCESS or the code of an error of valet::execute(). */
VALET_EXPORT int Valet_Execute(Valet_Plan* plan, const Valet_Storage* storage,
                               Valet_Report* report);

/** MPI_Alltoallv inside one buffer: valet::alltoallv_in_place(). Collective.
 * @param communicator   An intracommunicator of P ranks.
 * @param buffer         The elements for rank 0, 1, ... on entry, those from rank 0, 1, ... on
 *                       return. [local]
 * @param buffer_bytes   Room, for the elements before and for those after. [local]
 * @param send_counts    Elements for each rank, P entries. [local]
 * @param recv_counts    Elements from each rank, P entries, or NULL: then they are found out.
 * @param element_bytes  The same on all ranks.
 * @param any_order      Not 0: elements may end in any order, which is faster. The same on all
 *                       ranks.
 * @param options        budget_bytes, share_memory, keep_memory, alltoall_method, trace and
 * progress (three members) are used; NULL for the defaults.
 * @param report         NULL, or gets what was done; blocks are elements.
 * @return VALET_SUCCESS or the code of an error of valet::alltoallv_in_place(). */
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
  const int* grid;            /**< ranks */
  int rank_order;             /**< VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: the grid's numbering */
  const int* first_ranks;     /**< coordinate that owns global index 0; NULL: all 0 */
  const int* ranks; /**< communicator ranks of the grid's ranks, as many as the grid has; NULL: 0,
                         1, ... */
} Valet_Layout;

/** This rank's part of such an array: see valet::LocalArray. */
typedef struct Valet_Array {
  void* data;   /**< its first element */
  size_t bytes; /**< memory, at least up to the last element */
  int order;    /**< VALET_ROW_MAJOR or VALET_COLUMN_MAJOR: the same on all ranks */
  const int64_t*
      strides; /**< elements from an index to the next per dimension; NULL: they are contiguous */
} Valet_Array;

/** Copies an array from one layout into an array of another: valet::redistribute(). Collective.
 * @param communicator   An intracommunicator.
 * @param from           The layout of the source.
 * @param to             The layout of the target; of equal extents.
 * @param element_bytes  The same on all ranks.
 * @param source         This rank's part; ignored, and may be NULL, outside of the grid. [local]
 * @param target         Room for this rank's part; ignored likewise. [local]
 * @param options        Those of Valet_Alltoallv_in_place() but alltoall_method, or NULL.
 * @param report         NULL, or gets what was done; blocks are elements.
 * @return VALET_SUCCESS or the code of an error of valet::redistribute(). */
VALET_EXPORT int Valet_Redistribute(MPI_Comm communicator, const Valet_Layout* from,
                                    const Valet_Layout* to, size_t element_bytes,
                                    const Valet_Array* source, const Valet_Array* target,
                                    const Valet_Options* options, Valet_Report* report);
/** The same inside one array: valet::redistribute_in_place(). Collective.
 * @param communicator   An intracommunicator.
 * @param from           The layout before.
 * @param to             The layout after; of equal extents.
 * @param element_bytes  The same on all ranks.
 * @param array          This rank's part, with room for the larger of both and without strides;
 *                       ignored, and may be NULL, outside of both grids. [local]
 * @param options        Those of Valet_Redistribute() and method, or NULL.
 * @param report         NULL, or gets what was done; blocks are elements.
 * @return VALET_SUCCESS or the code of an error of valet::redistribute_in_place(). */
VALET_EXPORT int Valet_Redistribute_in_place(MPI_Comm communicator, const Valet_Layout* from,
                                             const Valet_Layout* to, size_t element_bytes,
                                             const Valet_Array* array, const Valet_Options* options,
                                             Valet_Report* report);

/** What a message is worth; see valet::LogLevel. */
enum {
  VALET_LOG_DEBUG = 0,  /**< what was chosen, and why */
  VALET_LOG_INFO = 1,   /**< one line for every migration that has finished */
  VALET_LOG_WARNING = 2 /**< something that was asked for is not there */
};
/** Gets a message without a line end, which lives as long as the call, and the `data` of
 * Valet_Set_log_callback(). Must not call Valet. */
typedef void Valet_Log_fn(int level, const char* message, void* data);
/** Gives all messages beside errors of this process to a callback: valet::set_log_callback().
 * Local, at any time.
 * @param callback  NULL brings the default back: warnings to standard error on rank 0.
 * @param data      Given to the callback. */
VALET_EXPORT void Valet_Set_log_callback(Valet_Log_fn* callback, void* data);

/** The text of the last error on this thread. Local.
 * @return "" when there was none; valid until the next error on this thread. */
VALET_EXPORT const char* Valet_Error_message(void);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
