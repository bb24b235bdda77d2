// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/first_failure.hpp>
#include <valet/options.hpp>

#include <functional>
#include <optional>

namespace valet::detail {

/// Keeps what the callbacks of a plan's options throw, so that an execution goes on to its end.
/// All functions are local.
class CallbackGuard {
 public:
  /// Replaces the callbacks by ones that do not throw and end with this guard. When
  /// available_bytes() is not asked any more, all free memory counts.
  void protect(Options& options);
  /// Begins an execution: what failed in the last one is called again.
  void restart() noexcept;

  /// Whether there are any on this rank.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// What one of them threw since restart(). It does not touch the blocks.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const;

 private:
  FirstFailure progress_;
  FirstFailure available_;
  bool any_ = false;
};

/// The same for calls that have no other callback than that for their progress, and no storage of
/// the application.
class ProgressGuard {
 public:
  /// @param name  What the error will call the callback; must live on.
  ProgressGuard(const std::function<void(const Progress&)>& callback, const char* name)
      : callback_(guarded(callback, failure_, name)) {}
  ProgressGuard(const ProgressGuard&) = delete;
  ProgressGuard& operator=(const ProgressGuard&) = delete;

  /// Does not throw; empty where there is none on this rank.
  [[nodiscard]] const std::function<void(const Progress&)>& callback() const { return callback_; }
  [[nodiscard]] bool any() const { return callback_ != nullptr; }
  /// What it threw.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const;

 private:
  FirstFailure failure_;
  std::function<void(const Progress&)> callback_;
};

}  // namespace valet::detail
