// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/methods.hpp"

#include "base/diagnose.hpp"

#include <algorithm>
#include <array>

namespace valet::schedule {
namespace {

bool always(const Options&) { return true; }

/// Whether rank 0 has a say in the phases.
bool asks_root(const Options& options) {
  return options.phased.scheduler == Scheduler::centralized || options.phased.parking > 0 ||
         options.phased.heuristic == Heuristic::continuous;
}

constexpr MethodTraits stream{.landing = LandingRule::in_order, .shares_memory = always};

constexpr MethodTraits direct{.budget = BudgetRule::everything, .landing = LandingRule::at_once};

constexpr MethodTraits phased{
    .messages = MessageRule::phased,
    // The lists that a root or waiting blocks need are weighed against the whole budget.
    .shares_memory = [](const Options& options) { return !asks_root(options); },
    .least_shared_budget = std::size_t{64} << 10,  // below it more phases cost more than messages
    .has_phases = true,
    .has_root = asks_root};

constexpr MethodTraits cyclic{.shares_memory = always, .has_phases = true, .has_root = always};

constexpr MethodTraits named(MethodTraits row, Method method, const char* name, const char* upper) {
  row.method = method;
  row.name = name;
  row.upper_name = upper;
  return row;
}
#define VALET_ROW(C, name) named(name, Method::name, #name, #C),
constexpr std::array table{VALET_METHODS(VALET_ROW)};
#undef VALET_ROW

}  // namespace

std::span<const MethodTraits> methods() { return table; }

const MethodTraits* find_traits(Method method) noexcept {
  const auto found = std::ranges::find(table, method, &MethodTraits::method);
  return found == table.end() ? nullptr : &*found;
}

const MethodTraits& traits_of(Method method) {
  if (const MethodTraits* const traits = find_traits(method)) return *traits;
  refuse("method ", static_cast<int>(method), " moves no blocks; start from the default options");
}

}  // namespace valet::schedule
