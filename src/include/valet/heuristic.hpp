// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// @file
/// How a receiver of a phase divides its free memory: the names of the heuristics.

#include <valet/export.hpp>

#include <span>
#include <string_view>

namespace valet::schedule {

/// How a receiver divides its free memory among those who have blocks for it (Pinar and
/// Hendrickson, "Interprocessor Communication with Limited Memory", IEEE TPDS 15(7), 2004,
/// section 6.1; the last one section 4). All but min_max and continuous serve one source at a time,
/// each with all it has while memory lasts.
enum class Heuristic {
  first_fit,      ///< in the order of the list
  max_first,      ///< the source with the most left
  random,         ///< each with the same probability
  fortune_wheel,  ///< with a probability proportional to what it has left
  min_max,        ///< so that the most that is left for any source becomes as small as possible
  continuous,     ///< equal pieces of every transfer, in as few phases as memory could do
};

/// The name of a heuristic as it stands in options and tables, for example "first_fit".
VALET_EXPORT const char* to_string(Heuristic heuristic) noexcept;

/// All heuristics, in the order of the enumeration.
VALET_EXPORT std::span<const Heuristic> all_heuristics() noexcept;

/// The heuristic of a name, in upper or lower case.
/// @throws Error invalid_argument that lists the known names. Local.
VALET_EXPORT Heuristic parse_heuristic(std::string_view name);

}  // namespace valet::schedule
