// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/memory_reserve.hpp"
#include <valet/detail/first_failure.hpp>

#include <functional>
#include <limits>

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
  void protect(std::function<void(const Progress&)>& progress, const char* name) {
    if (!progress) return;
    any_ = true;
    progress = [this, name, told = std::move(progress)](const Progress& now) {
      const LeaveReserve leave;
      progress_.attempt(name, [&] { told(now); });
    };
  }
  /// The same. When it is not asked any more, all free memory counts.
  void protect(std::function<std::size_t()>& available_bytes, const char* name) {
    if (!available_bytes) return;
    any_ = true;
    available_bytes = [this, name, asked = std::move(available_bytes)] {
      std::size_t bytes = std::numeric_limits<std::size_t>::max();
      const LeaveReserve leave;
      available_.attempt(name, [&] { bytes = asked(); });
      return bytes;
    };
  }
  /// Begins an execution: what failed in the last one is called again.
  void restart() noexcept { progress_ = available_ = {}; }

  /// Whether there are any on this rank.
  [[nodiscard]] bool any() const noexcept { return any_; }
  /// What one of them threw since restart(). It does not touch the data.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const {
    constexpr const char* consequence =
        "the call went on without it, and every block is where it belongs; let it keep its "
        "exceptions to itself";
    if (auto diagnostic = progress_.diagnostic(consequence)) return diagnostic;
    return available_.diagnostic(consequence);
  }

 private:
  FirstFailure progress_;
  FirstFailure available_;
  bool any_ = false;
};

}  // namespace valet::detail
