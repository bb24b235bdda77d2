// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Memory for hard times. A rank to which the system refuses memory in the middle of a collective
/// call must not leave it alone: the others would wait for ever. What grows with the problem is
/// therefore allocated where the ranks can agree that it failed. For all else - a list of a few
/// neighbours, the text of an error - memory is held back, and given up when nothing else is left.

#include "base/diagnose.hpp"
#include "base/promise.hpp"
#include <valet/error.hpp>
#include <valet/export.hpp>

#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

namespace valet::detail {

/// One collective call of this thread: while it lives, allocations of the thread by operator new
/// that fail are tried again with the reserve of the thread, and only then a new-handler of the
/// application is asked. Other threads ask that handler as without us. It may be nested. Local.
class VALET_EXPORT MemoryReserve {
 public:
  /// Held back by each thread that has made a call.
  static constexpr std::size_t bytes = promised_reserve;

  MemoryReserve() noexcept;
  MemoryReserve(const MemoryReserve&) = delete;
  MemoryReserve& operator=(const MemoryReserve&) = delete;
  ~MemoryReserve();

  /// Whether this thread holds it, after asking the system once more where it was given up. A call
  /// of several steps, each of which may need a part of it, asks before each.
  [[nodiscard]] static bool is_held() noexcept;
};

/// A step that may end for lack of memory, of which the ranks learn at their next agreement: while
/// it lives, the reserve is left for the way there. It may be nested. Local.
class VALET_EXPORT LeaveReserve {
 public:
  LeaveReserve() noexcept;
  LeaveReserve(const LeaveReserve&) = delete;
  LeaveReserve& operator=(const LeaveReserve&) = delete;
  ~LeaveReserve();
};

/// Runs a local step of a collective call that may need much memory. Not without the reserve: the
/// step could take the last memory that the way to the agreement needs.
/// @param step  May return what it finds wrong.
/// @return What `failed()` makes of it where there is none, for the next agreement; else what the
///         step returns, or nothing.
template <class Step, class Failed>
[[nodiscard]] auto unless_out_of_memory(Step&& step, Failed&& failed)
    -> std::optional<decltype(failed())> {
  try {
    if (!MemoryReserve::is_held()) throw std::bad_alloc();
    const LeaveReserve leave;
    if constexpr (std::is_void_v<decltype(step())>)
      std::forward<Step>(step)();
    else
      return std::forward<Step>(step)();
    return std::nullopt;
  } catch (const std::bad_alloc&) {  // said below, where the reserve may be taken
  }
  return std::forward<Failed>(failed)();
}
/// The same where all that is to be said is a text, of which numbers may be a part.
template <class Step, class... Parts>
[[nodiscard]] std::optional<Diagnostic> unless_out_of_memory(Step&& step, const char* text,
                                                             const Parts&... parts) {
  return unless_out_of_memory(std::forward<Step>(step),
                              [&] { return diagnose(ErrorCode::out_of_memory, text, parts...); });
}

}  // namespace valet::detail
