// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <valet/detail/first_failure.hpp>
#include <valet/options.hpp>

#include <optional>

namespace valet::detail {

/// Keeps what the callbacks of a plan's options throw, so that an execution goes on to its end.
/// All functions are local.
class CallbackGuard {
 public:
  /// Replaces the callbacks by ones that do not throw and end with this guard. Where the memory is
  /// not told any more, all that is free counts.
  void protect(Options& options);
  /// Begins an execution: what failed in the last one is called again.
  void restart() noexcept;

  /// Whether there are any on this rank.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// What one of them threw since restart(). It does not touch the blocks.
  [[nodiscard]] std::optional<Defect> defect() const;

 private:
  FirstFailure progress_;
  FirstFailure available_;
  bool any_ = false;
};

}  // namespace valet::detail
