// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "handle/object_ids.hpp"

#include <zoltan.h>

namespace valet::zoltan {

/// Zoltan_Migrate() with Valet in front: moves what the lists say, with parameters that are looked
/// up once. Collective. @return Zoltan's codes.
/// @param stock  Moves objects behind callbacks where no method is set; null: Valet moves them.
int migrate_in_front(decltype(&Zoltan_Migrate) stock, Zoltan_Struct* zoltan,
                     const MigrationList& imports, const MigrationList& exports);

}  // namespace valet::zoltan
