// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Query functions of the application, called so that a rank on which one fails does not leave
/// Zoltan alone: others would wait for it.

#include "handle/handle_state.hpp"
#include "rebalance/objects.hpp"

#include <zoltan.h>

#include <array>

namespace valet::zoltan {

/// A function of the application. Its failure is kept with the objects; the ranks agree on it when
/// Zoltan has returned.
struct GuardedQuery {
  Zoltan_Struct* zoltan;
  const rebalance::Objects* objects;
  const char* name;
  ZOLTAN_VOID_FN* function;
  void* data;
};

/// What Zoltan is given in its place, with a GuardedQuery.
struct Guard {
  ZOLTAN_FN_TYPE type;
  const char* name;
  ZOLTAN_VOID_FN* function;
  ZOLTAN_FN_TYPE as = type;     ///< what it is to Zoltan, unless there is a function of that type
  ZOLTAN_FN_TYPE needs = type;  ///< without a function of that type Zoltan does not ask
};
/// Those for which Zoltan can go on with something else. In place of ids of objects, pins or what
/// is fixed that can be wrong enough for Zoltan to end on one rank: see Queries::ask_ahead().
[[nodiscard]] const std::array<Guard, 17>& guards();

template <class Function>
ZOLTAN_VOID_FN* untyped(Function* function) {
  return reinterpret_cast<ZOLTAN_VOID_FN*>(function);
}

}  // namespace valet::zoltan
