/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_OBJECTS_H
#define VALET_OBJECTS_H

/**
 * @file
 * Moves objects that only the application can reach, for C: objects.hpp. Included by valet.h, which
 * describes what all functions have in common. The Fortran module `valet_objects` has the same
 * names.
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

/** Writes the bytes of a packed object to `bytes`. Returns 0, or any other number on failure.
 * `data` is the argument of Valet_Migrate_objects(). */
typedef int Valet_Object_size_fn(void* data, uint64_t object, uint64_t* bytes);
/** Packs an object into `bytes` bytes. Returns as Valet_Object_size_fn. */
typedef int Valet_Object_pack_fn(void* data, uint64_t object, void* packed, uint64_t bytes);
/** Makes an object of its bytes, which came from rank `source`. Returns as Valet_Object_size_fn. */
typedef int Valet_Object_unpack_fn(void* data, int source, const void* packed, uint64_t bytes);
/** The object has arrived elsewhere: frees its memory. Returns as Valet_Object_size_fn. */
typedef int Valet_Object_left_fn(void* data, uint64_t object);

/** What the application does with its objects; see valet::ObjectFunctions. Start from
 * Valet_Object_functions_default(). They must not communicate or exit by longjmp. */
typedef struct Valet_Object_functions {
  size_t struct_size;             /**< sizeof(Valet_Object_functions) */
  Valet_Object_size_fn* size;     /**< required */
  Valet_Object_pack_fn* pack;     /**< required */
  Valet_Object_unpack_fn* unpack; /**< required */
  Valet_Object_left_fn* left;     /**< NULL: the memory of what has left is not freed */
} Valet_Object_functions;
/** Sets all functions to NULL, and `struct_size`. Local.
 * @param functions    NULL is ignored.
 * @param struct_size  sizeof(Valet_Object_functions) in the caller. */
VALET_EXPORT void Valet_Object_functions_init(Valet_Object_functions* functions,
                                              size_t struct_size);
/** An empty set of functions, to be filled in. Local. @return The functions. */
static inline Valet_Object_functions Valet_Object_functions_default(void) {
  Valet_Object_functions functions;
  Valet_Object_functions_init(&functions, sizeof functions);
  return functions;
}

/** Moves each object to its rank in steps, within the budget: valet::migrate_objects(). Collective.
 * @param communicator  An intracommunicator.
 * @param count         Objects of this rank. [local]
 * @param ranks         `count` destinations. [local]
 * @param functions     What to do with objects. [local]
 * @param data          Passed to each function. [local]
 * @param options       NULL for the defaults.
 * @param report        NULL, or receives the report of this rank.
 * @return VALET_SUCCESS or an error code of valet::migrate_objects(). */
VALET_EXPORT int Valet_Migrate_objects(MPI_Comm communicator, uint64_t count, const int* ranks,
                                       const Valet_Object_functions* functions, void* data,
                                       const Valet_Options* options, Valet_Report* report);

#ifdef __cplusplus
}
#endif

#endif
