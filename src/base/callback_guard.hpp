// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/assert.hpp"
#include "base/memory_reserve.hpp"
#include <valet/detail/first_failure.hpp>

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

namespace valet::detail {

/// Keeps what the callbacks of a call's options throw, so that the call goes on to its end. All
/// functions are local.
class CallbackGuard {
 public:
  CallbackGuard() = default;
  CallbackGuard(const CallbackGuard&) = delete;
  CallbackGuard& operator=(const CallbackGuard&) = delete;

  /// Replaces a callback by one that does not throw and ends with this guard; none stays none.
  /// @param name     What the error will call it; must live on.
  /// @param instead  What it returns where the application's throws, and from then on.
  template <class Result, class... Arguments, class... Instead>
  void protect(std::function<Result(Arguments...)>& callback, const char* name,
               Instead... instead) {
    if (!callback) return;
    FirstFailure& failure = watch();
    callback = [&failure, name, called = std::move(callback), instead...](Arguments... arguments) {
      const LeaveReserve leave;
      if constexpr (std::is_void_v<Result>) {
        failure.attempt(name, [&] { called(arguments...); });
      } else {
        Result result(instead...);
        failure.attempt(name, [&] { result = called(arguments...); });
        return result;
      }
    };
  }
  /// For a callback that the caller calls by attempt() himself, without the reserve.
  [[nodiscard]] FirstFailure& watch() {
    VALET_ASSERT(count_ < most_callbacks);
    return failures_[count_++];
  }
  /// Begins an execution: what failed in the last one is called again.
  void restart() noexcept { failures_ = {}; }

  /// Whether there are any on this rank.
  [[nodiscard]] bool any() const noexcept { return count_ > 0; }
  /// What one of them threw since restart(). It does not touch the data.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const {
    for (const FirstFailure& failure : failures_)
      if (auto diagnostic = failure.diagnostic(
              "the call went on without it, and every block is where it belongs; let it keep its "
              "exceptions to itself"))
        return diagnostic;
    return std::nullopt;
  }

 private:
  static constexpr std::size_t most_callbacks = 3;  ///< of the options of one call

  std::array<FirstFailure, most_callbacks> failures_;
  std::size_t count_ = 0;
};

}  // namespace valet::detail
