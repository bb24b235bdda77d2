// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Code of the application that runs inside a collective call (its own storage, its callbacks) must
/// not end the call on its rank alone: the others would wait forever. So its first exception is
/// kept, the code is not called again, and the ranks agree on the error at the end of the call.

#include <valet/error.hpp>
#include <valet/export.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace valet::detail {

/// The first exception of such code, if any. Keeping it allocates no memory: it may report that
/// there is none. All functions are local.
class VALET_EXPORT FirstFailure {
 public:
  /// Runs `action` unless something has failed before; keeps its exception.
  /// @param activity  Name of the action in the error, such as "packing blocks"; must stay valid.
  /// @return Whether it completed.
  template <class Action>
  bool attempt(const char* activity, Action&& action) noexcept {
    if (exception_ != nullptr) return false;
    try {
      std::forward<Action>(action)();
      return true;
    } catch (...) {
      keep(activity);
      return false;
    }
  }
  /// Keeps the exception being handled, if it is the first.
  void keep(const char* activity) noexcept;

  /// callback_failed with the activity, its text and `consequence`; nullopt if nothing failed.
  [[nodiscard]] std::optional<Diagnostic> diagnostic(const char* consequence) const;

 private:
  std::exception_ptr exception_;
  const char* activity_ = nullptr;
};

}  // namespace valet::detail
