// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// The objects of one step of STEPS as mid gets them: in the order of the caller's lists, so that
/// a single step gives mid what HOLD and stock Zoltan give it. Everything here is local.

#include "context.hpp"
#include "step_planner.hpp"

#include <cstdint>
#include <span>

namespace valet::zoltan {

/// Numbers of the objects in the ranges, which count objects sorted by the other rank of the pair.
/// @throws std::bad_alloc, as all of them.
[[nodiscard]] Array<std::uint32_t> numbers_in(Ledger& ledger, std::span<const StepRange> ranges);

/// Places in the list of exports of those that leave in a step, ascending.
[[nodiscard]] Array<std::uint32_t> places_of_exports(Ledger& ledger,
                                                     std::span<const StepRange> ranges,
                                                     const ObjectList& exports);

/// One of the lists that mid gets.
class StepList {
 public:
  StepList(Ledger& ledger, const EntryCounts& entries, std::uint64_t count, bool with_parts);

  /// Appends object `at` of others.
  void add(const ObjectIds& from, std::uint64_t at, int rank, int part);
  [[nodiscard]] MigrationList list() {
    return {static_cast<int>(count_), ids_, procs_.data(), parts_.data()};
  }

 private:
  EntryCounts entries_;
  std::uint64_t count_ = 0;
  Array<ZOLTAN_ID_TYPE> gids_, lids_;
  Array<int> procs_, parts_;
  ObjectIds ids_;
};

/// The exports at these places.
[[nodiscard]] StepList list_of_exports(Context& context, const ObjectList& exports,
                                       std::span<const std::uint32_t> places);
/// The imports of these ranges: in the order of the list that leads, or else by source.
[[nodiscard]] StepList list_of_imports(Context& context, const Imports& imports,
                                       std::span<const StepRange> ranges);
/// The objects at these places of the caller's leading list, which counts only objects that move,
/// and those that stay: for the first step, in the caller's order.
[[nodiscard]] StepList list_with_staying(Context& context, std::span<const std::uint32_t> places);

}  // namespace valet::zoltan
