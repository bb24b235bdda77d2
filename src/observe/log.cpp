// SPDX-License-Identifier: BSD-3-Clause
#include "observe/observer.hpp"
#include <valet/log.hpp>
#include <valet/report.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace valet {
namespace {

/// The callback of this process. A message holds it while it is delivered, so another thread may
/// replace it at the same time. Not a std::atomic of a shared_ptr, which came to the library of GCC
/// in version 12, and to that of clang not yet.
std::shared_ptr<const LogCallback> current;
std::mutex mutex;

std::shared_ptr<const LogCallback> current_callback() {
  const std::lock_guard lock(mutex);
  return current;
}

bool goes_to_standard_error(LogLevel level, int rank) {
  return level == LogLevel::warning && rank == 0;
}

}  // namespace

const char* to_string(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::debug: return "debug";
    case LogLevel::info: return "info";
    case LogLevel::warning: return "warning";
  }
  return "unknown";
}

void set_log_callback(LogCallback callback) {
  // The one before is destroyed after the lock, because its destructor may log.
  auto next = callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr;
  const std::lock_guard lock(mutex);
  current.swap(next);
}

bool is_logged(LogLevel level, int rank) noexcept {
  return goes_to_standard_error(level, rank) || current_callback() != nullptr;
}

void log(LogLevel level, int rank, const std::string& message) noexcept {
  const std::shared_ptr<const LogCallback> callback = current_callback();
  if (callback == nullptr) {
    if (goes_to_standard_error(level, rank))
      std::fprintf(stderr, "valet: %s: %s\n", to_string(level), message.c_str());
    return;
  }
  try {
    (*callback)(level, message);
  } catch (...) {
    // Thrown on one rank in the middle of a collective call, it would leave the others waiting.
  }
}

}  // namespace valet

void valet::observe::log_finished(int rank, const Report& report) noexcept {
  try {
    if (is_logged(LogLevel::info, rank)) log(LogLevel::info, rank, report.to_line());
  } catch (const std::bad_alloc&) {
  }
}
