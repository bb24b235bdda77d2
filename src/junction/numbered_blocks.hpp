// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What numbered blocks have in common on their way to another group and to a file.

#include "geometry/shared_objects.hpp"
#include <valet/error.hpp>
#include <valet/ledger.hpp>
#include <valet/plan.hpp>

#include <cstdint>
#include <optional>

namespace valet::junction {

/// What is wrong with the number of objects that a rank puts, if anything.
[[nodiscard]] std::optional<Diagnostic> check_put(const layout::ObjectSide& side, int rank,
                                                  std::uint64_t count);
/// The same for the slots into which it gets what it is due.
[[nodiscard]] std::optional<Diagnostic> check_got(const layout::ObjectSide& side, int rank,
                                                  std::uint64_t slots);
/// Gives the objects of a run their slots with a rank, all in one part of it.
/// @param addresses   By ObjectRun::slot.
/// @param first_rank  The number of rank 0 of that side.
void place(Array<Address>& addresses, const layout::ObjectSide& to, int first_rank, int rank,
           const layout::ObjectRun& run);

}  // namespace valet::junction
