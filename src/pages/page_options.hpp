// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans whose blocks are pages.

#include "mpi/agreement.hpp"
#include "plan/plan_state.hpp"
#include <valet/plan.hpp>

#include <cstddef>
#include <string>

namespace valet::pages {

/// The options of a plan that moves pages.
[[nodiscard]] inline Options page_options(Method method, bool share_memory, bool keep_memory) {
  Options options;
  options.method = method;
  options.share_memory = share_memory;
  options.keep_memory = keep_memory;
  return options;
}

/// That DIRECT cannot hold everything at once, for an agreement that knows what is enough.
/// @param what  What it holds.
[[nodiscard]] inline Diagnostic too_small_for_direct(const char* what, std::uint64_t budget_bytes) {
  return {ErrorCode::budget_too_small,
          std::string("method direct needs ") + mpi::enough_mark + " bytes for " + what +
              "; the budget is " + std::to_string(budget_bytes) +
              "; set budget_bytes to that on all ranks, or take method stream"};
}

}  // namespace valet::pages
