/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_OPTIONS_H
#define VALET_OPTIONS_H

/**
 * @file
 * Options for C: options.hpp and progress.hpp. Included by valet.h, which describes what all
 * functions have in common.
 */

#include <valet/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Valet_Options::method; see valet::Method. */
enum {
  VALET_METHOD_STREAM = 0,   /**< receivers grant credits, senders stream */
  VALET_METHOD_DIRECT = 1,   /**< everything at once, if it fits the budget */
  VALET_METHOD_PHASED = 2,   /**< in phases that fit free memory */
  VALET_METHOD_CYCLIC = 3,   /**< cycles and shifts scheduled by rank 0 */
  VALET_METHOD_AUTOMATIC = 4 /**< STREAM; DIRECT for layouts within the budget */
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
/** Valet_Options::negative_rank, of blocks whose rank is -1; see valet::NegativeRank. */
enum {
  VALET_NEGATIVE_RANK_REFUSE = 0, /**< a mistake */
  VALET_NEGATIVE_RANK_DROP = 1    /**< they are deleted; later calls take the new number of blocks,
                                     Valet_Report::blocks_after */
};
/** Valet_Cyclic_options::edge_order; see valet::EdgeOrder. */
enum {
  VALET_EDGE_ORDER_ASCENDING = 0, /**< as published */
  VALET_EDGE_ORDER_ROTATED = 1    /**< starting after this rank */
};
/** Valet_Options::alltoall_method, for Valet_Alltoallv_in_place(); see valet::AlltoallMethod. */
enum {
  VALET_ALLTOALL_AUTOMATIC = 0, /**< direct, stream or swaps: the first that fits */
  VALET_ALLTOALL_STREAM = 1,    /**< straight to the destination, in pages */
  VALET_ALLTOALL_SWAPS = 2,     /**< pairwise or bitonic, whichever swaps less */
  VALET_ALLTOALL_BITONIC = 3,   /**< bitonic sort across ranks */
  VALET_ALLTOALL_PAIRWISE = 4,  /**< asymmetric swaps between pairs of ranks */
  VALET_ALLTOALL_DIRECT = 5     /**< all at once; needs a budget for all departing elements */
};

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

/* The parts of Valet_Options keep their size: later options of a method go behind the last member
 * of Valet_Options. */

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
 * keep_memory, windows, available_bytes, edge orders, progress callbacks and bars may differ
 * between ranks; the rest must be the same on all ranks. */
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
  Valet_Stream_options stream; /**< used if Valet or the user chooses this method */
  Valet_Phased_options phased; /**< likewise */
  Valet_Cyclic_options cyclic; /**< likewise */
  const char* trace;           /**< path of a trace, read during the call; NULL for none */
  Valet_Progress_fn* progress; /**< NULL for none; used until the plan is freed */
  void* progress_data;         /**< for progress */
  int negative_rank;           /**< default VALET_NEGATIVE_RANK_REFUSE */
  const char* transfers;       /**< path of a matrix of transfers, as `trace`; NULL for none */
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

#ifdef __cplusplus
}
#endif

#endif
