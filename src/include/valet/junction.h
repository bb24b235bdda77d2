/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_JUNCTION_H
#define VALET_JUNCTION_H

/**
 * @file
 * Data between two jobs or two groups of ranks for C: junction.hpp. Included by valet.h, which
 * describes what all functions have in common.
 *
 * What only one rank has wrong in what it puts or gets is the same error on all ranks of both
 * sides; only a null junction or transfer is an error on its own rank alone. The Fortran module
 * `valet_junction` has the same names and is used with `valet`.
 */

#include <valet/block_storage.h>
#include <valet/export.hpp>
#include <valet/options.h>
#include <valet/plan.h>
#include <valet/ragged.h>
#include <valet/redistribute.h>
#include <valet/report.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Handle of a connection between two groups of ranks: valet::Junction. */
typedef struct Valet_Junction Valet_Junction;
/** Handle of something that is being put or got: valet::JunctionTransfer. */
typedef struct Valet_Junction_transfer Valet_Junction_transfer;

/** Options as in valet::JunctionOptions; start from Valet_Junction_options_default(). `verify`,
 * `share_memory` and `timeout_seconds` are the same on all ranks of both sides. */
typedef struct Valet_Junction_options {
  size_t struct_size; /**< sizeof(Valet_Junction_options); members beyond it have their defaults */
  const char*
      folder; /**< where jobs find each other, read during the call; NULL: the current one */
  double timeout_seconds;      /**< how long to wait for the other side; default 600, 0: for ever */
  size_t budget_bytes;         /**< scratch of this rank; default 4 MiB */
  int verify;                  /**< not 0: compare checksums of what is put and got; default 0 */
  int share_memory;            /**< as Valet_Options::share_memory; default 1 */
  int keep_memory;             /**< as Valet_Options::keep_memory; default 1 */
  int progress_bar;            /**< not 0: progress bar on the terminal of rank 0; default 1 */
  Valet_Progress_fn* progress; /**< NULL for none; used until the junction is closed */
  void* progress_data;         /**< for progress */
} Valet_Junction_options;

/** Sets all options to their defaults, and `struct_size`. Local.
 * @param options      NULL is ignored.
 * @param struct_size  sizeof(Valet_Junction_options) in the caller: no more is written. */
VALET_EXPORT void Valet_Junction_options_init(Valet_Junction_options* options, size_t struct_size);
/** The defaults of all options. Local. @return The options, to be modified and passed on. */
static inline Valet_Junction_options Valet_Junction_options_default(void) {
  Valet_Junction_options options;
  Valet_Junction_options_init(&options, sizeof options);
  return options;
}

/** Opens a port and waits for another job that connects: valet::Junction::accept(). Collective.
 * @param communicator  The ranks of this side, an intracommunicator. [local]
 * @param name          Of the connection, a file name; the same on all ranks of both sides.
 * @param options       NULL for the defaults.
 * @param junction      Receives what Valet_Junction_close() ends and frees; unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::Junction::accept(). */
VALET_EXPORT int Valet_Junction_accept(MPI_Comm communicator, const char* name,
                                       const Valet_Junction_options* options,
                                       Valet_Junction** junction);
/** Connects to another job that accepts, or makes a junction of the two groups of an
 * intercommunicator: valet::Junction::connect(). Collective.
 * @param communicator  The ranks of this side, or an intercommunicator, which may be freed
 *                      afterwards. [local]
 * @param name          Of the connection; the same on all ranks of both sides.
 * @param options       NULL for the defaults.
 * @param junction      Receives what Valet_Junction_close() ends and frees; unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::Junction::connect(). */
VALET_EXPORT int Valet_Junction_connect(MPI_Comm communicator, const char* name,
                                        const Valet_Junction_options* options,
                                        Valet_Junction** junction);
/** Creates a file to put into: valet::Junction::create(). Collective.
 * @param communicator  An intracommunicator, which must live until the file is closed.
 * @param path          The same on all ranks.
 * @param options       NULL for the defaults.
 * @param junction      Receives what Valet_Junction_close() ends and frees; unchanged on error.
 * @return VALET_SUCCESS or an error code of valet::Junction::create(). */
VALET_EXPORT int Valet_Junction_create(MPI_Comm communicator, const char* path,
                                       const Valet_Junction_options* options,
                                       Valet_Junction** junction);
/** Opens a file to get what was put: valet::Junction::open(). Collective.
 * @param communicator  As for Valet_Junction_create().
 * @param path          The same on all ranks.
 * @param options       NULL for the defaults.
 * @param junction      As for Valet_Junction_create().
 * @return VALET_SUCCESS or an error code of valet::Junction::open(). */
