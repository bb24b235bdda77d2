/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_CUSTOM_H
#define VALET_CUSTOM_H

/**
 * @file
 * Blocks in memory that only the application knows how to move, such as arrays of cudaMalloc() or
 * hipMalloc(): what custom_storage.hpp has. valet.h includes it, and says what all functions have
 * in common. The Fortran module `valet_custom` has the same names.
 */

#include <valet/export.hpp>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names carry the prefix, as Zoltan's do. NOLINTBEGIN(readability-identifier-naming) */

/** The fields of one rank, seen as slots: a handle. */
typedef struct Valet_Storage Valet_Storage;

/** Packs the blocks of `count` slots one after the other; returns 0, or any other number where it
 * failed. `data` is that of Valet_Storage_create_custom(). */
typedef int Valet_Pack_fn(void* data, const uint64_t* slots, size_t count, void* packed);
/** Unpacks `count` packed blocks, each into its slot; returns as Valet_Pack_fn. */
typedef int Valet_Unpack_fn(void* data, const void* packed, const uint64_t* slots, size_t count);
/** Copies blocks from slots to slots, none of which is in both lists; returns likewise. */
typedef int Valet_Copy_fn(void* data, const uint64_t* from, const uint64_t* to, size_t count);
/** Memory that the host, MPI and the other functions reach; NULL where there is none. */
typedef void* Valet_Allocate_fn(void* data, size_t bytes);
/** Frees such memory. */
typedef void Valet_Free_fn(void* data, void* memory);
/** Waits for work that may still touch the blocks; returns as Valet_Pack_fn. */
typedef int Valet_Synchronize_fn(void* data);

/** Functions of the application that move blocks in memory of another kind, such as a device's; see
 * valet::CustomFunctions. Start from Valet_Custom_functions_default(). None may communicate, call
 * Valet or leave by longjmp. */
typedef struct Valet_Custom_functions {
  size_t struct_size;                  /**< sizeof(Valet_Custom_functions) */
  Valet_Pack_fn* pack;                 /**< needed */
  Valet_Unpack_fn* unpack;             /**< needed */
  Valet_Copy_fn* copy;                 /**< NULL: blocks are packed and unpacked */
  Valet_Allocate_fn* allocate_scratch; /**< NULL: memory of the host */
  Valet_Free_fn* free_scratch;         /**< NULL where allocate_scratch is */
  Valet_Synchronize_fn* synchronize;   /**< NULL: there is no such work */
  void* mpi_data;                      /**< slot 0, where MPI may read and write; else NULL */
} Valet_Custom_functions;
/** Sets all functions to NULL, and `struct_size` itself. Local.
 * @param functions    NULL is ignored.
 * @param struct_size  sizeof(Valet_Custom_functions) where the caller was compiled. */
VALET_EXPORT void Valet_Custom_functions_init(Valet_Custom_functions* functions,
                                              size_t struct_size);
/** No functions, to be filled in. Local. @return The functions. */
static inline Valet_Custom_functions Valet_Custom_functions_default(void) {
  Valet_Custom_functions functions;
  Valet_Custom_functions_init(&functions, sizeof functions);
  return functions;
}
/** Makes a storage of blocks that functions move: valet::custom_storage(). Local.
 *
 * What is wrong with the functions is reported when the storage is used, on all ranks, and so is a
 * function that fails (VALET_CALLBACK_FAILED).
 * @param slots        The most blocks that this rank can hold. [local]
 * @param block_bytes  Of a packed block; the same on all ranks. [global]
 * @param functions    Copied.
 * @param data         Given to each function; kept until the storage and all plans that ran with it
 *                     are freed.
 * @return The handle, to be freed with Valet_Storage_free(); NULL when there is no memory. It takes
 * no fields. */
VALET_EXPORT Valet_Storage* Valet_Storage_create_custom(uint64_t slots, size_t block_bytes,
                                                        const Valet_Custom_functions* functions,
                                                        void* data);

/* NOLINTEND(readability-identifier-naming) */

#ifdef __cplusplus
}
#endif

#endif
