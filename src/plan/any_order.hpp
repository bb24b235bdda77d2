// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// Order::any in a plan: what follows from the flows of a rank. Local.

#include "plan/flows.hpp"
#include <valet/export.hpp>

#include <cstddef>

namespace valet::plan {

/// Lists the blocks that change their slot inside this rank: those at and above the final count
/// take the holes that no import takes. Then decides on the shift, and counts the blocks that have
/// to wait at once.
/// @param flows  Exports and imports are known.
/// @param holes  Slots that are free once everything that leaves has left; over flows.slots.
VALET_EXPORT void complete_any_order(Ledger& ledger, Flows& flows, const storage::SlotSet& holes,
                                     std::size_t block_bytes);

/// Lists the final slot of every import, for methods that do not take them in order.
/// @throws std::bad_alloc.
void list_arrivals(Ledger& ledger, Flows& flows);

}  // namespace valet::plan