VALET_EXPORT int Valet_Junction_open(MPI_Comm communicator, const char* path,
                                     const Valet_Junction_options* options,
                                     Valet_Junction** junction);
/** Ranks of this side. Local. @param junction  A junction.
 * @return The ranks; 0 for a null `junction`, which sets Valet_Error_message(). */
VALET_EXPORT int Valet_Junction_ranks(const Valet_Junction* junction);
/** Ranks of the other side, which it numbers from 0. Local. @param junction  A junction.
 * @return The ranks; 0 for a null `junction`, which sets Valet_Error_message(). */
VALET_EXPORT int Valet_Junction_other_ranks(const Valet_Junction* junction);

/* Each of the following begins a transfer; where NULL is given for its handle, it also waits for
 * it. Arrays, blocks and lists of ranks must stay as they are until then, handles of storage and
 * layouts not. Collective over this side, in the same order on all its ranks. */

/** Puts a distributed array: valet::Junction::put().
 * @param junction       From Valet_Junction_accept() or Valet_Junction_connect().
 * @param array          This rank's part; ignored, and may be NULL, on ranks outside the grid.
 *                       [local]
 * @param layout         On the ranks of this side.
 * @param element_bytes  The same on both sides.
 * @param label          Name of the array, the same on both sides; NULL for none.
 * @param transfer       Receives what Valet_Junction_wait() ends and frees. NULL on all ranks of
 *                       this side: the call waits.
 * @return VALET_SUCCESS or, where it waits, an error code of valet::JunctionTransfer::wait(). */
VALET_EXPORT int Valet_Junction_put_array(Valet_Junction* junction, const Valet_Array* array,
                                          const Valet_Layout* layout, size_t element_bytes,
                                          const char* label, Valet_Junction_transfer** transfer);
/** Gets a distributed array: valet::Junction::get().
 * @param junction       From Valet_Junction_accept() or Valet_Junction_connect().
 * @param array          Room for this rank's part; ignored on ranks outside the grid. [local]
 * @param layout         On the ranks of this side.
 * @param element_bytes  The same on both sides.
 * @param label          Name of the array, the same on both sides; NULL for none.
 * @param transfer       As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(). */
VALET_EXPORT int Valet_Junction_get_array(Valet_Junction* junction, const Valet_Array* array,
                                          const Valet_Layout* layout, size_t element_bytes,
                                          const char* label, Valet_Junction_transfer** transfer);

/** Consecutive blocks of a file: valet::BlockRange. */
typedef struct Valet_Block_range {
  uint64_t first; /**< the first one */
  uint64_t count; /**< how many */
} Valet_Block_range;

/** Puts each block to a rank of the other side, or into a file: valet::Junction::put().
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   The blocks. [local]
 * @param count     How many, in the first slots. [local]
 * @param ranks     `count` ranks of the other side; NULL for a file. [local]
 * @param label     As for Valet_Junction_put_array().
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(). */
VALET_EXPORT int Valet_Junction_put_blocks(Valet_Junction* junction, const Valet_Storage* storage,
                                           uint64_t count, const int* ranks, const char* label,
                                           Valet_Junction_transfer** transfer);
/** Gets blocks that the other side puts to ranks, or blocks of a file, into the slots from 0 on:
 * valet::Junction::get(). Valet_Report::blocks_after says how many.
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   Room for them. [local]
 * @param label     As for Valet_Junction_put_array().
 * @param range     Those of a file that this rank gets; NULL: an equal share, or what is put to
 *                  this rank. [local]
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(); VALET_INFEASIBLE for too few slots. */
VALET_EXPORT int Valet_Junction_get_blocks(Valet_Junction* junction, const Valet_Storage* storage,
                                           const char* label, const Valet_Block_range* range,
                                           Valet_Junction_transfer** transfer);
/** Gets blocks into a storage that is made when their number is known: valet::Junction::get().
 * @param junction     From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage_for  Makes it: called with 0, then with the number of blocks, until the transfer
 *                     has ended. Must not call the junction.
 * @param data         For storage_for.
 * @param label        As for Valet_Junction_put_array().
 * @param transfer     As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(); VALET_CALLBACK_FAILED where storage_for fails. */
VALET_EXPORT int Valet_Junction_get_blocks_into(Valet_Junction* junction,
                                                Valet_Storage_for_fn* storage_for, void* data,
                                                const char* label,
                                                Valet_Junction_transfer** transfer);
