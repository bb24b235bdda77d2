/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_CUSTOM_H
#define VALET_CUSTOM_H

/**
 * @file
 * Blocks in memory that only the application can move, such as arrays from cudaMalloc() or
 * hipMalloc(): the C interface of custom_storage.hpp. Included by valet.h, which describes what all
 * functions have in common. The Fortran module `valet_custom` has the same names.
 */

#include <valet/block_storage.h>
#include <valet/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Packs the blocks of `count` slots contiguously. Bytes that are no content, such as padding, may
 * be left unwritten or have any value: Valet_Options::verify clears them first and leaves them out,
 * and finds what is written past the blocks. Returns 0, or any other number on failure. `data` is
 * the argument of Valet_Storage_create_custom(). */
typedef int Valet_Pack_fn(void* data, const uint64_t* slots, size_t count, void* packed);
/** Unpacks `count` packed blocks, each into its slot. Returns as Valet_Pack_fn. */
typedef int Valet_Unpack_fn(void* data, const void* packed, const uint64_t* slots, size_t count);
/** Copies blocks from slots to slots; no slot is in both lists. Returns as Valet_Pack_fn. */
typedef int Valet_Copy_fn(void* data, const uint64_t* from, const uint64_t* to, size_t count);
/** Allocates memory that the host, MPI and the other functions can access; NULL on failure. */
typedef void* Valet_Allocate_fn(void* data, size_t bytes);
/** Frees such memory. */
typedef void Valet_Free_fn(void* data, void* memory);
/** Waits for work that may still access the blocks. Returns as Valet_Pack_fn. */
typedef int Valet_Synchronize_fn(void* data);

/** Functions of the application that move blocks in memory of another kind, such as device memory;
 * see valet::CustomFunctions. Start from Valet_Custom_functions_default(). They must not
 * communicate, call Valet or exit by longjmp. */
typedef struct Valet_Custom_functions {
  size_t struct_size;                  /**< sizeof(Valet_Custom_functions) */
  Valet_Pack_fn* pack;                 /**< required */
  Valet_Unpack_fn* unpack;             /**< required */
  Valet_Copy_fn* copy;                 /**< NULL: blocks are packed and unpacked */
  Valet_Allocate_fn* allocate_scratch; /**< NULL: host memory */
  Valet_Free_fn* free_scratch;         /**< NULL if allocate_scratch is NULL */
  Valet_Synchronize_fn* synchronize;   /**< NULL: nothing to wait for */
  void* mpi_data;                      /**< slot 0 if MPI may access the blocks; else NULL */
} Valet_Custom_functions;
/** Sets all functions to NULL, and `struct_size`. Local.
 * @param functions    NULL is ignored.
 * @param struct_size  sizeof(Valet_Custom_functions) in the caller. */
VALET_EXPORT void Valet_Custom_functions_init(Valet_Custom_functions* functions,
                                              size_t struct_size);
/** An empty set of functions, to be filled in. Local. @return The functions. */
static inline Valet_Custom_functions Valet_Custom_functions_default(void) {
  Valet_Custom_functions functions;
  Valet_Custom_functions_init(&functions, sizeof functions);
  return functions;
}
/** Makes a storage whose blocks are moved by functions: valet::custom_storage(). Local.
 *
 * Errors in the functions, and functions that fail (VALET_CALLBACK_FAILED), are reported on all
 * ranks when the storage is used.
 * @param slots        The most blocks that this rank can hold. [local]
 * @param block_bytes  Bytes of a packed block; the same on all ranks. [global]
 * @param functions    Copied.
 * @param data         Passed to each function; must stay valid until the storage and all plans
 *                     executed with it are freed.
 * @return The handle, to be freed with Valet_Storage_free(); NULL if out of memory. It takes no
 *         fields. */
VALET_EXPORT Valet_Storage* Valet_Storage_create_custom(uint64_t slots, size_t block_bytes,
                                                        const Valet_Custom_functions* functions,
                                                        void* data);

#ifdef __cplusplus
}
#endif

#endif
