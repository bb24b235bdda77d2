// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "context.hpp"

#include <optional>
#include <span>

namespace valet::zoltan {

/// HOLD: batches within the budget are packed in the order of the export list and sent; arrivals
/// stay packed until mid has run on all ranks. Every callback sees stock Zoltan's order.
///
/// From packing to unpacking. Collective. @throws Error on all ranks alike.
///
/// @param sizes    Rounded sizes of all exports, in the order of the list.
/// @param imports  Sources and counts are known; gets the rest.
/// @param mine     What this rank found wrong until now, if anything.
void migrate_held(Context& context, const ObjectList& exports, std::span<int> sizes,
                  Imports& imports, const Scratch& scratch, std::optional<Diagnostic> mine);

/// STEPS: pack, send, free, mid and unpack step by step within the budget.
///
/// From the first packing to the last unpacking. Collective. @throws Error on all ranks alike.
///
/// @param sizes    Rounded sizes of all exports, in the order of the list; sorted by destination
///                 afterwards.
/// @param imports  Sources and counts are known; gets the rest.
/// @param mine     What this rank found wrong until now, if anything.
void migrate_in_steps(Context& context, const ObjectList& exports, Array<int>& sizes,
                      Imports& imports, const Scratch& scratch, std::optional<Diagnostic> mine);

}  // namespace valet::zoltan
