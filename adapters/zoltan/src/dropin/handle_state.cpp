// SPDX-License-Identifier: BSD-3-Clause
#include "handle_state.hpp"

#include "base/environment.hpp"
#include "base/names.hpp"
#include "report.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>

namespace valet::zoltan {
namespace {

struct HandleStates {
  std::mutex mutex;
  std::map<const Zoltan_Struct*, HandleState> of;
};

HandleStates& states() {
  // Never destroyed: Zoltan_Destroy may be called by destructors of other static objects.
  static auto* const all = new HandleStates;
  return *all;
}

constexpr int most_weights = 1024;

/// OBJ_WEIGHT_DIM, in upper or lower case.
bool is_object_weights(const char* name) {
  return valet::detail::upper_case(name) == "OBJ_WEIGHT_DIM";
}

/// Read once: what the environment asked for when the first migration was decided.
const ParameterTable& environment() {
  static const ParameterTable table = [] {
    std::string warnings;
    ParameterTable read = parameters_of_environment(warnings);
    if (!warnings.empty()) print_warning("Valet_Migrate", warnings);
    valet::detail::warn_of_unknown_variables(rank_in_world());
    return read;
  }();
  return table;
}

}  // namespace

ParameterAnswer set_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value) {
  if (name == nullptr || value == nullptr) return {};
  ParameterAnswer answer;
  change_handle_state(zoltan, [&](HandleState& own) {
    if (is_object_weights(name)) own.object_weights = std::clamp(std::atoi(value), 0, most_weights);
    answer = own.parameters.set(name, value);
  });
  return answer;
}

MigrationParameters parameters_of(const Zoltan_Struct* zoltan) {
  MigrationParameters parameters;
  environment().apply_to(parameters);
  handle_state_of(nullptr).parameters.apply_to(parameters);
  handle_state_of(zoltan).parameters.apply_to(parameters);
  return parameters;
}

HandleState handle_state_of(const Zoltan_Struct* zoltan) {
  const std::lock_guard lock(states().mutex);
  const auto found = states().of.find(zoltan);
  return found == states().of.end() ? HandleState{} : found->second;
}

void change_handle_state(const Zoltan_Struct* zoltan,
                         const std::function<void(HandleState&)>& change) {
  const std::lock_guard lock(states().mutex);
  change(states().of[zoltan]);
}

void copy_handle_state(const Zoltan_Struct* to, const Zoltan_Struct* from) {
  if (to == nullptr || from == nullptr || to == from) return;
  HandleState copy = handle_state_of(from);
  copy.report.reset();
  change_handle_state(to, [&](HandleState& own) { own = copy; });
}

void forget_handle_state(const Zoltan_Struct* zoltan) {
  if (zoltan == nullptr) return;
  const std::lock_guard lock(states().mutex);
  states().of.erase(zoltan);
}

}  // namespace valet::zoltan
