// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/first_failure.hpp>

#include <cstddef>
#include <functional>
#include <optional>

namespace valet {
struct Progress;
}  // namespace valet

namespace valet::detail {

/// Keeps what the callbacks of a call's options throw, so that the call goes on to its end. All
/// functions are local.
class CallbackGuard {
 public:
  CallbackGuard() = default;
  CallbackGuard(const CallbackGuard&) = delete;
  CallbackGuard& operator=(const CallbackGuard&) = delete;

  /// Replaces a callback by one that does not throw and ends with this guard; none stays none.
  /// @param name  What the error will call it; must live on.
  void protect(std::function<void(const Progress&)>& progress, const char* name);
  /// The same. When it is not asked any more, all free memory counts.
  void protect(std::function<std::size_t()>& available_bytes, const char* name);
  /// Begins an execution: what failed in the last one is called again.
  void restart() noexcept { progress_ = available_ = {}; }

  /// Whether there are any on this rank.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// What one of them threw since restart(). It does not touch the data.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const;

 private:
  FirstFailure progress_;
  FirstFailure available_;
  bool any_ = false;
};

}  // namespace valet::detail
