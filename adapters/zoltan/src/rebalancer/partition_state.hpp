// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// What a Partition holds.

#include <valet/ledger.hpp>
#include <valet/zoltan/rebalancer.hpp>

#include <cstdint>

namespace valet::zoltan {

struct Partition::State {
  Ledger ledger;
  std::uint64_t count = 0;
  Array<int> ranks;  ///< one for each object
  Array<int> parts;  ///< likewise, where parts are not ranks
  Imbalance before;
  Imbalance after;
  std::uint64_t required_slots = 0;
  double seconds = 0;
  double largest_cell_share = 0;
};

}  // namespace valet::zoltan
