// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "callbacks.hpp"
#include "handle/parameters.hpp"
#include "lists.hpp"
#include "objects/batches.hpp"

#include <optional>
#include <span>

namespace valet::zoltan {

struct Context;
struct Imports;

/// What Valet_Migrate does, with the parameters given. Collective over the structure's
/// communicator. Returns Zoltan's codes; errors are printed and kept in the report.
int migrate(Zoltan_Struct* zoltan, const UserLists& lists, const MigrationParameters& parameters);

/// From the first packing to the last unpacking. Collective. @throws Error on all ranks alike.
///
/// HOLD: batches within the budget are packed in the order of the export list and sent; arrivals
/// stay packed until mid has run on all ranks. Every callback sees stock Zoltan's order.
///
/// @param sizes    Rounded sizes of all exports, in the order of the list.
/// @param imports  Sources and counts are known; gets the rest.
/// @param mine     What this rank found wrong until now, if anything.
void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const objects::Scratch& scratch,
                  std::optional<Diagnostic> mine);

/// The same for STEPS: pack, send, free, mid and unpack step by step within the budget.
/// @param sizes  Sorted by destination afterwards.
void migrate_in_steps(Context& context, const ObjectList& exports, Array<int>& sizes,
                      Imports& imports, const objects::Scratch& scratch,
                      std::optional<Diagnostic> mine);

}  // namespace valet::zoltan
