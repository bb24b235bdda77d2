// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a Partition holds.

#include "order_partition.hpp"
#include <valet/ledger.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace valet::zoltan {

struct Partition::State {
  Ledger ledger;
  std::uint64_t count = 0;
  /// By arithmetic: then `ranks` are written when they are asked for.
  std::optional<OrderPartition> order;
  bool may_be_changed = false;  ///< the ranks have been given away to be changed [local]
  Array<int> ranks;             ///< one for each object
  Array<int> parts;             ///< likewise, where parts are not ranks
  Imbalance before;
  Imbalance after;
  std::uint64_t required_slots = 0;
  double seconds = 0;
  double largest_cell_share = 0;
  std::string warning;

  /// Writes the ranks where they are not written yet. Local. @throws std::bad_alloc.
  void write_ranks() {
    if (!order || ranks.size() == count) return;
    ranks = Array<int>(ledger, count);
    order->write(std::span<int>(ranks.data(), ranks.size()));
  }
};

}  // namespace valet::zoltan
