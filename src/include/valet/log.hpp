// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// Messages of the library to the application. Errors are not messages: they are thrown.

#include <valet/detail/cxx20.hpp>
#include <valet/export.hpp>

#include <functional>
#include <string>
#include <string_view>

namespace valet {

/// Severity of a message.
enum class LogLevel {
  debug,    ///< what was chosen, and why
  info,     ///< one line for every finished migration
  warning,  ///< something requested is unavailable; the migration continues without it
};

/// "debug", "info" or "warning".
VALET_EXPORT const char* to_string(LogLevel level) noexcept;

/// Receives one message without a line end. May be called on any rank, from any thread that calls
/// Valet. Exceptions are ignored. Must not call Valet.
using LogCallback = std::function<void(LogLevel level, std::string_view message)>;

/// Sends all messages of this process to `callback` from now on. An empty callback restores the
/// default: warnings on rank 0 go to standard error, other messages nowhere. Local; may be called
/// at any time, from any thread.
VALET_EXPORT void set_log_callback(LogCallback callback);

/// Whether a message of this level on this rank is delivered; use it to avoid composing unused
/// texts. Local.
[[nodiscard]] VALET_EXPORT bool is_logged(LogLevel level, int rank) noexcept;
/// Delivers a message. Local; never throws.
/// @param level    Severity of the message.
/// @param rank     This rank in the communicator of the call.
/// @param message  Text without a line end.
VALET_EXPORT void log(LogLevel level, int rank, const std::string& message) noexcept;

}  // namespace valet
