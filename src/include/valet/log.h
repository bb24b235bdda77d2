/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VALET_LOG_H
#define VALET_LOG_H

/**
 * @file
 * Messages for C: log.hpp. Included by valet.h.
 */

#include <valet/export.hpp>

#ifdef __cplusplus
extern "C" {
#endif

/** Severity of a message; see valet::LogLevel. */
enum {
  VALET_LOG_DEBUG = 0,  /**< what was chosen, and why */
  VALET_LOG_INFO = 1,   /**< one line for every finished migration */
  VALET_LOG_WARNING = 2 /**< something requested is unavailable */
};
/** Receives a message without a line end, which is valid during the call, and the `data` of
 * Valet_Set_log_callback(). Must not call Valet. */
typedef void Valet_Log_fn(int level, const char* message, void* data);
/** Sends all messages of this process, except errors, to a callback: valet::set_log_callback().
 * Local; may be called at any time.
 * @param callback  NULL restores the default: warnings on rank 0 go to standard error.
 * @param data      Passed to the callback. */
VALET_EXPORT void Valet_Set_log_callback(Valet_Log_fn* callback, void* data);

#ifdef __cplusplus
}
#endif

#endif
