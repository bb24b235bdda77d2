// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// What the library has to say beside errors, which are thrown: to the application, not to a file.

#include <valet/export.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace valet {

/// What a message is worth.
enum class LogLevel {
  debug,    ///< what was chosen, and why
  info,     ///< one line for every migration that has finished
  warning,  ///< something that was asked for is not there; the migration goes on without it
};

/// "debug", "info" or "warning".
VALET_EXPORT const char* to_string(LogLevel level) noexcept;

/// Gets one message without a line end. May be called from any thread that calls Valet, on every
/// rank where a message arises. What it throws is dropped; it must not call Valet.
using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

/// Gives all messages of this process to `callback` from now on; an empty one brings the default
/// back: warnings to standard error on rank 0, nothing else. Local; may be called at any time, from
/// any thread.
VALET_EXPORT void set_log_callback(LogCallback callback);

/// Whether a message of this level is delivered on a rank, so that unused texts need not be made.
/// Local.
[[nodiscard]] VALET_EXPORT bool is_logged(LogLevel level, int rank) noexcept;
/// Delivers a message. Local; never throws.
/// @param level    Of the message.
/// @param rank     This rank in the communicator of the call.
/// @param message  Without a line end.
VALET_EXPORT void log(LogLevel level, int rank, const std::string& message) noexcept;

}  // namespace valet
