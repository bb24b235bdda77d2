// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "handle/handle_state.hpp"
#include "handle/messages.hpp"
#include "handle/object_ids.hpp"

#include <zoltan.h>

namespace valet::zoltan {

/// Zoltan_Migrate() with Valet in front: moves what the lists say, with parameters that are looked
/// up once. Collective. @return Zoltan's codes.
/// @param stock  Moves objects behind callbacks where no method is set; null: Valet moves them.
int migrate_in_front(decltype(&Zoltan_Migrate) stock, Zoltan_Struct* zoltan,
                     const MigrationList& imports, const MigrationList& exports);

/// Takes a parameter of ours; `stock` gets one of Zoltan's.
template <class Stock, class... Index>
int take_parameter(Stock* stock, Zoltan_Struct* zz, const char* name, const char* value,
                   Index... index) {
  using Verdict = ParameterAnswer::Verdict;
  const ParameterAnswer answer = set_parameter(zz, name, value);
  if (answer.verdict == Verdict::not_ours) {
    const int code = stock(zz, name, value, index...);
    if (code == ZOLTAN_OK) follow_parameter(zz, name, value);
    return code;
  }
  if (answer.verdict == Verdict::taken) return ZOLTAN_OK;
  print_warning("Zoltan_Set_Param", answer.warning);
  return ZOLTAN_WARN;
}

}  // namespace valet::zoltan
