// SPDX-License-Identifier: BSD-3-Clause
#include <valet/log.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

namespace valet {
namespace {

/// The callback of this process. Messages hold it while they are delivered, so another thread may
/// replace it at the same time.
class Sink {
 public:
  void set(LogCallback callback) {
    auto made = callback ? std::make_shared<const LogCallback>(std::move(callback)) : nullptr;
    const std::lock_guard lock(mutex_);
    callback_.swap(made);
  }
  [[nodiscard]] std::shared_ptr<const LogCallback> get() {
    const std::lock_guard lock(mutex_);
    return callback_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const LogCallback> callback_;
};

Sink& sink() {
  static Sink only;
  return only;
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

void set_log_callback(LogCallback callback) { sink().set(std::move(callback)); }

bool is_logged(LogLevel level, int rank) noexcept {
  return goes_to_standard_error(level, rank) || sink().get() != nullptr;
}

void log(LogLevel level, int rank, const std::string& message) noexcept {
  const std::shared_ptr<const LogCallback> callback = sink().get();
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
