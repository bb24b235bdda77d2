// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Plans whose blocks are pages: their options, their scratch, their execution.

#include "base/sizes.hpp"
#include "mpi/agreement.hpp"
#include "plan/plan_state.hpp"
#include "storage/call_scratch.hpp"
#include <valet/plan.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>

namespace valet::operations {

/// The options of a plan that moves pages.
[[nodiscard]] inline Options page_options(Method method, bool share_memory, bool keep_memory) {
  Options options;
  options.method = method;
  options.share_memory = share_memory;
  options.keep_memory = keep_memory;
  return options;
}

/// The last step of making any plan, once its flows and its method are agreed upon: memory shared
/// inside nodes, room for a schedule, clocks for the trace. Collective.
/// @throws Error budget_too_small on all ranks alike.
void prepare_method(plan::State& state);

/// That DIRECT cannot hold everything at once, for an agreement that knows what is enough.
/// @param what  What it holds.
[[nodiscard]] inline Diagnostic too_small_for_direct(const char* what, std::uint64_t budget_bytes) {
  return {ErrorCode::budget_too_small,
          std::string("method direct needs ") + mpi::enough_mark + " bytes for " + what +
              "; the budget is " + std::to_string(budget_bytes) +
              "; set budget_bytes to that on all ranks, or take method stream"};
}

/// Bytes of this rank that are shared with the node: by this plan, or by what is kept. [local]
[[nodiscard]] inline std::size_t kept_bytes(const plan::State& state) {
  const auto kept = storage::KeptNodeMemory::of(state.channel);
  return std::max(state.node->memory.bytes(), kept ? kept->memory.bytes() : std::size_t{0});
}
/// What they leave of the budget. [local]
[[nodiscard]] inline std::size_t scratch_limit(const plan::State& state) {
  const std::size_t budget = state.options.budget_bytes;
  return budget - std::min(budget, kept_bytes(state));
}
/// Scratch within that limit, with room to align it. @throws std::bad_alloc.
/// Local.
[[nodiscard]] inline storage::CallScratch scratch_for(plan::State& state, std::size_t bytes) {
  return {state.channel, state.ledger, bytes > 0 ? bytes + detail::cache_line_bytes : 0,
          scratch_limit(state), state.options.keep_memory};
}

/// What is kept of it while there is no plan yet, so that it is counted meanwhile.
/// @param chooses  Whether a method is chosen: measuring the machine takes the budget.
[[nodiscard]] inline storage::CallScratch scratch_while_planning(plan::State& state, bool chooses) {
  if (chooses && !state.channel.machine()) state.channel.take_scratch().reset();
  return scratch_for(state, 0);
}

}  // namespace valet::operations
