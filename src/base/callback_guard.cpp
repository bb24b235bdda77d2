// SPDX-License-Identifier: BSD-3-Clause
#include "base/callback_guard.hpp"

#include <limits>
#include <utility>

namespace valet::detail {

void CallbackGuard::protect(Options& options) {
  any_ = options.progress || options.phased.available_bytes;
  options.progress = guarded(std::move(options.progress), progress_, "Options::progress");
  if (!options.phased.available_bytes) return;
  options.phased.available_bytes = [this, asked = std::move(options.phased.available_bytes)] {
    std::size_t bytes = std::numeric_limits<std::size_t>::max();
    available_.attempt("PhasedOptions::available_bytes", [&] { bytes = asked(); });
    return bytes;
  };
}

void CallbackGuard::restart() noexcept {
  progress_ = {};
  available_ = {};
}

std::optional<Diagnostic> CallbackGuard::diagnostic() const {
  constexpr const char* consequence =
      "the execution went on without it, and every block is where the map says; let it keep its "
      "exceptions to itself";
  if (auto diagnostic = progress_.diagnostic(consequence)) return diagnostic;
  return available_.diagnostic(consequence);
}

std::optional<Diagnostic> ProgressGuard::diagnostic() const {
  return failure_.diagnostic(
      "the call went on without it, and all data is where it should be; let it keep its exceptions "
      "to itself");
}

}  // namespace valet::detail
