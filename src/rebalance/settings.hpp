// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a caller wants of a rebalancing, whatever the partitioner. Errors call the members by the
/// names that they have in the options of the caller.

#include "mpi/agreement.hpp"
#include "rebalance/order_partition.hpp"
#include <valet/block_storage.hpp>
#include <valet/error.hpp>
#include <valet/export.hpp>
#include <valet/options.hpp>
#include <valet/ragged_storage.hpp>
#include <valet/rebalance.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace valet::rebalance {

/// The same on all ranks, but for functions and the budget.
struct VALET_EXPORT Settings {
  std::optional<Diagnostic> wrong;           ///< what the caller found wrong already [local]
  double imbalance_tolerance = 1.05;         ///< for the largest over the mean weight of a part
  bool balance_count = false;                ///< as a second weight
  std::optional<std::uint64_t> granularity;  ///< most objects in a cell; none: as memory permits
  std::optional<OrderRule> order_rule;       ///< what follows from the order of objects alone
  std::optional<ObjectLayout> from;          ///< the layout that the objects are in, if known
  WhenInfeasible when_infeasible = WhenInfeasible::refuse;
  std::function<BlockStorage(std::uint64_t required_slots)> grow;
  std::function<RaggedStorage(const RaggedRoom& required)> grow_ragged;
  Options migration;
  bool is_reported = false;  ///< whether this rank writes a report of the migration [local]
  /// Called on all ranks when they have agreed on the plan, before a byte moves; may be collective
  /// and throws on all ranks alike.
  std::function<void()> before_move;

  /// What this rank can find wrong with them, if anything. Local.
  [[nodiscard]] std::optional<Diagnostic> diagnostic() const;
  /// Lets an agreement find out whether they are the same on all ranks.
  void join(mpi::Agreement& agreement) const;
};

/// The error that when_infeasible is grow, but neither a function nor the storage by itself can
/// enlarge it: for Settings::wrong. Local.
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_growth(const Settings& settings,
                                                                  const BlockStorage& storage);
[[nodiscard]] VALET_EXPORT std::optional<Diagnostic> check_growth(const Settings& settings,
                                                                  const RaggedStorage& storage);

[[nodiscard]] std::string text_of(double value);

}  // namespace valet::rebalance
