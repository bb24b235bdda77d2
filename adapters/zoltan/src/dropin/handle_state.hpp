// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Valet remembers of a Zoltan_Struct, which has no room for it: parameters, the callbacks of
/// STEPS, the last report. It follows copies and dies with the structure. Thread safe.

#include "parameters.hpp"
#include <valet/zoltan/valet_zoltan.h>

#include <functional>
#include <optional>

namespace valet::zoltan {

template <class Function>
struct Registered {
  Function* function = nullptr;
  void* data = nullptr;
  [[nodiscard]] bool given() const { return function != nullptr; }
};

struct HandleState {
  ParameterTable parameters;
  Registered<VALET_FREE_OBJ_FN> free_object;
  Registered<VALET_MEMORY_FN> memory;
  std::optional<int> object_weights;  ///< OBJ_WEIGHT_DIM, which Zoltan obeys but does not tell
  std::optional<Valet_Migration_Report> report;
};

/// Zoltan's structure without one (zz == NULL) is the default of all others.
ParameterAnswer set_parameter(const Zoltan_Struct* zoltan, const char* name, const char* value);
/// The structure's own values before those set for NULL, before the environment's.
[[nodiscard]] MigrationParameters parameters_of(const Zoltan_Struct* zoltan);

/// A copy of what is attached.
[[nodiscard]] HandleState handle_state_of(const Zoltan_Struct* zoltan);
/// Calls change(HandleState&) with what is attached.
void change_handle_state(const Zoltan_Struct* zoltan,
                         const std::function<void(HandleState&)>& change);

/// `to` gets what `from` has, but for the report.
void copy_handle_state(const Zoltan_Struct* to, const Zoltan_Struct* from);
void forget_handle_state(const Zoltan_Struct* zoltan);

}  // namespace valet::zoltan
