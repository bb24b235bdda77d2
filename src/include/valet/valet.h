/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_VALET_H
#define VALET_VALET_H

/**
 * @file
 * Valet for C: the contents of valet.hpp, with handles and return codes. Includes all headers of C,
 * each of which can be included alone.
 *
 * Functions that return int return VALET_SUCCESS or an error code. Valet_Error_message() then has
 * the text, which names the rank, the block and the remedy. Input errors give the same code on all
 * ranks, even if the arguments or options of only one rank are wrong, and the blocks are unchanged.
 * A null pointer where none is allowed is VALET_INVALID_ARGUMENT; only a null Valet_Plan is an
 * error on its own rank alone, because without the plan the communicator is unknown. A count, a
 * size or a budget from 2^63 on, such as SIZE_MAX, is taken for a number below 0 and refused. After
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
 * Valet_Storage_add_field(storage, position, slots, sizeof position[0], sizeof position[0], "x");
 * Valet_Storage_add_field(storage, id, slots, sizeof id[0], sizeof id[0], "id");
 * Valet_Plan* plan = NULL;
 * if (Valet_Plan_to_ranks(MPI_COMM_WORLD, storage, count, NULL, destination, NULL, &plan) ==
 *         VALET_SUCCESS &&
 *     Valet_Execute(plan, storage, NULL) == VALET_SUCCESS)
 *   count = Valet_Plan_blocks_after(plan);
 * else
 *   fprintf(stderr, "%s\n", Valet_Error_message());
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

#include <valet/alltoall.h>
#include <valet/block_storage.h>
#include <valet/configuration.h>
#include <valet/custom.h>
#include <valet/error.h>
#include <valet/intersect.h>
#include <valet/junction.h>
#include <valet/log.h>
#include <valet/node_array.h>
#include <valet/objects.h>
#include <valet/options.h>
#include <valet/plan.h>
#include <valet/ragged.h>
#include <valet/redistribute.h>
#include <valet/report.h>

#endif
