// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Code of the application that runs inside a collective call - its own storage, its callbacks -
/// must not end the call on its rank alone: the others would wait for ever. So what it throws is
/// kept, it is not asked again, and the ranks agree on the error when the call has run to its end.

#include <valet/export.hpp>
#include <valet/storage_backend.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace valet::detail {

/// The first exception of such code, if there was one. Keeping it takes no memory: it may say that
/// there is none. All functions are local.
class VALET_EXPORT FirstFailure {
 public:
  /// Runs `action` unless something has failed before; keeps what it throws.
  /// @param activity  What the error will call it, such as "packing blocks"; must live on.
  /// @return Whether it ran to its end.
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
  /// Keeps the exception that is handled now, if it is the first one.
  void keep(const char* activity) noexcept;

  /// callback_failed, with what failed, its text, and `consequence`; nullopt where nothing did.
  [[nodiscard]] std::optional<Diagnostic> diagnostic(const char* consequence) const;

 private:
  std::exception_ptr exception_;
  const char* activity_ = nullptr;
};

}  // namespace valet::detail
