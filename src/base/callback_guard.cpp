// SPDX-License-Identifier: BSD-3-Clause
#include "base/callback_guard.hpp"

#include "base/memory_reserve.hpp"

#include <limits>
#include <utility>

namespace valet::detail {

void CallbackGuard::protect(std::function<void(const Progress&)>& progress, const char* name) {
  if (!progress) return;
  any_ = true;
  progress = [this, name, told = std::move(progress)](const Progress& now) {
    const LeaveReserve leave;
    progress_.attempt(name, [&] { told(now); });
  };
}

void CallbackGuard::protect(std::function<std::size_t()>& available_bytes, const char* name) {
  if (!available_bytes) return;
  any_ = true;
  available_bytes = [this, name, asked = std::move(available_bytes)] {
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    const LeaveReserve leave;
    available_.attempt(name, [&] { bytes = asked(); });
    return bytes;
  };
}

std::optional<Diagnostic> CallbackGuard::diagnostic() const {
  constexpr const char* consequence =
      "the call went on without it, and every block is where it belongs; let it keep its "
      "exceptions to itself";
  if (auto diagnostic = progress_.diagnostic(consequence)) return diagnostic;
  return available_.diagnostic(consequence);
}

}  // namespace valet::detail
