// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What Zoltan allocates for an object or cell that it is given: counted from its sources and
/// measured by tests/zoltan/step_memory_test.cpp. Its share of ranks and parts is not in it.

#include <algorithm>
#include <cstdint>
#include <string_view>

namespace valet::zoltan {

struct UnitForm {
  std::string_view method;
  std::string_view lists = "EXPORT";  ///< RETURN_LISTS
  std::uint64_t id_entries = 2;
  std::uint64_t weights = 0;
  std::uint64_t dimensions = 3;
  bool several_parts = false;  ///< on some rank
};

/// RCB and RIB: what belongs to an object, with its parts, its rank and two marks, is in arrays of
/// a fifth more than they need. Objects are sent in a buffer for one number of each.
constexpr std::uint64_t unit_bytes_while_bisecting(const UnitForm& unit) {
  const std::uint64_t ids = 4 * unit.id_entries, weights = 8 * unit.weights;
  const std::uint64_t place = unit.method == "RIB" ? 8 : 0;  // on the axis of a cut
  const std::uint64_t kept = ids + 4 + 8 * unit.dimensions + weights + 24 + place;
  const std::uint64_t sent = 16 + std::max({std::uint64_t{8}, weights, ids});
  return (6 * kept + 4) / 5 + sent + (unit.several_parts ? 16 + weights : 0);
}

/// Of RCB and RIB for each that the rank gives or gets, whichever is more, of others for each that
/// it gives. Graphs take more, which nobody knows beforehand.
constexpr std::uint64_t unit_bytes(const UnitForm& unit) {
  const std::uint64_t ids = 4 * unit.id_entries;
  const std::uint64_t listed = ids + 12;  // local id, rank and part
  if (unit.method == "RCB" || unit.method == "RIB") return unit_bytes_while_bisecting(unit);
  if (unit.method == "HSFC") return 48 + ids + std::max(8 * unit.dimensions, listed + 16);
  if (unit.method == "RANDOM") return unit.lists == "ALL" ? 34 + 3 * ids : 26 + 5 * ids / 2;
  if (unit.method == "BLOCK" || unit.method == "CYCLIC")
    return 16 + ids + listed + 4 * unit.weights + (unit.lists == "PARTS" ? 32 : 0);
  return 100;
}

}  // namespace valet::zoltan
