/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_REPORT_H
#define VALET_REPORT_H

/**
 * @file
 * Reports for C: report.hpp. Included by valet.h, which describes what all functions have in
 * common.
 */

#include <valet/export.hpp>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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
  uint64_t blocks_pulled;     /**< of these, taken straight from slots of another rank */
  uint64_t blocks_dropped;    /**< of blocks_before, by VALET_NEGATIVE_RANK_DROP */
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
  double gather_seconds;  /**< part of the exchange: matrix to the root, centralized scheduler */
  double solve_seconds;   /**< part of the exchange: the root computes phases */
  double scatter_seconds; /**< part of the exchange: phases to the ranks, including waiting */
  double seconds;         /**< plan, exchange and local time, without verification */
  char method[VALET_REPORT_METHOD_BYTES]; /**< name of the method used, such as "stream" */
  char reason[VALET_REPORT_REASON_BYTES]; /**< why, if Valet chose it; else "" */
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

#ifdef __cplusplus
}
#endif

#endif
