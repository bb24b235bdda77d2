/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_REDISTRIBUTE_H
#define VALET_REDISTRIBUTE_H

/**
 * @file
 * Arrays in block-cyclic layouts for C: block_cyclic.hpp and redistribute.hpp. Included by valet.h,
 * which describes what all functions have in common.
 */

#include <valet/export.hpp>
#include <valet/options.h>
#include <valet/report.h>

#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

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

/** What the lists of a layout of two dimensions point to: Valet_Layout_from_descriptor(). */
typedef struct Valet_Layout_lists {
  int64_t extents[2];     /**< Valet_Layout::extents */
  int64_t block_sizes[2]; /**< Valet_Layout::block_sizes */
  int grid[2];            /**< Valet_Layout::grid */
  int first_ranks[2];     /**< Valet_Layout::first_ranks */
} Valet_Layout_lists;

/** The layout of a dense array of ScaLAPACK's: valet::layout::from_scalapack(). Local.
 * @param descriptor    DTYPE, CTXT, M, N, MB, NB, RSRC, CSRC, LLD.
 * @param grid_rows     The process grid, from BLACS_GRIDINFO.
 * @param grid_columns  The same.
 * @param rank_order    How BLACS_GRIDINIT numbered the processes: VALET_ROW_MAJOR, which is its
 *                      default, or VALET_COLUMN_MAJOR.
 * @param lists         Receives the numbers; must live as long as the layout, which points to them.
 * @param layout        Receives the layout, on ranks 0, 1, ... of a communicator. Arrays of
 *                      ScaLAPACK are VALET_COLUMN_MAJOR; a leading dimension above the local rows
 *                      is a stride of theirs.
 * @return VALET_SUCCESS, or VALET_INVALID_ARGUMENT on this rank, which leaves both unchanged. */
VALET_EXPORT int Valet_Layout_from_descriptor(const int* descriptor, int grid_rows,
                                              int grid_columns, int rank_order,
                                              Valet_Layout_lists* lists, Valet_Layout* layout);
/** The shape of a rank's part, for each dimension what NUMROC tells:
 * valet::BlockCyclic::local_extents(). Local.
 * @param layout   A layout.
 * @param rank     A rank of the grid, which is that of the communicator unless `ranks` are given.
 * @param extents  Receives an entry for each dimension.
 * @return VALET_SUCCESS, or VALET_INVALID_ARGUMENT on this rank. */
VALET_EXPORT int Valet_Layout_local_extents(const Valet_Layout* layout, int rank, int64_t* extents);

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

#ifdef __cplusplus
}
#endif

#endif
