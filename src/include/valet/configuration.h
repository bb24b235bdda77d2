/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_CONFIGURATION_H
#define VALET_CONFIGURATION_H

/**
 * @file
 * Facts about the library for C: version.hpp and configuration.hpp. Included by valet.h.
 */

#include <valet/export.hpp>
#include <valet/version.hpp>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
