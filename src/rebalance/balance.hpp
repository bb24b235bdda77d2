// SPDX-License-Identifier: BSD-3-Clause
#pragma once

/// How well work and objects are balanced over the ranks, before and after.

#include "mpi/channel.hpp"
#include "rebalance/objects.hpp"
#include "rebalance/order_partition.hpp"
#include <valet/rebalance.hpp>

#include <cstdint>
#include <span>

namespace valet::rebalance {

/// What one rank has.
struct Load {
  double weight = 0;
  double count = 0;
};

struct Totals {
  Imbalance imbalance;
  Load sum;
};
/// Collective; two reductions.
/// @param largest  Other numbers, which become the largest of all ranks; at most 8.
[[nodiscard]] Totals totals_over_ranks(const mpi::Channel& communicator, const Load& own,
                                       std::span<double> largest);

/// What this rank will have. Collective: each rank adds up what it gives to whom, 16 bytes per
/// rank.
/// @param ranks  Where each object goes [local].
[[nodiscard]] Load load_after(const mpi::Channel& communicator, Ledger& ledger,
                              const Objects& objects, std::span<const int> ranks);

/// The same for objects that go by their order; without weights nothing is communicated.
[[nodiscard]] Load load_after(const mpi::Channel& communicator, Ledger& ledger,
                              const Objects& objects, const OrderPartition& order);

}  // namespace valet::rebalance