/** Puts blocks that a layout numbers: valet::Junction::put().
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   The blocks. [local]
 * @param count     How many, in the first slots: those of the layout. [local]
 * @param layout    On the ranks of this side.
 * @param label     As for Valet_Junction_put_array().
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(). */
VALET_EXPORT int Valet_Junction_put_numbered(Valet_Junction* junction, const Valet_Storage* storage,
                                             uint64_t count, const Valet_Object_layout* layout,
                                             const char* label, Valet_Junction_transfer** transfer);
/** Gets numbered blocks into a layout: valet::Junction::get().
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   Room for those of the layout. [local]
 * @param layout    On the ranks of this side.
 * @param label     As for Valet_Junction_put_array().
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(); VALET_INFEASIBLE for too few slots. */
VALET_EXPORT int Valet_Junction_get_numbered(Valet_Junction* junction, const Valet_Storage* storage,
                                             const Valet_Object_layout* layout, const char* label,
                                             Valet_Junction_transfer** transfer);
/** Puts blocks of different sizes, which are gone afterwards: valet::Junction::put().
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   The blocks. [local]
 * @param count     How many. [local]
 * @param ranks     `count` ranks of the other side; NULL for a file: they stay. [local]
 * @param label     As for Valet_Junction_put_array().
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(). */
VALET_EXPORT int Valet_Junction_put_ragged(Valet_Junction* junction,
                                           const Valet_Ragged_storage* storage, uint64_t count,
                                           const int* ranks, const char* label,
                                           Valet_Junction_transfer** transfer);
/** Gets blocks of different sizes: valet::Junction::get().
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @param storage   Room for them. [local]
 * @param label     As for Valet_Junction_put_array().
 * @param range     As for Valet_Junction_get_blocks(). [local]
 * @param transfer  As for Valet_Junction_put_array().
 * @return As Valet_Junction_put_array(); VALET_INFEASIBLE for too little room. */
VALET_EXPORT int Valet_Junction_get_ragged(Valet_Junction* junction,
                                           const Valet_Ragged_storage* storage, const char* label,
                                           const Valet_Block_range* range,
                                           Valet_Junction_transfer** transfer);

/** Puts blocks of different sizes that a layout numbers; they stay: valet::Junction::put().
 * @param junction, layout, label, transfer  As for Valet_Junction_put_numbered().
 * @param storage   The blocks. [local]
 * @param count     How many: those of the layout. [local]
 * @return As Valet_Junction_put_array(). */
VALET_EXPORT int Valet_Junction_put_numbered_ragged(
    Valet_Junction* junction, const Valet_Ragged_storage* storage, uint64_t count,
    const Valet_Object_layout* layout, const char* label, Valet_Junction_transfer** transfer);
/** Gets numbered blocks of different sizes into a layout: valet::Junction::get().
 * @param junction, layout, label, transfer  As for Valet_Junction_get_numbered().
 * @param storage   Room for those of the layout. [local]
 * @return As Valet_Junction_get_ragged(). */
VALET_EXPORT int Valet_Junction_get_numbered_ragged(Valet_Junction* junction,
                                                    const Valet_Ragged_storage* storage,
                                                    const Valet_Object_layout* layout,
                                                    const char* label,
                                                    Valet_Junction_transfer** transfer);

/** Whether all ranks of both sides have come: valet::JunctionTransfer::is_ready(). Local.
 * @param transfer  Something that is put or got.
 * @param ready     NULL, or receives 1 when Valet_Junction_wait() takes as long as the data.
 * @return VALET_SUCCESS or an error code. */
VALET_EXPORT int Valet_Junction_is_ready(Valet_Junction_transfer* transfer, int* ready);
/** Ends a transfer and those before it, and frees its handle, also on error:
 * valet::JunctionTransfer::wait(). Collective over both sides.
 * @param transfer  Something that is put or got.
 * @param report    NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::JunctionTransfer::wait(). */
VALET_EXPORT int Valet_Junction_wait(Valet_Junction_transfer* transfer, Valet_Report* report);
/** Ends all transfers and the connection, and frees the handle, also on error:
 * valet::Junction::close(). Handles of transfers are still to be waited for. Collective over both
 * sides.
 * @param junction  From Valet_Junction_accept() or Valet_Junction_connect().
 * @return VALET_SUCCESS or VALET_MPI_FAILURE. */
VALET_EXPORT int Valet_Junction_close(Valet_Junction* junction);

#ifdef __cplusplus
}
#endif

#endif
