// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "callbacks.hpp"
#include "lists.hpp"
#include "parameters.hpp"

namespace valet::zoltan {

/// What Valet_Migrate does, with the parameters given. Collective over the structure's
/// communicator. Returns Zoltan's codes; errors are printed and kept in the report.
int migrate(Zoltan_Struct* zoltan, const UserLists& lists, const MigrationParameters& parameters);

}  // namespace valet::zoltan
